"""A collection is recognised by its files, or by an id of ir_datasets."""

from __future__ import annotations

import pytest

import hi2
from collection_files import BEIR, DPR, MSMARCO, TREC, write
from hi2.evaluation.collections import open_collection


def test_a_source_that_is_neither_folder_nor_dataset_is_refused(tmp_path):
    with pytest.raises(hi2.InvalidParameter, match="a folder, or an id of ir_datasets"):
        open_collection("nowhere")


@pytest.mark.parametrize(("files", "kind"), [(BEIR, "Beir"), (MSMARCO, "MsMarco"), (DPR, "Dpr"), (TREC, "Trec")])
def test_a_folder_is_recognised_by_its_files(tmp_path, files, kind):
    assert type(open_collection(write(tmp_path, files))).__name__ == kind


def test_a_folder_without_known_files_and_a_file_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(hi2.InvalidParameter, match=r"corpus\.jsonl \(BEIR\)"):
        open_collection(tmp_path)
    with pytest.raises(hi2.InvalidParameter, match="a folder, or an id"):
        open_collection(str(tmp_path / "notes.txt"))

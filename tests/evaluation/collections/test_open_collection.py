"""A collection is recognised by its files, or by an id of ir_datasets."""

from __future__ import annotations

import pytest

import hi2
from hi2.evaluation.collections import open_collection


def test_a_source_that_is_neither_folder_nor_dataset_is_refused(tmp_path):
    with pytest.raises(hi2.InvalidParameter, match="a folder, or an id of ir_datasets"):
        open_collection("nowhere")

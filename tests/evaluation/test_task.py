"""A task has questions to tune on besides those that it reports."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.task import load_task
from lab_plan import SILENT


def test_nothing_is_tuned_on_what_is_reported(task):
    assert task.tune.split == "20% of train"
    assert 0 < len(task.tune.ids) < len(task.test.ids)
    assert not set(task.tune.ids) & set(task.test.ids)


def test_a_collection_without_questions_to_tune_on_is_refused(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "qrels" / "train.tsv").unlink()
    with pytest.raises(hi2.InvalidParameter, match="a dev or train split"):
        load_task(tmp_path / "copy", vectors=folder / "given", progress=SILENT)


def test_a_collection_must_have_tuning_questions_besides_test(folder, tmp_path):
    import shutil

    own = tmp_path / "docs"
    shutil.copytree(folder, own)
    shutil.copy(own / "qrels" / "test.tsv", own / "qrels" / "dev.tsv")
    with pytest.raises(hi2.InvalidParameter, match="questions to tune on"):
        load_task(own, vectors=own / "given", progress=SILENT)
    np.save(own / "given" / "queries.npy", np.load(own / "given" / "queries.npy")[:, :-1])
    with pytest.raises(hi2.InvalidParameter, match="of one dimension"):
        load_task(own, vectors=own / "given", progress=SILENT)


def test_a_system_that_repeats_a_document_is_refused(task):
    with pytest.raises(hi2.InvalidParameter, match="twice"):
        task.gains(task.test, 0, [3, 4, 3])

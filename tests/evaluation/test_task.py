"""A task has questions to tune on besides those that it reports."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import hi2
from hi2.evaluation.task import digest, load_task, load_training
from lab_plan import SILENT


def test_nothing_is_tuned_on_what_is_reported(task):
    assert task.tune.split == "20% of train"
    assert 0 < len(task.tune.ids) < len(task.test.ids)
    assert not set(task.tune.ids) & set(task.test.ids)


def test_a_collection_without_questions_to_tune_on_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "qrels" / "train.tsv").unlink()
    with pytest.raises(hi2.InvalidParameter, match="a dev or train split"):
        load_task(tmp_path / "copy", vectors=folder / "given", progress=SILENT)


def test_a_collection_must_have_tuning_questions_besides_test(folder, tmp_path):
    own = tmp_path / "docs"
    shutil.copytree(folder, own)
    shutil.copy(own / "qrels" / "test.tsv", own / "qrels" / "dev.tsv")
    with pytest.raises(hi2.InvalidParameter, match="questions to tune on"):
        load_task(own, vectors=own / "given", progress=SILENT)
    np.save(own / "given" / "queries.npy", np.load(own / "given" / "queries.npy")[:, :-1])
    with pytest.raises(hi2.InvalidParameter, match="of one dimension"):
        load_task(own, vectors=own / "given", progress=SILENT)


def test_settings_may_be_chosen_on_fewer_questions_than_are_reported(folder, task):
    few = load_task(folder, vectors=folder / "given", tune_limit=2, progress=SILENT)
    assert (few.tune.ids, few.test.ids) == (task.tune.ids[:2], task.test.ids)
    assert few.fingerprint != task.fingerprint
    both = load_task(folder, vectors=folder / "given", limit=3, tune_limit=2, progress=SILENT)
    assert (len(both.tune.ids), len(both.test.ids)) == (2, 3)


def test_a_system_that_repeats_a_document_is_refused(task):
    with pytest.raises(hi2.InvalidParameter, match="twice"):
        task.gains(task.test, 0, [3, 4, 3])


def test_some_questions_and_the_rest_are_all_of_them(task):
    few, rest = task.test.first(3), task.test.after(3)
    assert [*few.ids, *rest.ids] == list(task.test.ids)
    assert [*few.texts, *rest.texts] == list(task.test.texts)
    np.testing.assert_array_equal(np.concatenate([few.vectors, rest.vectors]), task.test.vectors)
    assert task.test.first(None) is task.test


def test_the_nearest_documents_are_those_of_brute_force(task):
    (found,) = task.nearest(task.test.first(1), 5)
    scores = task.vectors @ task.test.vectors[0]
    assert found == sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:5]
    assert task.gains(task.test, 0, found)[:2] == [2, 1]  # the two nearest are relevant


def test_training_leaves_out_what_is_tuned_on_and_reported(folder, task, tmp_path):
    given = load_training(folder, vectors=folder / "given", encoder="static", cache=None, progress=SILENT)
    assert set(task.tune.texts) == {given["queries"][row] for row in given["dev"]}
    trained = [text for row, text in enumerate(given["queries"]) if row not in given["dev"]]
    assert trained
    assert not set(trained) & {*task.tune.texts, *task.test.texts}
    nearest = np.argsort(-(given["query_vectors"] @ given["vectors"].T), axis=1)[:, :2]
    assert [sorted(own) for own in given["positives"]] == np.sort(nearest, axis=1).tolist()
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "qrels" / "train.tsv").unlink()
    with pytest.raises(hi2.InvalidParameter, match="a train split"):
        load_training(tmp_path / "copy", vectors=folder / "given", encoder="static", cache=None, progress=SILENT)


def test_a_digest_depends_on_the_files_and_on_everything_else():
    assert digest({"a": "1", "b": "2"}, [3]) == digest({"b": "2", "a": "1"}, [3])
    assert len({digest({"a": "1"}, [3]), digest({"a": "2"}, [3]), digest({"a": "1"}, [4])}) == 3

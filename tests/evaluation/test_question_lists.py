"""Lists say which questions are tuned on, looked at and reported once; the committed ones can be made again."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import hi2
from hi2.evaluation import trial
from hi2.evaluation.collections import open_collection
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.question_lists import read_question_lists, reported_list
from hi2.evaluation.task import load_task, normalised
from lab_plan import SILENT

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "questions"


@pytest.fixture(scope="module")
def lists(folder):
    """Lists of the small collection: tuned on some of train, final questions taken from the end of test."""
    train, test = (open_collection(folder).judgements(split).queries for split in ("train", "test"))
    return {
        "dev": {"split": "train", "ids": train[::2]},
        "test": {"split": "test", "ids": test[:4]},
        "final": {"split": "test", "ids": test[4:7]},
    }


def saved(lists, path):
    path.write_text(json.dumps(lists))
    return path


def load(folder, questions, **given):
    return load_task(folder, vectors=folder / "given", questions=questions, progress=SILENT, **given)


def test_a_task_has_the_questions_of_the_lists(folder, lists, tmp_path):
    path = saved(lists, tmp_path / "docs.json")
    plain = load_task(folder, vectors=folder / "given", progress=SILENT)
    task, final = load(folder, path), load(folder, tmp_path, final=True)
    assert (task.tune.ids, task.test.ids) == (lists["dev"]["ids"], lists["test"]["ids"])
    assert (final.tune.ids, final.test.ids) == (lists["dev"]["ids"], lists["final"]["ids"])
    assert task.test.texts == plain.test.texts[:4]
    assert (task.test.vectors == plain.test.vectors[:4]).all()
    assert (task.test.split, task.tune.split) == ("the test list of docs.json", "the dev list of docs.json")
    assert final.test.split == "the final list of docs.json"
    assert len({plain.fingerprint, task.fingerprint, final.fingerprint}) == 3
    assert load(folder, path, limit=2).test.ids == lists["test"]["ids"][:2]


def test_every_listed_question_is_tuned_on(folder, lists, task, tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "N_TUNING_QUESTIONS", 3)
    listed = load(folder, saved(lists, tmp_path / "docs.json"))
    flat = Inputs().system("Flat", task)
    assert trial.Trial(flat, listed).tuning_questions.ids == lists["dev"]["ids"]
    assert trial.Trial(flat, task).tuning_questions.ids == task.tune.ids[:3]


def test_ids_of_another_collection_are_refused(folder, lists, tmp_path):
    for name in lists:
        other = {**lists, name: {**lists[name], "ids": [*lists[name]["ids"], "elsewhere"]}}
        path = saved(other, tmp_path / "docs.json")
        with pytest.raises(hi2.InvalidParameter, match=rf"the {name} question 'elsewhere' is not judged in the split"):
            load(folder, path, final=name == "final")
    with pytest.raises(hi2.InvalidParameter, match="split"):
        load(folder, saved({**lists, "test": {"split": "nowhere", "ids": ["q1"]}}, tmp_path / "docs.json"))


def test_a_question_has_one_purpose(lists, tmp_path):
    for one, other in (("dev", "test"), ("test", "final"), ("dev", "final")):
        mixed = {**lists, other: {"split": "test", "ids": [*lists[other]["ids"], lists[one]["ids"][0]]}}
        with pytest.raises(hi2.InvalidParameter, match=f"is in {one} and in {other}"):
            read_question_lists(saved(mixed, tmp_path / "docs.json"), "docs")
    twice = {**lists, "dev": {"split": "train", "ids": ["q1", "q1"]}}
    with pytest.raises(hi2.InvalidParameter, match="'q1' is twice in dev"):
        read_question_lists(saved(twice, tmp_path / "docs.json"), "docs")


def test_final_questions_need_a_list_that_has_them(folder, lists, tmp_path):
    with pytest.raises(hi2.InvalidParameter, match=r"'--final'.*--questions"):
        load_task(folder, vectors=folder / "given", final=True, progress=SILENT)
    without = saved({name: lists[name] for name in ("dev", "test")}, tmp_path / "docs.json")
    assert load(folder, without).test.ids == lists["test"]["ids"]
    with pytest.raises(hi2.InvalidParameter, match="no final questions"):
        load(folder, without, final=True)


def test_a_list_is_not_mixed_with_another_split(lists, tmp_path):
    path = saved(lists, tmp_path / "docs.json")
    assert reported_list(path, "docs", "test", final=False).ids == lists["test"]["ids"]
    assert reported_list(None, "docs", "dev", final=False) is None
    with pytest.raises(hi2.InvalidParameter, match=r"'--split'.*Got 'dev'"):
        reported_list(path, "docs", "dev", final=False)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        '{"dev": {"split": "dev", "ids": ["a"]}}',
        '{"dev": {"split": "dev", "ids": ["a"]}, "test": ["b"]}',
        '{"dev": {"split": "dev", "ids": ["a"]}, "test": {"split": "test", "ids": []}}',
        '{"dev": {"split": "dev", "ids": ["a"]}, "test": {"split": "test", "ids": [1]}}',
        '{"dev": {"split": "dev", "ids": ["a"]}, "test": {"split": "test", "ids": ["b"]}, "more": {}}',
    ],
)
def test_malformed_lists_are_refused(tmp_path, text):
    (tmp_path / "docs.json").write_text(text)
    with pytest.raises(hi2.InvalidParameter, match=r"docs\.json: (not JSON|expected)"):
        read_question_lists(tmp_path, "docs")


def test_lists_that_do_not_exist_are_refused(tmp_path):
    for source in (tmp_path, tmp_path / "nothing.json"):
        with pytest.raises(hi2.InvalidParameter, match=r"'--questions'.*docs\.json"):
            read_question_lists(source, "docs")


@pytest.mark.parametrize("name", ["hotpotqa", "insuranceqa", "scifact", "arxiv"])
def test_the_committed_lists_can_be_made_again(name, data_folder):
    if not (data_folder / name).is_dir():
        pytest.skip(f"{name} is not in HI2_DATA")
    spec = importlib.util.spec_from_file_location("make_questions", COMMITTED / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert make.as_text(make.question_lists(data_folder / name)) == (COMMITTED / f"{name}.json").read_text()
    lists = read_question_lists(COMMITTED, name).lists
    assert len(lists["test"].ids) == (300 if name == "scifact" else 1000)
    assert ("final" in lists) == (name != "scifact")
    texts = open_collection(data_folder / name).queries()
    asked = [{normalised(texts[id]) for id in own.ids} for own in lists.values()]
    assert len(set().union(*asked)) == sum(len(own) for own in asked)  # no text is in two lists

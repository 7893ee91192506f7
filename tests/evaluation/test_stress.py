"""Changed questions are changed as they say, and encoded again."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.plan import Plan
from hi2.evaluation.report import write_report
from hi2.evaluation.results import Results
from hi2.evaluation.stress import (
    Question,
    add_typos,
    append_noise,
    keep_two_words,
    replace_shared_words,
    thesaurus,
    variants,
)
from hi2.evaluation.task import load_task
from lab_plan import SILENT, measured


def test_changed_questions_are_encoded_again(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    task = load_task(folder, encoder="static", cache=tmp_path / "cache", limit=20, progress=SILENT)
    changed = variants(task, task.query_encoder)
    assert list(changed) == ["as asked", "typos", "no shared word", "two words", "very long"]
    place = {id: row for row, id in enumerate(task.ids)}
    for i, id in enumerate(task.test.ids):
        texts = {name: own.test.texts[i] for name, own in changed.items()}
        answers = {w for d in task.test.judged.relevant(id) for w in re.findall(r"\w+", task.texts[place[d]].lower())}
        left = set(re.findall(r"\w+", texts["no shared word"].lower()))
        assert not left & answers or left == {"this"}
        assert len(texts["two words"].split()) <= 2
        assert texts["very long"].startswith(texts["as asked"])
        assert len(texts["typos"]) == len(texts["as asked"])
    assert any(changed["typos"].test.texts[i] != task.test.texts[i] for i in range(len(task.test.ids)))
    np.testing.assert_allclose(
        changed["typos"].test.vectors, hi2.StaticEncoder()(list(changed["typos"].test.texts)), atol=1e-6
    )
    plan = Plan("stress", "Stress", "stress", ["hi2 Flat"], ["R@100"])
    lines = measured(plan, task, Results(tmp_path / "out"), Inputs(), SILENT)
    assert [line["variant"] for line in lines if line["system"] == "hi2 Flat"] == list(changed)
    flat = {line["variant"]: line["measures"]["R@100"] for line in lines if line["system"] == "Flat"}
    assert flat["no shared word"] < flat["as asked"]
    assert "hi2 Flat, typos" in write_report(plan, lines, tmp_path / "out").with_suffix(".md").read_text()
    with pytest.raises(hi2.InvalidParameter, match="changed questions need new vectors"):
        variants(task, None)


@given(
    st.lists(
        st.sampled_from(["when", "does", "the", "river", "flood", "old", "bridges", "so-called", "x1y2", "é"]),
        max_size=9,
    )
)
def test_a_typo_swaps_letters_inside_words(words):
    text = " ".join(words)
    changed = add_typos(Question(text, [], ""), np.random.default_rng(0)).split()
    assert len(changed) == len(words)
    for word, own in zip(words, changed, strict=True):
        assert sorted(own) == sorted(word)
        assert (own[:1], own[-1:]) == (word[:1], word[-1:])
        assert len(re.findall(r"[A-Za-z]{4,}", word)) > 0 or own == word


def test_questions_are_shortened_lengthened_and_reworded():
    question = Question("who wrote the famous play about Denmark", ["a famous play of Shakespeare"], "one two " * 90)
    rng = np.random.default_rng(0)
    assert keep_two_words(question, rng) == "famous Denmark"
    noisy = append_noise(question, rng)
    assert noisy.startswith(question.text)
    assert len(noisy.split()) == len(question.text.split()) + 100
    reworded = replace_shared_words(question, rng).split()
    assert not {"famous", "play"} & set(reworded)
    assert {"who", "wrote", "denmark"} <= set(reworded)
    assert replace_shared_words(Question("a of", ["a of"], ""), rng) == "this"


def test_the_nearest_word_begins_with_other_letters():
    found = thesaurus().nearest("doctor", set())
    assert not found.startswith("doc")
    assert thesaurus().nearest("doctor", {found}) not in (found, "doctor")

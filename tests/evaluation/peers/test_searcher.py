"""Anything that searches like an index is measured like one."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.judgements import Grades
from hi2.evaluation.measures import Measure
from hi2.evaluation.task import Questions, Task
from hi2.evaluation.trial import K, Trial, evaluate

MEASURES = [Measure("R", 100), Measure("RR", 10)]


class BruteForce:
    """A hand-written searcher: every document is scored by numpy, texts are ignored."""

    def __init__(self, vectors, ids):
        self.vectors, self.ids = vectors, np.array(ids, object)

    def search(self, vectors, texts=None, *, k=10):
        scores = vectors @ self.vectors.T
        rows = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
        n = len(self.ids) if vectors.ndim == 1 else np.full(len(vectors), len(self.ids))
        counts = rows.shape[-1] if vectors.ndim == 1 else np.full(len(vectors), rows.shape[-1])
        return hi2.Hits(self.ids[rows], np.take_along_axis(scores, rows, -1), n, counts)


@pytest.fixture(scope="module")
def task(corpus):
    """The relevant documents of a question are its two nearest."""
    nearest = np.argsort(-(corpus.query_vectors @ corpus.vectors.T), axis=1)[:, :2]
    ids = [f"q{i}" for i in range(len(corpus.query_texts))]
    judged = Grades({id: {corpus.ids[row]: 1 for row in own} for id, own in zip(ids, nearest, strict=True)})
    questions = Questions("test", ids, list(corpus.query_texts), corpus.query_vectors, judged)
    return Task("docs", "given", corpus.ids, corpus.texts, corpus.vectors, questions.first(5), questions.after(5), {})


def test_a_hand_written_searcher_is_measured_as_the_built_in_brute_force(task):
    outcome = evaluate(BruteForce(task.vectors, task.ids), task, MEASURES)
    flat = Trial.build(Inputs().system("Flat", task), task, threads=1)
    expected = flat.measure({}, MEASURES, task.nearest(task.test, K))
    np.testing.assert_allclose(outcome.values["R@100"], expected.values["R@100"])
    assert outcome.values["RR@10"].mean() == 1.0  # the nearest document is relevant
    assert outcome.values["agreement@100"].mean() == 1.0
    assert outcome.scored == len(task.ids)
    assert outcome.throughput > 0


def test_an_index_is_measured_as_the_system_that_builds_it(task):
    terms = hi2.BM25(tokenizer="wordpiece")
    given = {"ids": task.ids, "terms": terms, "codec": hi2.Flat(), "bags": False}
    index = hi2.HybridIndex.build(task.vectors, task.texts, progress=False, **given)
    outcome = evaluate(index, task, MEASURES)
    built = Trial.build(Inputs().system("hi2 Flat", task), task, threads=1)
    expected = built.measure({}, MEASURES, task.nearest(task.test, K))
    assert outcome.rows == expected.rows
    assert outcome.scored == expected.scored


def test_hits_with_other_ids_are_refused(task):
    with pytest.raises(hi2.InvalidParameter, match="an index of this collection"):
        evaluate(BruteForce(task.vectors, range(len(task.ids))), task, MEASURES)

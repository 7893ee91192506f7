"""What do the tests of training share? Training on a toy collection, interrupting a run, and checking gradients."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.codecs import OPQ, PQ
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25
from hi2.training import Settings, distill
from hi2.training.examples import Batch
from hi2.training.loop import Loop
from hi2.training.students import Codebooks

RANDOM = np.random.default_rng(3)
TEMPERATURE = 0.1
LIGHT = Settings(method="light", epochs=6, batch=32, rate=0.05, hard=6, lexical=4, depth=40)


def train(topics, settings=LIGHT, **changes):
    """Train on the toy collection, without labels unless they are given."""
    arguments = {
        "vectors": topics.vectors,
        "texts": topics.texts,
        "queries": topics.queries,
        "query_vectors": topics.query_vectors,
        "clusters": KMeans(12),
        "terms": BM25(per_doc=2),
        "codec": PQ(subspaces=4, bits=4),
        "settings": settings,
        "threads": 1,
        "progress": False,
        **changes,
    }
    return distill(**arguments)


def interrupt_epoch(monkeypatch, n):
    """Interrupt the n-th epoch from now; return a list that receives (loop class, epoch) of every epoch that starts."""
    train_epoch, started = Loop._train_epoch, []

    def interrupted(self, examples):
        started.append((type(self), self._epoch))
        if len(started) == n:
            raise KeyboardInterrupt
        return train_epoch(self, examples)

    monkeypatch.setattr(Loop, "_train_epoch", interrupted)
    return started


def unit_vectors(n, dim):
    vectors = RANDOM.standard_normal((n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def codebook_student(residual=False, rotation=True):
    """Codebooks in float64 over random codes of nine documents of dimension 8."""
    vectors = unit_vectors(300, 8)
    codec = OPQ(subspaces=4, bits=4, residual=residual).fit(vectors, threads=1)
    codes = RANDOM.integers(0, 16, (9, 4)).astype(np.uint8)
    anchors = unit_vectors(3, 8) if residual else None
    labels = RANDOM.integers(0, 3, 9) if residual else None
    student = Codebooks(codec, codes, rotation=rotation, anchors=anchors, labels=labels).double()
    if residual:
        student._anchors = student._anchors.double()
    return student


def toy_batch(dim):
    """Three queries and a pool of six of nine documents."""
    terms = [np.array([1, 3], np.uint32), np.array([2], np.uint32), np.array([0, 2, 4], np.uint32)]
    return Batch(unit_vectors(3, dim).astype(np.float64), terms, np.array([0, 2, 3, 5, 6, 8]), [])


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def check_gradients(loss, module):
    """Compare gradients of every parameter, the largest and some random ones, with finite differences."""
    loss().backward()
    n_changed = 0
    for parameter in module.parameters():
        if not parameter.requires_grad:
            continue
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        steepest = gradient.abs().argsort(descending=True)[:6].tolist()
        for place in [*steepest, *RANDOM.permutation(len(flat))[:12].tolist()]:
            before, step = float(flat[place]), 1e-6
            flat[place] = before + step
            above = float(loss().detach())
            flat[place] = before - step
            below = float(loss().detach())
            flat[place] = before
            assert float(gradient[place]) == pytest.approx((above - below) / (2 * step), abs=2e-6, rel=1e-4)
            n_changed += abs(above - below) > 0
    assert n_changed >= 5

"""What do the tests of training share? A training of the toy collection, one that is killed, and gradients compared."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.codecs import PQ
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25
from hi2.training import distill
from hi2.training.loop import Loop

RANDOM = np.random.default_rng(3)


def trained(topics, settings, **changes):
    """Train on the toy collection, without labels unless they are given."""
    given = {
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
    return distill(**given)


def kill_at(monkeypatch, number):
    """Interrupt the so-many-th epoch from now; return (loop, epoch) of those that began, to be looked at later."""
    epoch, begun = Loop._one_epoch, []

    def killed(self, examples):
        begun.append((type(self), self._epoch))
        if len(begun) == number:
            raise KeyboardInterrupt
        return epoch(self, examples)

    monkeypatch.setattr(Loop, "_one_epoch", killed)
    return begun


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def compare(loss, module):
    """Some gradients of every parameter, the largest among them, against what a small step changes."""
    loss().backward()
    moved = 0
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
            moved += abs(above - below) > 0
    assert moved >= 5

"""Losses are the paper's formulas, and the temperature gives the perplexity asked for."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.training.losses import commitment, divergence, temperature_for  # noqa: E402
from teaching import RANDOM, softmax, unit_vectors  # noqa: E402


def kl(teacher, student):
    p, q = softmax(teacher), softmax(student)
    return float((p * (np.log(p) - np.log(q))).sum(1).mean())


def test_divergence_and_commitment_are_the_formulas():
    teacher, student = RANDOM.standard_normal((2, 5, 7))
    found = divergence(torch.from_numpy(teacher), torch.from_numpy(student))
    assert float(found) == pytest.approx(kl(teacher, student), abs=1e-12)
    assert float(divergence(torch.from_numpy(teacher), torch.from_numpy(teacher))) == pytest.approx(0, abs=1e-12)
    logits, labels = RANDOM.standard_normal((6, 4)), np.array([0, 3, 1, 1, 2, 0])
    expected = -np.log(softmax(logits)[np.arange(6), labels]).mean()
    assert float(commitment(torch.from_numpy(logits), torch.from_numpy(labels))) == pytest.approx(expected)


def test_the_temperature_gives_the_perplexity():
    scores = unit_vectors(20, 16) @ unit_vectors(300, 16).T
    shares = softmax(scores / temperature_for(scores, 8.0))
    perplexity = np.exp(-(shares * np.log(shares)).sum(1).mean())
    assert perplexity == pytest.approx(8.0, rel=1e-3)
    flat = softmax(scores)
    assert np.exp(-(flat * np.log(flat)).sum(1).mean()) > 250  # at T = 1 it is almost uniform

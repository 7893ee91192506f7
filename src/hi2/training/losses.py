"""What is minimised? The KL divergence from the teacher to each student (eq. 10), and the commitment to clusters."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from hi2.types import Floats


def divergence(teacher: torch.Tensor, student: torch.Tensor) -> torch.Tensor:
    """Return KL(softmax(teacher) ‖ softmax(student)), averaged over queries; both are logits (queries, pool)."""
    expected, found = functional.log_softmax(teacher, 1), functional.log_softmax(student, 1)
    return functional.kl_div(found, expected, log_target=True, reduction="batchmean")


def commitment(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of each document's own cluster; ``logits`` are (documents, clusters).

    The paper prints the loss without its minus sign. With it, centroids move towards their documents.
    """
    return functional.cross_entropy(logits, labels)


def temperature_for(scores: Floats, perplexity: float) -> float:
    """Return the temperature T at which softmax(scores / T) has this perplexity: its entropy, averaged over rows.

    Scores of unit vectors lie close together, so at T = 1 the softmax would be almost uniform.
    """
    goal = np.log(min(perplexity, 0.9 * scores.shape[1]))
    low, high = 1e-6 * (float(np.ptp(scores)) + 1e-12), 1e3 * (float(np.ptp(scores)) + 1e-12)
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _entropy(scores / middle) < goal else (low, middle)
    return float(np.sqrt(low * high))


def _entropy(logits: Floats) -> float:
    shifted = logits.astype(np.float64) - logits.max(1, keepdims=True)
    weights = np.exp(shifted)
    shares = weights / weights.sum(1, keepdims=True)
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum(1).mean())

"""JPQ (Zhan et al., CIKM 2021): train codebooks and queries together, on the errors of the current index.

The negatives of a batch are the documents that the current codebooks rank highest. A pair of a positive and a negative
is weighted by how much swapping them would change the reciprocal rank. JPQ trains the query encoder; here a linear map
of the query vectors takes its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hi2.training.examples import Batch, Examples
from hi2.training.loop import Loop
from hi2.types import I64

N_NEGATIVES = 200
#: Documents are decoded with the current codebooks once in this many batches.
REFRESH_EVERY = 16


class JPQLoop(Loop):
    """Minimise a pairwise logistic loss over the documents the current index ranks highest."""

    _documents: Any = None
    _n_batches = 0

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss that both students share."""
        codec: Any = self.students["codec"]
        query: Any = self.students["query"]
        vectors = query(torch.from_numpy(batch.vectors).to(self.device))
        with torch.no_grad():
            if self._documents is None or self._n_batches % REFRESH_EVERY == 0:
                self._documents = codec.decode()
            self._n_batches += 1
            count = min(N_NEGATIVES, len(self._documents))
            best = codec.score_all(vectors, self._documents).topk(count, dim=1).indices.cpu().numpy()
        pool = np.unique(np.concatenate([best.ravel(), *batch.positives]))
        scores = codec.logits(vectors, Batch(batch.vectors, batch.terms, pool, batch.positives), self._temperature)
        rows = [
            _pairwise_loss(scores[i], np.searchsorted(pool, batch.positives[i]), np.searchsorted(pool, negatives))
            for i, negatives in enumerate(best)
        ]
        loss = torch.stack(rows).mean()
        # Both students report the same loss, so both are kept from the same epoch. The gradient flows through one only.
        return {"codec": loss, "query": loss.detach()}

    def _evaluate(self, dev: Examples) -> None:
        self._documents, self._n_batches = None, 0
        super()._evaluate(dev)
        self._documents, self._n_batches = None, 0


def _pairwise_loss(scores: torch.Tensor, positives: I64, negatives: I64) -> torch.Tensor:
    """Return the loss of one query, each pair weighted by the change of reciprocal rank."""
    negatives = np.setdiff1d(negatives, positives)
    good, bad = scores[torch.from_numpy(positives)], scores[torch.from_numpy(negatives)]
    with torch.no_grad():
        ranks = torch.empty(len(good) + len(bad), device=scores.device)
        order = torch.cat([good, bad]).argsort(descending=True)
        ranks[order] = torch.arange(1, len(ranks) + 1, device=scores.device, dtype=ranks.dtype)
        weights = (1 / ranks[: len(good), None] - 1 / ranks[None, len(good) :]).abs()
    return (weights * functional.softplus(bad[None] - good[:, None])).sum()

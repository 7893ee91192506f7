"""JPQ (Zhan et al., CIKM 2021): codebooks and queries learn together, from the errors of the live index.

The negatives of every batch are what the codes as they are now rank highest. Pairs of a positive and a negative are
weighed by what swapping them would change in reciprocal rank. Where no query encoder is at hand, a linear map of the
query vectors learns in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hi2.training.examples import Batch, Examples
from hi2.training.loop import Loop
from hi2.types import I64

NEGATIVES = 200
#: Batches between two looks at what the codes stand for now.
REFRESHED_EVERY = 16


class JPQLoop(Loop):
    """Pairwise logistic loss over the live index's best."""

    _documents: Any = None
    _asked = 0

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the one loss that both students share."""
        codec: Any = self.students["codec"]
        query: Any = self.students["query"]
        vectors = query(torch.from_numpy(batch.vectors).to(self.device))
        with torch.no_grad():
            if self._documents is None or self._asked % REFRESHED_EVERY == 0:
                self._documents = codec.decoded()
            self._asked += 1
            count = min(NEGATIVES, len(self._documents))
            best = codec.live(vectors, self._documents).topk(count, dim=1).indices.cpu().numpy()
        pool = np.unique(np.concatenate([best.ravel(), *batch.positives]))
        scores = codec.logits(vectors, Batch(batch.vectors, batch.terms, pool, batch.positives), self._temperature)
        rows = [
            _pairs(scores[i], np.searchsorted(pool, batch.positives[i]), np.searchsorted(pool, own))
            for i, own in enumerate(best)
        ]
        loss = torch.stack(rows).mean()
        # One loss stands for both, so that both are kept from the same epoch; it is minimised once.
        return {"codec": loss, "query": loss.detach()}

    def _look(self, dev: Examples) -> None:
        self._documents, self._asked = None, 0
        super()._look(dev)
        self._documents, self._asked = None, 0


def _pairs(scores: torch.Tensor, positives: I64, negatives: I64) -> torch.Tensor:
    """The loss of one query: pairs weighed by the change of reciprocal rank."""
    negatives = np.setdiff1d(negatives, positives)
    good, bad = scores[torch.from_numpy(positives)], scores[torch.from_numpy(negatives)]
    with torch.no_grad():
        ranks = torch.empty(len(good) + len(bad), device=scores.device)
        order = torch.cat([good, bad]).argsort(descending=True)
        ranks[order] = torch.arange(1, len(ranks) + 1, device=scores.device, dtype=ranks.dtype)
        weights = (1 / ranks[: len(good), None] - 1 / ranks[None, len(good) :]).abs()
    return (weights * functional.softplus(bad[None] - good[:, None])).sum()

"""Can labels improve the teacher? Learn a linear map of queries with which exhaustive search finds more.

The map is linear so that it can be folded into an index (``hi2.training.query_map_folding``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hi2.progress import Progress
from hi2.training.examples import Batch, Examples, Queries, nearest_rows
from hi2.training.loop import Loop
from hi2.training.losses import temperature_for
from hi2.training.reconstruction import recall_and_ndcg
from hi2.training.settings import Settings
from hi2.training.students import QueryMap
from hi2.types import I64, Floats

#: Larger than any number of positives per query: a positive left out of the sample would count as a negative.
ALL_POSITIVES = 1 << 20
#: The map has dim² parameters, so it learns at 0.3 of the learning rate and for up to 30 epochs. At the full rate the
#: recall of insuranceqa's dev queries is 0.836 instead of 0.847 (0.775 unmapped). It stops after 3 epochs without gain.
RATE_FACTOR, EPOCHS, PATIENCE = 0.3, 30, 3
#: Shares of the learned change that are tried; the one with the highest nDCG@100 on dev queries is taken. The full
#: change overfits the training queries: hotpotqa's dev queries reach 0.681 with all of it and 0.697 with half (0.693
#: unmapped), insuranceqa's 0.485 with all of it and 0.503 with three quarters (0.442 unmapped).
STRENGTHS = (0.25, 0.5, 0.75, 1.0)


class LabelLoop(Loop):
    """Minimise the cross-entropy of the labelled documents in the pool, scored by the mapped query."""

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss of the map."""
        query: Any = self.students["query"]
        vectors = query(torch.from_numpy(batch.vectors).to(self.device))
        pool = torch.from_numpy(self._vectors[batch.pool]).to(self.device)
        logits = vectors @ pool.T / self._temperature
        expected = torch.zeros_like(logits)
        for i, positives in enumerate(batch.positives):
            expected[i, torch.from_numpy(np.searchsorted(batch.pool, positives))] = 1 / len(positives)
        return {"query": functional.cross_entropy(logits, expected)}


def learn_query_map(
    train: Examples, dev: Examples, vectors: Floats, settings: Settings, folder: Path | None, data: str, bars: Progress
) -> tuple[Floats | None, dict[str, Any]]:
    """Return the map (dim, dim) that ranks dev queries best, or None if none beats unmapped queries; and a record."""
    map_settings = replace(settings, positives=ALL_POSITIVES, epochs=EPOCHS, patience=PATIENCE)
    first = next(iter(train.fixed_batches(map_settings)))
    temperature = temperature_for(first.vectors @ vectors[first.pool].T, settings.perplexity)
    student = QueryMap(vectors.shape[1])
    loop = LabelLoop(
        {"query": student}, vectors, temperature, map_settings, folder=folder, data=data, rate_factor=RATE_FACTOR
    )
    loop.run(train, dev, bars, "adapt the teacher")
    identity: Floats = np.eye(vectors.shape[1], dtype=np.float32)
    change: Floats = student.cpu().change.detach().numpy()
    targets: Sequence[I64] = dev.queries.positives or []
    with bars.phase("choose a map", 1 + len(STRENGTHS)) as advance:
        tried = {}
        for strength in (0.0, *STRENGTHS):
            queries = map_queries(dev.queries, identity + np.float32(strength) * change)
            tried[strength] = recall_and_ndcg(queries.vectors, vectors, targets)
            advance(1)
    best = max(tried, key=lambda strength: tried[strength][1])
    record = {
        "before": tried[0.0][0],
        "mapped": tried[best][0],
        "strength": best,
        "tried": [{"strength": strength, "found": found, "ranked": ndcg} for strength, (found, ndcg) in tried.items()],
        "curve": loop.curve.to_json(),
    }
    return (identity + np.float32(best) * change if best else None), record


def map_queries(queries: Queries, query_map: Floats) -> Queries:
    """Return the queries with mapped vectors."""
    return replace(queries, vectors=np.ascontiguousarray(queries.vectors @ query_map.T))


def map_examples(examples: Examples, query_map: Floats, vectors: Floats, bars: Progress) -> Examples:
    """Return the examples with mapped queries and the documents nearest to them."""
    queries = map_queries(examples.queries, query_map)
    return replace(examples, queries=queries, nearest=nearest_rows(queries, vectors, examples.nearest.shape[1], bars))

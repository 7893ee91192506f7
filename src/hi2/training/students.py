"""What is trained? Students, each of which scores the queries of a batch against its pool of documents.

Centroids, codebooks, gains of terms and the MLP of the term scorer are trained here, and a linear map of queries.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from hi2.codecs.codec import Codec
from hi2.text.bags import Bags
from hi2.training.examples import Batch, gather_entries
from hi2.training.losses import commitment, divergence
from hi2.types import I64, Array, Floats

#: Weight of the mean score in the loss. Without it, terms that no query uses would keep their initial scores, and
#: documents would be filed under them.
SPARSITY = 0.1
#: The mean is taken over a sample of about this many occurrences.
PENALTY_OCCURRENCES = 4096


class Centroids(nn.Module):
    """Score a document by the centroid of its cluster. Centroids are trained; the assignment to clusters is fixed."""

    def __init__(self, centroids: Floats, labels: Array, vectors: Floats) -> None:
        super().__init__()
        self.centroids = nn.Parameter(torch.from_numpy(centroids.copy()))
        self._labels = torch.from_numpy(labels.astype(np.int64))
        self._vectors = vectors

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the inner products of the queries with the centroids of the pool."""
        labels = self._labels[torch.from_numpy(batch.pool)].to(self.centroids.device)
        return (vectors @ self.centroids.T)[:, labels] / temperature

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return the commitment loss of the pool's documents to their clusters."""
        documents = torch.from_numpy(self._vectors[pool]).to(self.centroids.device)
        labels = self._labels[torch.from_numpy(pool)].to(self.centroids.device)
        return commitment(documents @ self.centroids.T / temperature, labels)


class Codebooks(nn.Module):
    """Score a document by its codewords. Codewords, and optionally the rotation, are trained; the codes are fixed."""

    def __init__(
        self, codec: Codec, codes: Array, *, rotation: bool, anchors: Floats | None, labels: Array | None
    ) -> None:
        super().__init__()
        self.codebooks = nn.Parameter(torch.from_numpy(np.array(codec.arrays["codebooks"])))
        self._n_subspaces, _, self._width = self.codebooks.shape
        start = codec.arrays.get("rotation")
        if start is None:
            start = np.eye(self._n_subspaces * self._width, codec.dim, dtype=np.float32)
        self.rotation = nn.Parameter(torch.from_numpy(np.array(start)), requires_grad=rotation)
        self._codes = codes
        self._anchors = None if anchors is None else torch.from_numpy(anchors)
        self._labels = None if labels is None else labels.astype(np.int64)

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the inner products of the queries with the decoded documents of the pool."""
        device = self.codebooks.device
        scores = (vectors @ self.rotation.T) @ self._codewords(self._codes[batch.pool]).T
        if self._anchors is not None and self._labels is not None:
            scores = scores + vectors @ self._anchors[torch.from_numpy(self._labels[batch.pool])].to(device).T
        return scores / temperature

    def _codewords(self, codes: Array) -> torch.Tensor:
        device = self.codebooks.device
        subspaces = torch.arange(self._n_subspaces, device=device)
        return self.codebooks[subspaces, torch.from_numpy(codes.astype(np.int64)).to(device)].flatten(1)

    def decode(self) -> torch.Tensor:
        """Return the codewords of all documents (n, subspaces · width), in the rotated space."""
        parts = [self._codewords(self._codes[begin : begin + 16_384]) for begin in range(0, len(self._codes), 16_384)]
        return torch.cat(parts)

    def score_all(self, vectors: torch.Tensor, decoded: torch.Tensor) -> torch.Tensor:
        """Return the scores of all documents, as a search with the current parameters would; see ``decode``."""
        scores = vectors @ self.rotation.T @ decoded.T
        if self._anchors is not None and self._labels is not None:
            scores = scores + (vectors @ self._anchors.to(vectors.device).T)[:, torch.from_numpy(self._labels)]
        return scores

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return None."""
        return None


class QueryMap(nn.Module):
    """A linear map of query vectors, initially the identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.change = nn.Parameter(torch.zeros(dim, dim))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the mapped vectors."""
        return vectors + vectors @ self.change.T


class TermStudent(nn.Module):
    """Score a document by the sum of its scores of the query's terms, times a trained scale.

    ``common`` flags terms that are left out because their lists are too long to be worth opening.
    """

    def __init__(self, common: Array) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self._common = common
        self._columns = np.full(len(common), -1, np.int64)

    def _query_terms(self, batch: Batch) -> tuple[Array, torch.Tensor]:
        """Return the distinct terms of a batch, and a matrix (queries, terms) that is 1 where a query has the term."""
        rare = [terms[~self._common[terms]] for terms in batch.terms]
        distinct = np.unique(np.concatenate(rare))
        has_term = np.zeros((len(rare), len(distinct)), np.float32)
        for i, terms in enumerate(rare):
            has_term[i, np.searchsorted(distinct, terms)] = 1.0
        return distinct, torch.from_numpy(has_term)

    def _columns_of(self, terms: Array) -> Array:
        """Return, for every term of the vocabulary, its position in ``terms`` or -1."""
        self._columns[:] = -1
        self._columns[terms] = np.arange(len(terms))
        return self._columns


class Gains(TermStudent):
    """Score by BM25 with a trained gain for every term of the vocabulary; needs no transformer."""

    def __init__(self, bags: Bags, scores: Floats, common: Array) -> None:
        super().__init__(common)
        self.gains = nn.Parameter(torch.zeros(len(common)))
        self._bags, self._scores = bags, scores

    @torch.no_grad()
    def set_scale(self, batch: Batch, teacher: torch.Tensor) -> None:
        """Start from the scale that is nearest to the teacher's logits; training would take many epochs to find it."""
        scores = self.logits(torch.from_numpy(batch.vectors), batch, 1.0)
        if not scores.any():
            return
        scales = torch.linspace(-7, 3, 41)
        found = torch.stack([divergence(teacher, scale.exp() * scores) for scale in scales])
        self.scale.copy_(scales[int(found.argmin())])

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the sums of BM25 scores times gains."""
        terms, has_term = self._query_terms(batch)
        rows, columns, values = gather_entries(
            self._bags.offsets, self._bags.terms, self._scores, batch.pool, self._columns_of(terms)
        )
        matrix = torch.zeros(len(batch.pool), len(terms))
        matrix[torch.from_numpy(rows), torch.from_numpy(columns)] = torch.from_numpy(np.ascontiguousarray(values))
        device = self.gains.device
        weights = has_term.to(device) * self.gains[torch.from_numpy(terms.astype(np.int64))].exp()
        return self.scale.exp() * (weights @ matrix.to(device).T)

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return the mean gain of a sample of the pool's terms, so that gains of terms no query uses shrink."""
        starts, ends = self._bags.offsets[pool].astype(np.int64), self._bags.offsets[pool + 1].astype(np.int64)
        terms = np.concatenate([self._bags.terms[a:b] for a, b in zip(starts, ends, strict=True)])
        if len(terms) == 0:
            return None
        sample = torch.from_numpy(terms[:: -(-len(terms) // PENALTY_OCCURRENCES)].astype(np.int64))
        return SPARSITY * self.gains[sample].exp().mean()


class TokenMLP(nn.Module):
    """Two layers that score a token by its state; scores are never negative."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        nn.init.constant_(self.score.bias, 1.0)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return a score for every state."""
        scores: torch.Tensor = torch.relu(self.score(torch.relu(self.hidden(states)))).squeeze(-1)
        return scores

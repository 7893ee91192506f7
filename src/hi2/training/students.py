"""What learns? Centroids, codebooks, gains of terms, and a scorer of tokens; each scores queries against a pool."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import nn

from hi2.codecs.codec import Codec
from hi2.text.bags import Bags
from hi2.training.examples import Batch, dense
from hi2.training.losses import commitment, divergence
from hi2.types import I64, Array, Floats

#: What a score costs: terms that no query asks for would otherwise keep the score they began with, and be filed under.
#: The cost is taken of so many occurrences at most.
SPARSITY, LOOKED_AT = 0.1, 4096


class Student(Protocol):
    """Something that scores the queries of a batch, given their vectors, against its pool."""

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return (queries, pool)."""
        ...

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return what is added to the loss, None for nothing."""
        ...


class Centroids(nn.Module):
    """A document scores as the centroid of its cluster; which cluster that is, is fixed."""

    def __init__(self, centroids: Floats, labels: Array, vectors: Floats) -> None:
        super().__init__()
        self.centroids = nn.Parameter(torch.from_numpy(centroids.copy()))
        self._labels = torch.from_numpy(labels.astype(np.int64))
        self._vectors = vectors

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the products of queries with the pool's centroids."""
        chosen = self._labels[torch.from_numpy(batch.pool)].to(self.centroids.device)
        return (vectors @ self.centroids.T)[:, chosen] / temperature

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return the commitment of the pool's documents to their clusters."""
        own = torch.from_numpy(self._vectors[pool]).to(self.centroids.device)
        labels = self._labels[torch.from_numpy(pool)].to(self.centroids.device)
        return commitment(own @ self.centroids.T / temperature, labels)


class Codebooks(nn.Module):
    """A document scores as the sum of its codewords; codes are fixed, codewords (and the rotation) learn."""

    def __init__(
        self, codec: Codec, codes: Array, *, rotation: bool, anchors: Floats | None, labels: Array | None
    ) -> None:
        super().__init__()
        self.codebooks = nn.Parameter(torch.from_numpy(np.array(codec.arrays["codebooks"])))
        turned = codec.arrays.get("rotation")
        self._n_subspaces, _, self._width = self.codebooks.shape
        start = np.eye(self._n_subspaces * self._width, codec.dim, dtype=np.float32) if turned is None else turned
        self.rotation = nn.Parameter(torch.from_numpy(np.array(start)), requires_grad=rotation)
        self._codes = codes
        self._anchors = None if anchors is None else torch.from_numpy(anchors)
        self._labels = None if labels is None else labels.astype(np.int64)

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the products of queries with what the pool's codes stand for."""
        device = self.codebooks.device
        scores = (vectors @ self.rotation.T) @ self._words(self._codes[batch.pool]).T
        if self._anchors is not None and self._labels is not None:
            scores = scores + vectors @ self._anchors[torch.from_numpy(self._labels[batch.pool])].to(device).T
        return scores / temperature

    def _words(self, codes: Array) -> torch.Tensor:
        device = self.codebooks.device
        places = torch.arange(self._n_subspaces, device=device)
        return self.codebooks[places, torch.from_numpy(codes.astype(np.int64)).to(device)].flatten(1)

    def decoded(self) -> torch.Tensor:
        """Return what the codes of all documents stand for, rotated."""
        parts = [self._words(self._codes[begin : begin + 16_384]) for begin in range(0, len(self._codes), 16_384)]
        return torch.cat(parts)

    def live(self, vectors: torch.Tensor, decoded: torch.Tensor) -> torch.Tensor:
        """Return the scores of all documents as a search would score them now."""
        scores = vectors @ self.rotation.T @ decoded.T
        if self._anchors is not None and self._labels is not None:
            scores = scores + (vectors @ self._anchors.to(vectors.device).T)[:, torch.from_numpy(self._labels)]
        return scores

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Nothing is added."""
        return None


class QueryMap(nn.Module):
    """A linear map of query vectors, the identity at first: JPQ's query encoder where only its vectors are at hand."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.change = nn.Parameter(torch.zeros(dim, dim))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the mapped vectors."""
        return vectors + vectors @ self.change.T


class Terms(nn.Module):
    """The sum of a document's scores of the query's terms, at a scale that learns too.

    Terms that are ``common`` are left out: no list of theirs is worth opening.
    """

    def __init__(self, common: Array) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self._common = common
        self._columns = np.full(len(common), -1, np.int64)

    def _asked(self, batch: Batch) -> tuple[Array, torch.Tensor]:
        """The distinct terms of a batch, and which query has which (queries, terms)."""
        asked = [own[~self._common[own]] for own in batch.terms]
        terms = np.unique(np.concatenate(asked))
        holds = np.zeros((len(asked), len(terms)), np.float32)
        for i, own in enumerate(asked):
            holds[i, np.searchsorted(terms, own)] = 1.0
        return terms, torch.from_numpy(holds)

    def _wanted(self, terms: Array) -> Array:
        self._columns[:] = -1
        self._columns[terms] = np.arange(len(terms))
        return self._columns


class Gains(Terms):
    """BM25 with a gain for every term of the vocabulary: the path without a transformer."""

    def __init__(self, bags: Bags, scores: Floats, common: Array) -> None:
        super().__init__(common)
        self.gains = nn.Parameter(torch.zeros(len(common)))
        self._bags, self._scores = bags, scores

    @torch.no_grad()
    def begin(self, batch: Batch, teacher: torch.Tensor) -> None:
        """Begin at the scale that is nearest to the teacher's logits: learning it would take many epochs."""
        scores = self.logits(torch.from_numpy(batch.vectors), batch, 1.0)
        if not scores.any():
            return
        scales = torch.linspace(-7, 3, 41)
        found = torch.stack([divergence(teacher, scale.exp() * scores) for scale in scales])
        self.scale.copy_(scales[int(found.argmin())])

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return sums of gained BM25 scores."""
        terms, holds = self._asked(batch)
        wanted = self._wanted(terms)
        rows, columns, values = dense(self._bags.offsets, self._bags.terms, self._scores, batch.pool, wanted)
        matrix = torch.zeros(len(batch.pool), len(terms))
        matrix[torch.from_numpy(rows), torch.from_numpy(columns)] = torch.from_numpy(np.ascontiguousarray(values))
        device = self.gains.device
        weighed = holds.to(device) * self.gains[torch.from_numpy(terms.astype(np.int64))].exp()
        return self.scale.exp() * (weighed @ matrix.to(device).T)

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return the mean gain of some of the pool's terms: one that no query asks for loses its place."""
        starts, ends = self._bags.offsets[pool].astype(np.int64), self._bags.offsets[pool + 1].astype(np.int64)
        terms = np.concatenate([self._bags.terms[a:b] for a, b in zip(starts, ends, strict=True)])
        if len(terms) == 0:
            return None
        some = torch.from_numpy(terms[:: -(-len(terms) // LOOKED_AT)].astype(np.int64))
        return SPARSITY * self.gains[some].exp().mean()


class TokenMLP(nn.Module):
    """Two layers over a token's state; the score of a token is never negative."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        nn.init.constant_(self.score.bias, 1.0)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return a score for every state."""
        scores: torch.Tensor = torch.relu(self.score(torch.relu(self.hidden(states)))).squeeze(-1)
        return scores

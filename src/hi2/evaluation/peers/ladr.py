"""LADR (Kulkarni et al., SIGIR 2023): BM25's best hits and their nearest neighbours, rescored by vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import Setting, load_faiss
from hi2.evaluation.peers.rescored import Rescored
from hi2.types import Array, Floats

#: Neighbours kept per document.
N_NEIGHBOURS = 64
#: Lists opened to find the neighbours of a document; brute force would take hours on large corpora.
N_PROBES = 16


class Ladr(Rescored):
    """Lexically accelerated dense retrieval, proactive if ``depth`` is 0.

    Otherwise it is adaptive: neighbours of the best ``depth`` documents are added until those no longer change.
    """

    name = "LADR"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the words and find the neighbours of every document."""
        super().build(vectors, texts, threads=threads)
        faiss = load_faiss()

        finder = FaissIVF()
        finder.build(vectors, texts, threads=threads)
        faiss.omp_set_num_threads(threads)
        parameters = finder.search_parameters({"nprobe": N_PROBES})
        found = finder.index.search(vectors, min(N_NEIGHBOURS + 1, len(vectors)), params=parameters)[1]
        faiss.omp_set_num_threads(1)
        self._neighbours = found[:, 1:].astype(np.int32)  # the first is the document itself

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Take BM25's best hits, add their neighbours and rescore all."""
        return self.rescore(self._candidates(vector, text, setting), vector, k)

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return how many documents were rescored."""
        return len(self._candidates(vector, text, setting))

    def _candidates(self, vector: Floats, text: str, setting: Setting) -> Array:
        seeds, width, depth = self.top_rows(text, setting["seeds"]), setting["neighbours"], setting["depth"]
        if depth == 0:
            return self._with_neighbours(seeds, seeds, width)
        rows, expanded = seeds, np.zeros(0, np.int64)
        while True:
            fresh = np.setdiff1d(self.rescore(rows, vector, depth), expanded)
            if len(fresh) == 0:
                return rows
            expanded = np.concatenate([expanded, fresh])
            rows = self._with_neighbours(rows, fresh, width)

    def _with_neighbours(self, rows: Array, of: Array, width: int) -> Array:
        around = self._neighbours[of, :width].ravel()
        together: Array = np.unique(np.concatenate([rows, around[around >= 0].astype(np.int64)]))
        return together

    def sweep(self) -> Sequence[Setting]:
        """Return proactive and adaptive settings."""
        proactive = [
            {"seeds": n, "neighbours": width, "depth": 0} for n in (25, 50, 100, 200, 500) for width in (16, 64)
        ]
        adaptive = [{"seeds": n, "neighbours": 16, "depth": depth} for n in (50, 100, 200) for depth in (20, 50, 100)]
        return [*proactive, *adaptive]

    @property
    def n_bytes(self) -> int:
        """The bytes of postings, vectors and neighbour graph."""
        return super().n_bytes + int(self._neighbours.nbytes)

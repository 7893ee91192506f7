"""Learned term weights (DeepCT, UniCOIL, DistilSPLADE), given as JSONL or made by their models.

Documents stand in the order of the corpus; queries are found by their text. Searched by seismic (Bruch et al., SIGIR
2024) as inner products of the weights.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hi2.errors import InvalidParameter
from hi2.evaluation.peers.peer import Peer, Setting, extra
from hi2.evaluation.term_weights import Recipe, read_weights
from hi2.types import Array, Floats


class LearnedSparse(Peer):
    """Sparse vectors in an approximate inverted index with summaries of blocks."""

    needs: ClassVar[str] = "term weights of documents and queries, or a model that makes them (--weights NAME=FOLDER)"
    recipe: ClassVar[Recipe]

    def __init__(self, documents: Path, queries: Mapping[str, Mapping[str, float]]) -> None:
        self._documents = documents
        self._queries = queries

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the weights."""
        try:
            import seismic
        except ImportError as error:
            raise extra("seismic", error, "lab") from error
        kind = seismic.get_seismic_string()
        dataset = seismic.SeismicDataset()
        n = 0
        for number, (_, weights) in enumerate(read_weights(self._documents)):
            terms = np.array(list(weights), dtype=kind)
            dataset.add_document(str(number), terms, np.array(list(weights.values()), np.float32))
            n += 1
        if n != len(texts):
            raise InvalidParameter(f"{self._documents}: {n} vectors for {len(texts)} documents.")
        self._index: Any = seismic.SeismicIndex.build_from_dataset(dataset, num_threads=threads)
        self._asked = {
            text: (np.array(list(weights), dtype=kind), np.array(list(weights.values()), np.float32))
            for text, weights in self._queries.items()
        }

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search by the query's own weights, which a model made beforehand: its time is not in this."""
        terms, values = self._asked[text]
        hits = self._index.search("", terms, values, k=k, query_cut=setting["cut"], heap_factor=setting["heap"])
        return np.array([int(row) for _, _, row in hits], np.int64)

    def sweep(self) -> Sequence[Setting]:
        """Return rising efforts."""
        return [{"cut": cut, "heap": heap} for cut in (5, 10, 20) for heap in (0.7, 0.9, 1.0)]

    @property
    def n_bytes(self) -> int:
        """The size of what it writes to disk."""
        with tempfile.TemporaryDirectory() as folder:
            self._index.save(str(Path(folder) / "index"))
            return sum(path.stat().st_size for path in Path(folder).iterdir())


class DeepCT(LearnedSparse):
    """Term weights regressed by BERT (Dai and Callan, 2019)."""

    name = "DeepCT"
    recipe = Recipe("regression", queries=False)


class UniCOIL(LearnedSparse):
    """Term weights learned by contrast (Lin and Ma, 2021)."""

    name = "UniCOIL"
    recipe = Recipe("projection", "castorini/unicoil-msmarco-passage")


class DistilSPLADE(LearnedSparse):
    """Expanded sparse vectors, distilled (Formal et al., 2021)."""

    name = "DistilSPLADE"
    recipe = Recipe("mlm", "naver/splade_v2_distil")

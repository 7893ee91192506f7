"""Learned term weights (DeepCT, UniCOIL, DistilSPLADE), given as JSONL or made by their models.

Documents are in the order of the corpus; queries are looked up by their text. Scores are inner products of the weights,
searched by seismic (Bruch et al., SIGIR 2024).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hi2.errors import InvalidParameter
from hi2.evaluation.peers.peer import Peer, Setting, missing_extra
from hi2.evaluation.term_weights import Recipe, read_weights
from hi2.types import Array, Floats

#: DeepCT's BM25: the factor from weights to counts, and the parameters its authors tuned (Dai and Callan, SIGIR 2020).
WEIGHT_SCALE, K1, B = 100.0, 10.0, 0.9


class LearnedSparse(Peer):
    """Sparse vectors in an approximate inverted index with block summaries."""

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
            raise missing_extra("seismic", error, "lab") from error
        kind = seismic.get_seismic_string()
        dataset = seismic.SeismicDataset()
        n = 0
        for number, weights in enumerate(self.document_weights(self._documents)):
            terms = np.array(list(weights), dtype=kind)
            dataset.add_document(str(number), terms, np.array(list(weights.values()), np.float32))
            n += 1
        if n != len(texts):
            raise InvalidParameter(f"{self._documents}: {n} vectors for {len(texts)} documents.")
        self._index: Any = seismic.SeismicIndex.build_from_dataset(dataset, num_threads=threads)
        self._query_weights = {
            text: (np.array(list(weights), dtype=kind), np.array(list(weights.values()), np.float32))
            for text, weights in self._queries.items()
        }

    def document_weights(self, path: Path) -> Iterator[dict[str, float]]:
        """Yield the indexed term weights of every document."""
        return (weights for _, weights in read_weights(path))

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search by the query's weights. A model made them beforehand, so its time is not included."""
        if text not in self._query_weights:
            raise InvalidParameter(f"{self.name} has no weights of the question {text!r}.")
        terms, values = self._query_weights[text]
        hits = self._index.search("", terms, values, k=k, query_cut=setting["cut"], heap_factor=setting["heap"])
        return np.array([int(row) for _, _, row in hits], np.int64)

    def sweep(self) -> Sequence[Setting]:
        """Return settings by increasing effort."""
        return [{"cut": cut, "heap": heap} for cut in (5, 10, 20) for heap in (0.7, 0.9, 1.0)]

    @property
    def n_bytes(self) -> int:
        """The size of the saved index."""
        with tempfile.TemporaryDirectory() as folder:
            self._index.save(str(Path(folder) / "index"))
            return sum(path.stat().st_size for path in Path(folder).iterdir())


class DeepCT(LearnedSparse):
    """Term weights regressed by BERT (Dai and Callan, 2019)."""

    name = "DeepCT"
    recipe = Recipe("regression", queries=False)

    def document_weights(self, path: Path) -> Iterator[dict[str, float]]:
        """Yield BM25 scores in which 100 times the weight replaces the term count, as DeepCT intends."""
        df: Counter[str] = Counter()
        lengths = []
        for _, weights in read_weights(path):
            df.update(weights.keys())
            lengths.append(WEIGHT_SCALE * sum(weights.values()))
        average = max(float(np.mean(lengths)), 1e-9)
        idf = {term: float(np.log1p((len(lengths) - n + 0.5) / (n + 0.5))) for term, n in df.items()}
        for length, (_, weights) in zip(lengths, read_weights(path), strict=True):
            norm = K1 * (1 - B + B * length / average)
            yield {
                t: idf[t] * WEIGHT_SCALE * w * (K1 + 1) / (WEIGHT_SCALE * w + norm) for t, w in weights.items() if w > 0
            }


class UniCOIL(LearnedSparse):
    """Term weights learned by contrast (Lin and Ma, 2021)."""

    name = "UniCOIL"
    recipe = Recipe("projection", "castorini/unicoil-msmarco-passage")


class DistilSPLADE(LearnedSparse):
    """Expanded sparse vectors, distilled (Formal et al., 2021)."""

    name = "DistilSPLADE"
    recipe = Recipe("mlm", "naver/splade_v2_distil")

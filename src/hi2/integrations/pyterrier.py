"""How does PyTerrier use an index? As a transformer from queries to ranked documents. No Java is started.

The extra ``pyterrier`` installs what it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hi2.errors import MissingExtra, described, invalid
from hi2.types import Hits, Searcher

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise MissingExtra("PyTerrier is not installed; install it with: pip install 'hi2[pyterrier]'") from error


class Hi2Retriever(pt.Transformer):
    """Searches an index for all queries of a frame in one call.

    The frame has ``qid`` and ``query``, or ``query_vec``, or both. With both, vectors and words rank; with ``query``
    alone the encoder of the index makes the vectors, or words alone rank if it has none. ``settings`` are further
    arguments of ``HybridIndex.search``, such as ``filter``, ``lexical`` or ``profile``. ``text=True`` adds the text of
    each document, for rerankers.
    """

    def __init__(
        self,
        index: Searcher,
        *,
        num_results: int = 1000,
        text: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        if not callable(getattr(index, "search", None)):
            raise invalid("index", "a HybridIndex or another searcher", described(index))
        if isinstance(num_results, bool) or not isinstance(num_results, int) or num_results < 1:
            raise invalid("num_results", "an integer of at least 1", described(num_results))
        if "k" in (settings or {}):
            raise invalid(
                "settings", "without 'k': num_results says how many documents are wanted", described(settings)
            )
        super().__init__()
        self.index = index
        self.num_results = num_results
        self.text = text
        self.settings = dict(settings or {})

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the best documents of every query, with their docno, score and rank."""
        with pt.validate.any(inp) as check:
            check.query_frame(["query"], mode="words")
            check.query_frame(["query_vec"], mode="vectors")
        queries = inp.drop_duplicates("qid")
        if queries.empty:
            return queries.assign(**{name: _empty(name) for name in self._made()})
        return self._ranked(queries.reset_index(drop=True), self._search(queries))

    def fuse_rank_cutoff(self, k: int) -> Hi2Retriever:
        """Return the transformer that finds no more than ``k`` documents, for ``retriever % k``."""
        if k >= self.num_results:
            return self
        return Hi2Retriever(self.index, num_results=k, text=self.text, settings=self.settings)

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"Hi2Retriever({self.index!r}, num_results={self.num_results}{', text=True' * self.text}{shown})"

    def _made(self) -> list[str]:
        return ["docno", "score", "rank"] + ["text"] * self.text

    def _search(self, queries: pd.DataFrame) -> Hits:
        texts = queries["query"].tolist() if "query" in queries else None
        if "query_vec" in queries:
            return self.index.search(
                np.stack(queries["query_vec"].tolist()), texts, k=self.num_results, **self.settings
            )
        return self.index.search(texts, k=self.num_results, **self.settings)

    def _ranked(self, queries: pd.DataFrame, hits: Hits) -> pd.DataFrame:
        counts = np.asarray(hits.counts)
        filled = np.arange(hits.ids.shape[1]) < counts[:, None]
        found = queries.loc[np.repeat(np.arange(len(queries)), counts)].reset_index(drop=True)
        found["docno"] = [str(id) for id in hits.ids[filled].tolist()]
        found["score"] = hits.scores[filled].astype(float)
        found["rank"] = np.concatenate([np.arange(count) for count in counts]).astype(int)
        if self.text:
            found["text"] = [own["text"] for rows in hits.to_dicts() for own in rows]
        return found


def _empty(name: str) -> pd.Series:
    return pd.Series(dtype={"score": float, "rank": int}.get(name, object))

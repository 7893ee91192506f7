"""How does LangChain use an index? As a vector store, and as a retriever.

Documents are found by meaning and words. The extra ``langchain`` installs what it needs.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import MissingExtra, described, invalid
from hi2.index import HybridIndex
from hi2.integrations.conditions import Conditions, all_of, selected
from hi2.integrations.held_index import HeldIndex
from hi2.integrations.metadata import from_payload
from hi2.types import Hits

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:
    raise MissingExtra("LangChain is not installed; install it with: pip install 'hi2[langchain]'") from error


class Hi2VectorStore(VectorStore):
    """A LangChain vector store over a ``HybridIndex``, in memory or in a folder.

    ``embedding`` makes the vectors of documents and queries. Without it an ``encoder`` of hi2 does, or that of a given
    ``index``; without any, words alone rank. ``path`` is the folder of an index, which is made with the first
    documents. One store at a time may be opened for writing (``mode="w"``), and holds the folder until ``close``. Any
    number may read it (``mode="r"``): they see a change within a second.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        index: HybridIndex | None = None,
        path: str | Path | None = None,
        mode: str = "w",
        encoder: Any = None,
        metric: str = "cosine",
    ) -> None:
        if embedding is not None and encoder is not None:
            raise invalid("encoder", "left out where an embedding is given", described(encoder))
        self._embedding = embedding
        self._held = HeldIndex(index, path, mode=mode, encoder=encoder, metric=metric)

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors; None where the index does."""
        return self._embedding

    @property
    def index(self) -> HybridIndex | None:
        """The index; None before the first documents."""
        return self._held.index

    def close(self) -> None:
        """Let another store write to the folder. This one can still be searched."""
        self._held.close()

    # -- changing it --------------------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """File texts and return their ids. A document whose id exists is replaced; ids that are None are made."""
        kwargs.pop("batch_size", None)  # LangChain's indexing gives it; all texts are filed at once
        _refuse_unknown(kwargs)
        own = list(texts)
        if not all(isinstance(text, str) for text in own):
            raise invalid("texts", "strings", described(own))
        metadata = [dict(given or {}) for given in _one_each("metadatas", metadatas, len(own), {})]
        names = [str(uuid.uuid4()) if id is None else id for id in _one_each("ids", ids, len(own), None)]
        vectors = None if self._embedding is None or not own else self._embedding.embed_documents(own)
        self._held.upsert(vectors, own, ids=names, metadata=metadata)
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id, or those that pass a ``filter``, or all. An id that does not exist is skipped."""
        filter = kwargs.pop("filter", None)
        _refuse_unknown(kwargs)
        if ids is not None and filter is not None:
            raise invalid("filter", "left out where ids are given", described(filter))
        if self.index is not None:
            self._held.delete(ids, filter=self._filter(self.index, filter))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in their order; an id that does not exist is skipped."""
        if self.index is None:
            return []
        return [_document(own) for own in self.index.get(list(ids), None) if own is not None]

    # -- searching ----------------------------------------------------------------------------------------------------

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Any = None, lexical: float | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the ``k`` best documents by meaning and words.

        ``filter`` is a filter of hi2, such as ``"year >= 2020"``, or a mapping of keys and the values they must have.
        ``lexical`` is the weight of words; 0 ranks by vectors alone.
        """
        found = self.similarity_search_with_score(query, k, filter=filter, lexical=lexical, **kwargs)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Any = None, lexical: float | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the ``k`` best documents with the scores of the index; larger is better."""
        _refuse_unknown(kwargs)
        return _scored(self._search(self._query_vector(query), query, k, filter, lexical))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Any = None, **kwargs: Any
    ) -> list[Document]:
        """Return the ``k`` documents that are nearest to a vector."""
        _refuse_unknown(kwargs)
        return [document for document, _ in _scored(self._search(embedding, None, k, filter, None))]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Any = None,
        lexical: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return ``k`` of the best ``fetch_k`` documents, near the query and unlike each other."""
        _refuse_unknown(kwargs)
        vector = self._query_vector(query)
        if vector is None:
            raise invalid("query", "searched with vectors: give the store an embedding or an encoder", described(query))
        return self._diverse(vector, self._search(vector, query, fetch_k, filter, lexical), k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return ``k`` of the ``fetch_k`` documents nearest to a vector that are unlike each other."""
        _refuse_unknown(kwargs)
        return self._diverse(embedding, self._search(embedding, None, fetch_k, filter, None), k, lambda_mult)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance

    def _query_vector(self, query: str) -> Any:
        if self._embedding is not None:
            return self._embedding.embed_query(query)
        encoder = None if self.index is None else self.index.encoder
        return None if encoder is None else np.asarray(encoder([query]))[0]

    def _search(self, vector: Any, text: str | None, k: int, filter: Any, lexical: float | None) -> Hits | None:
        if self.index is None:
            return None
        return self.index.search(vector, text, k=k, filter=self._filter(self.index, filter), lexical=lexical)

    def _filter(self, index: HybridIndex, filter: Any) -> Any:
        if not isinstance(filter, Mapping):
            return filter

        def translate(conditions: Conditions) -> str | bool:
            return all_of(conditions.equal((key,), value) for key, value in filter.items())

        def matches(document: dict[str, Any]) -> bool:
            metadata = from_payload(document.get("payload", {}))
            return all(metadata.get(key) == value for key, value in filter.items())

        return selected(index, translate, matches)

    def _diverse(self, vector: Any, hits: Hits | None, k: int, lambda_mult: float) -> list[Document]:
        if hits is None or self.index is None or not len(hits):
            return []
        vectors = np.nan_to_num(self.index.vectors(hits.ids.tolist()))  # a document without a vector is like no other
        chosen = maximal_marginal_relevance(np.asarray(vector, np.float32), list(vectors), lambda_mult, k)
        documents = _scored(hits)
        return [documents[place][0] for place in chosen]

    # -- for asyncio: each call runs in a thread, so that the loop goes on --------------------------------------------

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """File texts as ``add_texts`` does."""
        return await asyncio.to_thread(partial(self.add_texts, texts, metadatas, ids=ids, **kwargs))

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents as ``delete`` does."""
        return await asyncio.to_thread(partial(self.delete, ids, **kwargs))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents as ``get_by_ids`` does."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Search as ``similarity_search`` does."""
        return await asyncio.to_thread(partial(self.similarity_search, query, k, **kwargs))

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        """Search as ``similarity_search_with_score`` does."""
        return await asyncio.to_thread(partial(self.similarity_search_with_score, *args, **kwargs))

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Search as ``similarity_search_by_vector`` does."""
        return await asyncio.to_thread(partial(self.similarity_search_by_vector, embedding, k, **kwargs))

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Search as ``max_marginal_relevance_search`` does."""
        search = partial(self.max_marginal_relevance_search, query, k, fetch_k, lambda_mult, **kwargs)
        return await asyncio.to_thread(search)

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Search as ``max_marginal_relevance_search_by_vector`` does."""
        search = partial(self.max_marginal_relevance_search_by_vector, embedding, k, fetch_k, lambda_mult, **kwargs)
        return await asyncio.to_thread(search)

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Hi2VectorStore:
        """Return a store with these texts; further arguments are those of the class."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


class Hi2Retriever(BaseRetriever):
    """A LangChain retriever over a store, with settings of its own.

    ``Hi2VectorStore.as_retriever`` makes LangChain's, which has MMR and thresholds too.
    """

    store: Hi2VectorStore
    k: int = 4
    filter: Any = None
    lexical: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.store.similarity_search(query, **self._settings(kwargs))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await self.store.asimilarity_search(query, **self._settings(kwargs))

    def _settings(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"k": self.k, "filter": self.filter, "lexical": self.lexical, **given}


def relevance(score: float) -> float:
    """Return a score as a number between 0 and 1: (1 + tanh(score)) / 2.

    It keeps the order of scores, which have no upper bound where words count.

    >>> [round(relevance(score), 2) for score in (-1, 0, 0.5, 1, 2)]
    [0.12, 0.5, 0.73, 0.88, 0.98]
    """
    return (1 + math.tanh(score)) / 2


def _document(stored: Mapping[str, Any]) -> Document:
    text = stored.get("text")
    return Document(
        id=str(stored["id"]),
        page_content="" if text is None else text,
        metadata=from_payload(stored.get("payload", {})),
    )


def _scored(hits: Hits | None) -> list[tuple[Document, float]]:
    return [] if hits is None else [(_document(own), own["score"]) for own in hits.to_dicts()]


def _one_each(name: str, given: Iterable[Any] | None, n: int, default: Any) -> list[Any]:
    own = [default] * n if given is None else list(given)
    if len(own) != n:
        raise invalid(name, f"one per text ({n})", len(own))
    return own


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    if options:
        raise invalid(next(iter(options)), "left out: a Hi2VectorStore has no such option", described(options))

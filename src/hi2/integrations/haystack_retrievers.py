"""How does a Haystack pipeline search an index? By words, by an embedding, or by both."""

from __future__ import annotations

import asyncio
from typing import Any

from hi2.errors import MissingExtra, described, invalid
from hi2.integrations.haystack import Filters, Hi2DocumentStore

try:
    from haystack import component, default_from_dict, default_to_dict
    from haystack.dataclasses import Document
    from haystack.document_stores.types import FilterPolicy, apply_filter_policy
except ImportError as error:
    raise MissingExtra("Haystack is not installed; install it with: pip install 'hi2[haystack]'") from error


class _Retriever:
    """What the retrievers have in common: a store, settings, and how they are serialized."""

    def __init__(
        self,
        document_store: Hi2DocumentStore,
        *,
        filters: Filters = None,
        top_k: int = 10,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
        return_embedding: bool = False,
    ) -> None:
        if not isinstance(document_store, Hi2DocumentStore):
            raise invalid("document_store", "a Hi2DocumentStore", described(document_store))
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.filter_policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy
        self.return_embedding = return_embedding

    def _settings(self) -> dict[str, Any]:
        return {
            "filters": self.filters,
            "top_k": self.top_k,
            "filter_policy": self.filter_policy.value,
            "return_embedding": self.return_embedding,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what makes the same component again."""
        made: dict[str, Any] = default_to_dict(self, document_store=self.document_store.to_dict(), **self._settings())
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Return the component that a dictionary describes."""
        own = data["init_parameters"]
        store = own["document_store"]
        if isinstance(store, dict):
            store = Hi2DocumentStore.from_dict(store)
        return default_from_dict(cls, {**data, "init_parameters": {**own, "document_store": store}})

    def _found(
        self,
        query: str | None,
        query_embedding: list[float] | None,
        filters: Filters,
        top_k: int | None,
        lexical: float | None = None,
    ) -> dict[str, list[Document]]:
        found = self.document_store.retrieve(
            query,
            query_embedding,
            filters=apply_filter_policy(self.filter_policy, self.filters, filters),
            top_k=self.top_k if top_k is None else top_k,
            lexical=lexical,
            return_embedding=self.return_embedding,
        )
        return {"documents": found}


@component
class Hi2EmbeddingRetriever(_Retriever):
    """Finds the documents of a ``Hi2DocumentStore`` whose embeddings are nearest to that of the query."""

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the best documents; a score is the inner product, or the cosine if the store's metric is that."""
        return self._found(None, query_embedding, filters, top_k)

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Search as ``run`` does, in a thread."""
        return await asyncio.to_thread(self._found, None, query_embedding, filters, top_k)


@component
class Hi2WordsRetriever(_Retriever):
    """Finds the documents of a ``Hi2DocumentStore`` by their words alone; they need no embeddings."""

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the documents that have a word of the query, the best first; a score is BM25."""
        return self._found(query, None, filters, top_k)

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Search as ``run`` does, in a thread."""
        return await asyncio.to_thread(self._found, query, None, filters, top_k)


@component
class Hi2HybridRetriever(_Retriever):
    """Finds documents of a ``Hi2DocumentStore`` by meaning and words, ranked together in one search.

    ``lexical`` is the weight of words. Documents without embeddings are found by their words.
    """

    def __init__(
        self,
        document_store: Hi2DocumentStore,
        *,
        filters: Filters = None,
        top_k: int = 10,
        lexical: float | None = None,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
        return_embedding: bool = False,
    ) -> None:
        _Retriever.__init__(  # the class is made again by its decorator: super() would not know it
            self,
            document_store,
            filters=filters,
            top_k=top_k,
            filter_policy=filter_policy,
            return_embedding=return_embedding,
        )
        self.lexical = lexical

    def _settings(self) -> dict[str, Any]:
        return {**_Retriever._settings(self), "lexical": self.lexical}

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        lexical: float | None = None,
    ) -> dict[str, list[Document]]:
        """Return the best documents; a score is the dense score plus weighted BM25."""
        weight = self.lexical if lexical is None else lexical
        return self._found(query, query_embedding, filters, top_k, weight)

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        lexical: float | None = None,
    ) -> dict[str, list[Document]]:
        """Search as ``run`` does, in a thread."""
        weight = self.lexical if lexical is None else lexical
        return await asyncio.to_thread(self._found, query, query_embedding, filters, top_k, weight)

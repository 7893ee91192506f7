"""How does Haystack use an index? As a document store; ``haystack_retrievers`` has the components that search it.

Documents without embeddings are found by their words. The extra ``haystack`` installs what it needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import MissingExtra, described, invalid
from hi2.index import HybridIndex
from hi2.integrations import haystack_fields
from hi2.integrations.haystack_filters import check_filters, hi2_filter
from hi2.integrations.held_index import HeldIndex
from hi2.integrations.metadata import from_payload, stored_by_adapter

try:
    from haystack import default_from_dict, default_to_dict
    from haystack.dataclasses import ByteStream, Document, SparseEmbedding
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
except ImportError as error:
    raise MissingExtra("Haystack is not installed; install it with: pip install 'hi2[haystack]'") from error

Filters = dict[str, Any] | None


class Hi2DocumentStore:
    """A Haystack document store over a ``HybridIndex``, in memory or in a folder.

    ``path`` is the folder of an index, which is made with the first documents. One store at a time may be opened for
    writing (``mode="w"``), and holds the folder until ``close``. Any number may read it (``mode="r"``): they see a
    change within a second. ``embedding_dim`` is that of the first embedding unless it is given. Embeddings are kept as
    float32; beyond 10,000 documents the index keeps them nearly (``HybridIndex.build`` says how).
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        index: HybridIndex | None = None,
        mode: str = "w",
        embedding_dim: int | None = None,
        metric: str = "inner_product",
    ) -> None:
        self._settings: dict[str, Any] = {
            "path": None if path is None else str(path),
            "mode": mode,
            "embedding_dim": embedding_dim,
            "metric": metric,
        }
        self._given = index is not None
        self._held = HeldIndex(index, path, mode=mode, dim=embedding_dim, metric=metric)

    @property
    def index(self) -> HybridIndex | None:
        """The index; None before the first documents."""
        return self._held.index

    def close(self) -> None:
        """Let another store write to the folder. This one can still be searched."""
        self._held.close()

    def to_dict(self) -> dict[str, Any]:
        """Return what makes the same store again; documents in memory are not part of it."""
        if self._given:
            raise invalid("index", "left out of a store that is serialized: give it a path", "an index")
        made: dict[str, Any] = default_to_dict(self, **self._settings)
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Hi2DocumentStore:
        """Return the store that a dictionary describes."""
        store: Hi2DocumentStore = default_from_dict(cls, data)
        return store

    # -- documents ----------------------------------------------------------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return len(self._held)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return how many documents meet the filters."""
        return 0 if self.index is None else self.index.count(filter=self._filter(self.index, filters))

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """Return the documents that meet the filters, with their embeddings, in the order in which they came."""
        if self.index is None:
            if filters:
                check_filters(filters)
            return []
        ids = self.index.ids(filter=self._filter(self.index, filters))
        documents = [_document(own) for own in self.index.get(ids)]
        return self._with_embeddings(self.index, documents)

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """File documents and return how many were written. Without a policy an id that exists is an error."""
        if not isinstance(documents, list) or not all(isinstance(own, Document) for own in documents):
            raise invalid("documents", "a list of Haystack documents", described(documents))
        if policy != DuplicatePolicy.OVERWRITE:
            documents = self._new_ones(documents, skip=policy == DuplicatePolicy.SKIP)
        self._held.upsert(
            [own.embedding for own in documents],
            [own.content or "" for own in documents],
            ids=[own.id for own in documents],
            metadata=[own.meta for own in documents],
            stored=[_stored(own) for own in documents],
        )
        return len(documents)

    def _new_ones(self, documents: list[Document], *, skip: bool) -> list[Document]:
        """The documents whose ids do not exist yet, each id once; unless they are to be skipped, others are refused."""
        known = self._held.known([own.id for own in documents])
        new = []
        for own in documents:
            if own.id not in known:
                new.append(own)
                known.add(own.id)
            elif not skip:
                raise DuplicateDocumentError(f"A document with the id {described(own.id)} exists already.")
        return new

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by id. An id that does not exist is skipped."""
        self._held.delete(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Delete all documents; an index that is recreated forgets the types of their metadata too."""
        self._held.clear(anew=recreate_index)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that meet the filters, and return how many."""
        return 0 if self.index is None else self._held.delete(filter=self._filter(self.index, filters))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Set keys of the metadata of the documents that meet the filters, and return how many there are."""
        return 0 if self.index is None else self._held.update(self._filter(self.index, filters), meta)

    # -- what the retrievers call -------------------------------------------------------------------------------------

    def retrieve(
        self,
        query: str | None,
        query_embedding: list[float] | None,
        *,
        filters: Filters = None,
        top_k: int = 10,
        lexical: float | None = None,
        return_embedding: bool = False,
    ) -> list[Document]:
        """Return the best documents with their scores: by words, by an embedding, or by both."""
        if self.index is None:
            return []
        filter = self._filter(self.index, filters)
        hits = self.index.search(query_embedding, query, k=top_k, filter=filter, lexical=lexical)
        found = [replace(_document(own), score=own["score"]) for own in hits.to_dicts()]
        return self._with_embeddings(self.index, found) if return_embedding else found

    def _filter(self, index: HybridIndex, filters: Filters) -> Any:
        return hi2_filter(index, filters, _document)

    def _with_embeddings(self, index: HybridIndex, documents: list[Document]) -> list[Document]:
        if not documents:
            return documents
        vectors = index.vectors([own.id for own in documents])
        return [
            own if np.isnan(vector[0]) else replace(own, embedding=vector.tolist())
            for own, vector in zip(documents, vectors, strict=True)
        ]

    # -- metadata: these read every document --------------------------------------------------------------------------

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of every field of the metadata."""
        return haystack_fields.fields_info(self._metadata(None))

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the smallest and the largest value of a field."""
        return haystack_fields.min_max(self._metadata(None), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int | None = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the distinct values of a field, and how many there are."""
        return haystack_fields.unique_values(self._metadata(filters), metadata_field, search_term, from_, size)

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Return how many distinct values fields have in the documents that meet the filters."""
        return haystack_fields.count_unique(self._metadata(filters), metadata_fields)

    def _metadata(self, filters: Filters) -> list[Mapping[str, Any]]:
        if self.index is None:
            return []
        batches = self.index.iterate(filter=self._filter(self.index, filters))
        return [from_payload(own.get("payload", {})) for batch in batches for own in batch]

    # -- for asyncio: each call runs in a thread, so that the loop goes on --------------------------------------------

    async def count_documents_async(self) -> int:
        """Count as ``count_documents`` does."""
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Count as ``count_documents_by_filter`` does."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(self, filters: Filters = None) -> list[Document]:
        """Filter as ``filter_documents`` does."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write as ``write_documents`` does."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Delete as ``delete_documents`` does."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self, recreate_index: bool = False) -> None:
        """Delete as ``delete_all_documents`` does."""
        await asyncio.to_thread(self.delete_all_documents, recreate_index)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Delete as ``delete_by_filter`` does."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Update as ``update_by_filter`` does."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Describe as ``get_metadata_fields_info`` does."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Describe as ``get_metadata_field_min_max`` does."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int | None = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """Describe as ``get_metadata_field_unique_values`` does."""
        own = (metadata_field, search_term, from_, size, filters)
        return await asyncio.to_thread(self.get_metadata_field_unique_values, *own)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Count as ``count_unique_metadata_by_filter`` does."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)


def _stored(document: Document) -> dict[str, Any]:
    """What is remembered of a document beside its content, metadata and embedding."""
    stored: dict[str, Any] = {}
    if document.content is None:
        stored["no_content"] = True
    if document.blob is not None:
        stored["blob"] = [document.blob.to_dict()]
    if document.sparse_embedding is not None:
        stored["sparse_embedding"] = [document.sparse_embedding.to_dict()]
    return stored


def _document(stored: Mapping[str, Any]) -> Document:
    """A document without its embedding from what the index stores of it."""
    payload = stored.get("payload", {})
    more = stored_by_adapter(payload)
    blob, sparse = more.get("blob"), more.get("sparse_embedding")
    return Document(
        id=str(stored["id"]),
        content=None if more.get("no_content") else stored.get("text"),
        meta=from_payload(payload),
        blob=ByteStream.from_dict(blob[0]) if blob else None,
        sparse_embedding=SparseEmbedding.from_dict(sparse[0]) if sparse else None,
    )

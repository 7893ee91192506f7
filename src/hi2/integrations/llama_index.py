"""How does LlamaIndex use an index? As a vector store that keeps the text of its nodes.

Nodes are found by vectors, by words or by both. The extra ``llama-index`` installs what it needs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import MissingExtra, described, invalid
from hi2.index import HybridIndex
from hi2.integrations.conditions import both, selected
from hi2.integrations.held_index import HeldIndex
from hi2.integrations.llama_index_filters import hi2_filter
from hi2.integrations.metadata import STORE, from_payload, stored_by_adapter
from hi2.types import Hits

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise MissingExtra("LlamaIndex is not installed; install it with: pip install 'hi2[llama-index]'") from error

#: The weight of words in the middle between words (alpha 0) and vectors (alpha 1): the default of ``search``.
_MIDDLE = 0.3
#: MMR chooses among so many times as many nodes as are wanted.
_MMR_PREFETCH = 4
_HYBRID = (VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID)
_WORDS = (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE)
_MODES = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR, *_HYBRID, *_WORDS)


class Hi2VectorStore(BasePydanticVectorStore):
    """A LlamaIndex vector store over a ``HybridIndex``, in memory or in a folder.

    ``path`` is the folder of an index, which is made with the first nodes. One store at a time may be opened for
    writing (``mode="w"``), and holds the folder until ``close``. Any number may read it (``mode="r"``): they see a
    change within a second. Nodes without embeddings are found by their words.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    _held: HeldIndex = PrivateAttr()

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        index: HybridIndex | None = None,
        mode: str = "w",
        dim: int | None = None,
        metric: str = "cosine",
    ) -> None:
        super().__init__()
        self._held = HeldIndex(index, path, mode=mode, dim=dim, metric=metric)

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex knows the class."""
        return "Hi2VectorStore"

    @property
    def client(self) -> HybridIndex | None:
        """The index; None before the first nodes."""
        return self._held.index

    def close(self) -> None:
        """Let another store write to the folder. This one can still be searched."""
        self._held.close()

    # -- nodes --------------------------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """File nodes and return their ids. A node whose id exists is replaced."""
        contents = [_content(node) for node in nodes]
        ids = [str(node.node_id) for node in nodes]
        self._held.upsert(
            [node.embedding for node in nodes],
            [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes],
            ids=ids,
            metadata=[metadata for metadata, _ in contents],
            stored=[stored for _, stored in contents],
        )
        return ids

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return nodes by id, in the order of the ids, or all that meet the filters; without either, all."""
        index = self.client
        if index is None:
            return []
        passing = index.ids(filter=hi2_filter(index, filters))
        if node_ids is not None:
            known = set(passing)
            passing = [id for id in node_ids if id in known]
        return [_node(own) for own in index.get(passing)]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        if self.client is not None:
            self._held.delete(filter=_of_documents(self.client, [ref_doc_id]))

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete nodes by id, those that meet the filters, or those that do both. Without either none is deleted."""
        index = self.client
        if index is not None and (node_ids is not None or filters is not None):
            self._held.delete(filter=both(index, hi2_filter(index, filters), node_ids))

    def clear(self) -> None:
        """Delete all nodes."""
        self._held.clear()

    # -- searching ----------------------------------------------------------------------------------------------------

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes that a query finds, with the scores of the index.

        The modes are DEFAULT (vectors), HYBRID (vectors and words), TEXT_SEARCH (words) and MMR.
        """
        if query.mode not in _MODES:
            known = ", ".join(mode.value for mode in _MODES)
            raise invalid("mode", f"one that the store knows ({known})", described(query.mode))
        index = self.client
        if index is None:
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        if query.mode == VectorStoreQueryMode.MMR:
            return _diverse(index, query, kwargs)
        return _result(_searched(index, query, _wanted(query)))

    # -- for asyncio: each call runs in a thread, so that the loop goes on --------------------------------------------

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """File nodes as ``add`` does."""
        return await asyncio.to_thread(partial(self.add, nodes, **kwargs))

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes as ``get_nodes`` does."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete nodes as ``delete`` does."""
        await asyncio.to_thread(partial(self.delete, ref_doc_id, **delete_kwargs))

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete nodes as ``delete_nodes`` does."""
        await asyncio.to_thread(partial(self.delete_nodes, node_ids, filters, **delete_kwargs))

    async def aclear(self) -> None:
        """Delete all nodes."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Search as ``query`` does."""
        return await asyncio.to_thread(partial(self.query, query, **kwargs))


def lexical_of(alpha: float | None) -> float | None:
    """Return the weight of words for LlamaIndex's ``alpha``: 0.3 · (1 − α) / α, so 0.3 for 0.5 and 0 for 1.

    None stays the default of the index. For 0, words alone rank; there is no weight.

    >>> lexical_of(0.5), lexical_of(1.0), lexical_of(None)
    (0.3, 0.0, None)
    """
    if alpha is None:
        return None
    if not 0 < alpha <= 1:
        raise invalid("alpha", "a number from 0 (words) to 1 (vectors)", described(alpha))
    return _MIDDLE * (1 - alpha) / alpha


def _wanted(query: VectorStoreQuery) -> int:
    """How many nodes are wanted."""
    hybrid = query.hybrid_top_k if query.mode in _HYBRID else None
    return int(query.similarity_top_k if hybrid is None else hybrid)


def _searched(index: HybridIndex, query: VectorStoreQuery, k: int) -> Hits:
    # LlamaIndex gives an empty list where it means no restriction
    filter = both(index, hi2_filter(index, query.filters), query.node_ids or None)
    if query.doc_ids:
        own = _of_documents(index, query.doc_ids)
        filter = own if filter is None else both(index, own, index.ids(filter=filter))
    words_alone = query.mode in _WORDS or (query.mode in _HYBRID and query.alpha == 0)
    if query.query_embedding is None and not words_alone:
        raise invalid("query_embedding", f"given for the mode '{query.mode.value}'", None)
    if query.query_str is None and (words_alone or query.mode in _HYBRID):
        raise invalid("query_str", f"given for the mode '{query.mode.value}'", None)
    if words_alone:
        return index.search(None, query.query_str, k=k, filter=filter)
    if query.mode in _HYBRID:
        lexical = lexical_of(query.alpha)
        return index.search(query.query_embedding, query.query_str, k=k, filter=filter, lexical=lexical)
    return index.search(query.query_embedding, k=k, filter=filter)


def _diverse(index: HybridIndex, query: VectorStoreQuery, options: Mapping[str, Any]) -> VectorStoreQueryResult:
    """Nodes near the query and unlike each other; ``mmr_threshold`` 1 looks at the query alone."""
    k = _wanted(query)
    prefetch = options.get("mmr_prefetch_k", round(k * options.get("mmr_prefetch_factor", _MMR_PREFETCH)))
    hits = _searched(index, query, max(k, prefetch))
    ids = hits.ids.tolist()
    vectors = np.nan_to_num(index.vectors(ids)).tolist() if ids else []
    threshold = options.get("mmr_threshold", query.mmr_threshold)
    similarities, chosen = get_top_k_mmr_embeddings(
        query.query_embedding, vectors, similarity_top_k=k, embedding_ids=ids, mmr_threshold=threshold
    )
    nodes = {own["id"]: own for own in hits.to_dicts()}
    return VectorStoreQueryResult(nodes=[_node(nodes[id]) for id in chosen], similarities=similarities, ids=chosen)


def _result(hits: Hits) -> VectorStoreQueryResult:
    found = hits.to_dicts()
    return VectorStoreQueryResult(
        nodes=[_node(own) for own in found],
        similarities=[own["score"] for own in found],
        ids=[str(own["id"]) for own in found],
    )


def _of_documents(index: HybridIndex, ref_doc_ids: Sequence[str]) -> Any:
    """The filter of the nodes of some documents."""
    path = (STORE, "ref_doc_id")
    wanted = set(ref_doc_ids)
    return selected(
        index,
        lambda conditions: conditions.one_of(path, ref_doc_ids),
        lambda stored: stored_by_adapter(stored.get("payload", {})).get("ref_doc_id") in wanted,
    )


def _content(node: BaseNode) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata of a node, and what else is to be remembered of it."""
    made = node_to_metadata_dict(node, remove_text=True)
    content = json.loads(made["_node_content"])
    metadata: dict[str, Any] = node.model_dump(mode="json").get("metadata", {})
    content.pop("metadata", None)
    stored = {"ref_doc_id": node.ref_doc_id, "type": made["_node_type"], "node": [content]}
    return metadata, stored


def _node(stored: Mapping[str, Any]) -> BaseNode:
    """A node from what the index stores of it; a document that LlamaIndex did not file becomes a text node."""
    payload = stored.get("payload", {})
    own = stored_by_adapter(payload)
    content = {**own.get("node", [{"id_": str(stored["id"])}])[0], "metadata": from_payload(payload)}
    made = {"_node_content": json.dumps(content), "_node_type": own.get("type", "TextNode")}
    return metadata_dict_to_node(made, text=stored.get("text"))

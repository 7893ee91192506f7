"""A LlamaIndex vector store over an index: nodes, modes, and LlamaIndex's own retrievers on top."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llama-index'")

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import ImageNode, IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import hi2
from hi2.integrations.llama_index import Hi2VectorStore, lexical_of

TEXTS = {
    "form": "Form EY-3209 for travel costs",
    "flight": "How to book a flight",
    "taxi": "Costs of a taxi to the airport",
    "holidays": "Public holidays",
}
MODE = VectorStoreQueryMode


class StaticEmbedding(BaseEmbedding):
    """The built-in encoder as LlamaIndex spells it."""

    def _get_text_embedding(self, text):
        return hi2.StaticEncoder()([text])[0].tolist()

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def embedded(text):
    return StaticEmbedding().get_text_embedding(text)


def nodes():
    made = []
    for place, (id, text) in enumerate(TEXTS.items()):
        parent = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"document-{place % 2}")}
        made.append(
            TextNode(id_=id, text=text, embedding=embedded(text), metadata={"place": place}, relationships=parent)
        )
    return made


@pytest.fixture
def store():
    made = Hi2VectorStore()
    assert made.add(nodes()) == list(TEXTS)
    return made


def asked(store, text, mode=MODE.DEFAULT, k=4, **options):
    given = {"query_embedding": embedded(text), "query_str": text, "similarity_top_k": k, "mode": mode}
    return store.query(VectorStoreQuery(**{**given, **options})).ids


def place(operator, value):
    return MetadataFilters(filters=[MetadataFilter(key="place", operator=operator, value=value)])


def test_each_mode_ranks_in_its_own_way(store):
    assert isinstance(store, BasePydanticVectorStore)
    assert store.stores_text
    assert asked(store, "vacation days", k=1) == ["holidays"]
    assert set(asked(store, "costs", MODE.TEXT_SEARCH)) == set(asked(store, "costs", MODE.SPARSE)) == {"form", "taxi"}
    assert asked(store, "what is EY-3209?", MODE.HYBRID, k=1) == ["form"]
    assert set(asked(store, "vacation costs", MODE.HYBRID, alpha=0)) == {"form", "taxi"}
    assert asked(store, "vacation", MODE.HYBRID, alpha=1) == asked(store, "vacation")
    assert len(asked(store, "costs", MODE.HYBRID, hybrid_top_k=2)) == 2
    assert len(set(asked(store, "costs", MODE.MMR, k=3))) == 3


def test_scores_are_those_of_the_index(store):
    given = VectorStoreQuery(embedded("taxi"), 2, query_str="taxi", mode=MODE.HYBRID, alpha=0.4)
    hits = store.client.search(embedded("taxi"), "taxi", k=2, lexical=lexical_of(0.4))
    found = store.query(given)
    assert (found.ids, found.similarities) == (hits.ids.tolist(), hits.scores.tolist())
    assert [own.text for own in found.nodes] == [TEXTS[id] for id in found.ids]


def test_alpha_is_the_weight_of_words():
    assert [lexical_of(own) for own in (None, 1, 0.5)] == [None, 0, 0.3]
    assert lexical_of(0.1) == pytest.approx(2.7)
    for wrong in (-1, 1.5):
        with pytest.raises(hi2.InvalidParameter, match="'alpha' parameter must be a number from 0"):
            lexical_of(wrong)


def test_mmr_looks_at_the_query_alone_or_avoids_what_is_alike(store):
    twin = TextNode(
        id_="twin", text="Costs of a taxi to an airport", embedding=embedded("Costs of a taxi to an airport")
    )
    store.add([twin])
    assert set(asked(store, "taxi costs", MODE.MMR, k=2, mmr_threshold=1.0)) == {"taxi", "twin"}
    assert len({"taxi", "twin"} & set(asked(store, "taxi costs", MODE.MMR, k=2, mmr_threshold=0.1))) == 1
    assert Hi2VectorStore().query(VectorStoreQuery([1.0], mode=MODE.MMR)).ids == []


def test_filters_ids_and_documents_narrow_a_query(store):
    assert set(asked(store, "costs", filters=place(">", 1))) == {"taxi", "holidays"}
    assert set(asked(store, "costs", node_ids=["form", "taxi", "none"])) == {"form", "taxi"}
    assert set(asked(store, "costs", doc_ids=["document-1"])) == {"flight", "holidays"}
    assert asked(store, "costs", doc_ids=["document-1"], filters=place(">", 1), node_ids=list(TEXTS)) == ["holidays"]
    assert asked(store, "costs", doc_ids=["none"]) == asked(store, "costs", node_ids=["none"]) == []
    assert len(asked(store, "costs", doc_ids=[], node_ids=[])) == 4


def test_nodes_come_back_whole(store):
    image = ImageNode(id_="image", text="A picture", image="aGk=", metadata={"place": "wall", "deep": {"a": [{}]}})
    pointer = IndexNode(id_="pointer", text="See there", index_id="other", embedding=embedded("See there"))
    store.add([image, pointer])
    back = store.get_nodes(["pointer", "image", "none", "form"])
    assert [type(own) for own in back] == [IndexNode, ImageNode, TextNode]
    assert back[0].index_id == "other"
    assert back[1].image == "aGk="
    assert back[1].metadata == image.metadata
    assert back[2] == nodes()[0].model_copy(update={"embedding": None})
    assert back[2].ref_doc_id == "document-0"
    assert len(store.get_nodes()) == 6
    assert Hi2VectorStore().get_nodes() == []


def test_nodes_are_replaced_and_deleted(store):
    store.add([TextNode(id_="form", text="Another form", embedding=embedded("Another form"))])
    assert store.get_nodes(["form"])[0].text == "Another form"
    store.delete("document-1")
    assert {own.node_id for own in store.get_nodes()} == {"form", "taxi"}
    store.delete_nodes(["form", "taxi"], place("==", 2))
    store.delete_nodes()
    assert [own.node_id for own in store.get_nodes()] == ["form"]
    store.delete_nodes(filters=MetadataFilters(filters=[]))
    assert store.get_nodes() == []
    store.add(nodes())
    store.clear()
    assert len(store.client) == 0
    assert store.client is not None
    empty = Hi2VectorStore()
    empty.delete("a")
    empty.delete_nodes(["a"])
    empty.clear()
    assert empty.client is None


def test_async_calls_give_the_same(store):
    async def all_of_them():
        given = VectorStoreQuery(embedded("taxi"), 2)
        assert (await store.aquery(given)).ids == store.query(given).ids
        assert await store.aget_nodes(["form"]) == store.get_nodes(["form"])
        assert await store.async_add(nodes()[:1]) == ["form"]
        await store.adelete("document-0")
        await store.adelete_nodes(["flight"])
        assert [own.node_id for own in await store.aget_nodes()] == ["holidays"]
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(all_of_them())


def test_an_index_of_llama_index_stands_on_the_store(tmp_path):
    store = Hi2VectorStore(tmp_path / "a")
    documents = [Document(text=text, doc_id=id, metadata={"place": i}) for i, (id, text) in enumerate(TEXTS.items())]
    index = VectorStoreIndex.from_documents(
        documents, StorageContext.from_defaults(vector_store=store), embed_model=StaticEmbedding()
    )
    retriever = index.as_retriever(similarity_top_k=1, vector_store_query_mode="hybrid", filters=place("<", 3))
    (found,) = retriever.retrieve("what is EY-3209?")
    assert found.node.ref_doc_id == "form"
    assert found.score > 0
    index.delete_ref_doc("form")
    store.close()
    again = VectorStoreIndex.from_vector_store(Hi2VectorStore(tmp_path / "a", mode="r"), embed_model=StaticEmbedding())
    assert {own.node.ref_doc_id for own in again.as_retriever(similarity_top_k=9).retrieve("costs")} == {
        "flight",
        "taxi",
        "holidays",
    }


def test_an_index_that_hi2_built_is_a_store():
    index = hi2.HybridIndex.build(
        texts=list(TEXTS.values()), payload=[{"n": i} for i in range(4)], encoder=hi2.StaticEncoder()
    )
    (node,) = Hi2VectorStore(index=index).query(VectorStoreQuery(query_str="taxi", mode=MODE.TEXT_SEARCH)).nodes
    assert (node.node_id, node.text, node.metadata) == ("2", TEXTS["taxi"], {"n": 2})


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (VectorStoreQuery([1.0], mode=MODE.SVM), "'mode' parameter must be one that the store knows"),
        (VectorStoreQuery(), "'query_embedding' parameter must be given for the mode 'default'"),
        (VectorStoreQuery([1.0], mode=MODE.HYBRID), "'query_str' parameter must be given for the mode 'hybrid'"),
        (VectorStoreQuery(query_str="a", mode=MODE.MMR), "'query_embedding' parameter must be given"),
        (VectorStoreQuery([1.0]), "dim"),
        (VectorStoreQuery(query_str="a", similarity_top_k=0, mode=MODE.TEXT_SEARCH), "'k' parameter"),
    ],
)
def test_bad_queries_are_refused_in_a_sentence(store, query, said):
    with pytest.raises(hi2.InvalidParameter, match=said):
        store.query(query)

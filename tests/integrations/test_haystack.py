"""A Haystack document store over an index passes Haystack's own tests."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("haystack", reason="needs the extra 'haystack'")

from dataclasses import replace

from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store as standard
from haystack.testing import document_store_async as standard_async

import hi2
from hi2.integrations.haystack import Hi2DocumentStore


def in_float32(documents: list[Document]) -> list[Document]:
    """The same documents with embeddings as an index keeps them."""
    return [
        own if own.embedding is None else replace(own, embedding=np.float32(own.embedding).tolist())
        for own in documents
    ]


class StoreFixture:
    """An empty store, in memory and in a folder."""

    @pytest.fixture(params=["memory", "folder"])
    def document_store(self, request, tmp_path):
        store = Hi2DocumentStore(None if request.param == "memory" else tmp_path / "a")
        yield store
        store.close()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]):
        """Compare embeddings as float32: an index keeps no more digits."""
        assert received == in_float32(expected)


class TestStandard(
    StoreFixture,
    standard.DocumentStoreBaseExtendedTests,
    standard.CountDocumentsByFilterTest,
    standard.CountUniqueMetadataByFilterTest,
    standard.GetMetadataFieldsInfoTest,
    standard.GetMetadataFieldMinMaxTest,
    standard.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store):
        """Haystack leaves the default policy to the store: an id that exists is an error."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        self.assert_documents_are_equal(document_store.filter_documents(), [document])


class TestStandardAsync(
    StoreFixture,
    standard_async.CountDocumentsAsyncTest,
    standard_async.CountDocumentsByFilterAsyncTest,
    standard_async.CountUniqueMetadataByFilterAsyncTest,
    standard_async.DeleteAllAsyncTest,
    standard_async.DeleteByFilterAsyncTest,
    standard_async.DeleteDocumentsAsyncTest,
    standard_async.FilterDocumentsAsyncTest,
    standard_async.GetMetadataFieldsInfoAsyncTest,
    standard_async.GetMetadataFieldMinMaxAsyncTest,
    standard_async.GetMetadataFieldUniqueValuesAsyncTest,
    standard_async.UpdateByFilterAsyncTest,
    standard_async.WriteDocumentsAsyncTest,
):
    @pytest.mark.asyncio
    async def test_write_documents_async(self, document_store):
        """Haystack leaves the default policy to the store: an id that exists is an error."""
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


# -- what Haystack's tests do not ask ---------------------------------------------------------------------------------

DOCUMENTS = [
    Document(id="form", content="Form EY-3209 for travel costs", embedding=[1.0, 0.0], meta={"year": 2020}),
    Document(id="flight", content="How to book a flight", embedding=[0.0, 1.0], meta={"year": 2021}),
    Document(id="taxi", content="Costs of a taxi", meta={"year": "unknown"}),
]


@pytest.fixture
def store():
    made = Hi2DocumentStore()
    made.write_documents(DOCUMENTS)
    return made


def test_a_document_comes_back_whole(store):
    whole = Document(
        id="x",
        content=None,
        blob=ByteStream(b"\x00\xff", meta={"a": 1}, mime_type="image/png"),
        meta={"a": {"b": [1, "x"]}, "year": [2020]},
        embedding=[0.5, 0.25],
        sparse_embedding=SparseEmbedding([1, 7], [0.5, 0.25]),
    )
    empty = Document(id="y", content="")
    store.write_documents([whole, empty])
    assert store.filter_documents() == [*DOCUMENTS, whole, empty]


def test_documents_with_and_without_embeddings_are_found_together(store):
    assert {own.id for own in store.retrieve("costs", None)} == {"taxi", "form"}
    assert [own.id for own in store.retrieve(None, [0.0, 1.0])] == ["flight", "form"]
    both = store.retrieve("EY-3209", [0.0, 1.0], top_k=3, return_embedding=True)
    assert {own.id: own.embedding for own in both} == {"form": [1.0, 0.0], "flight": [0.0, 1.0]}
    assert all(own.score is not None for own in both)
    assert store.retrieve("EY-3209", [0.0, 1.0], top_k=1, lexical=0)[0].id == "flight"
    assert Hi2DocumentStore().retrieve("a", None) == []


def test_the_policy_counts_for_ids_within_one_call():
    twice = [Document(id="1", content="a"), Document(id="1", content="b")]
    for policy, written, content in ((DuplicatePolicy.SKIP, 1, "a"), (DuplicatePolicy.OVERWRITE, 2, "b")):
        made = Hi2DocumentStore()
        assert made.write_documents(twice, policy) == written
        assert [own.content for own in made.filter_documents()] == [content]
    with pytest.raises(DuplicateDocumentError, match="'1' exists already"):
        Hi2DocumentStore().write_documents(twice, DuplicatePolicy.FAIL)
    assert Hi2DocumentStore().write_documents([]) == 0


def test_an_update_may_change_the_type_of_a_value(store):
    assert store.update_by_filter({"field": "meta.year", "operator": "==", "value": 2020}, {"year": "old"}) == 1
    assert store.filter_documents({"field": "meta.year", "operator": "==", "value": "old"})[0].id == "form"
    assert store.delete_by_filter({"field": "meta.year", "operator": "!=", "value": 1}) == 3


def test_a_folder_keeps_the_store(tmp_path):
    first = Hi2DocumentStore(tmp_path / "a", metric="cosine")
    first.write_documents(DOCUMENTS)
    reader = Hi2DocumentStore(tmp_path / "a", mode="r")
    assert reader.filter_documents() == DOCUMENTS
    with pytest.raises(hi2.ReadOnly):
        reader.write_documents([Document(content="x")])
    first.close()
    again = Hi2DocumentStore.from_dict(first.to_dict())
    assert again.index.info()["metric"] == "cosine"
    assert again.count_documents() == 3


def test_a_store_is_described_by_a_dictionary(store):
    made = Hi2DocumentStore(embedding_dim=3).to_dict()
    assert made["init_parameters"] == {"path": None, "mode": "w", "embedding_dim": 3, "metric": "inner_product"}
    assert made["type"] == "hi2.integrations.haystack.Hi2DocumentStore"
    with pytest.raises(hi2.InvalidParameter, match="'index' parameter must be left out"):
        Hi2DocumentStore(index=store.index).to_dict()


def test_an_index_that_hi2_built_is_a_store():
    index = hi2.HybridIndex.build(texts=["a red apple", "a fast car"], encoder=hi2.StaticEncoder())
    found = Hi2DocumentStore(index=index).retrieve("car", None)
    assert [(own.id, own.content, own.meta) for own in found] == [("1", "a fast car", {})]


def test_bad_input_is_refused_in_a_sentence(store):
    with pytest.raises(hi2.InvalidParameter, match="'documents' parameter must be a list of Haystack documents"):
        store.write_documents({"a": 1})
    with pytest.raises(hi2.InvalidParameter, match="dim"):
        store.write_documents([Document(content="x", embedding=[1.0, 2.0, 3.0])])
    with pytest.raises(FilterError):
        Hi2DocumentStore().filter_documents({"operator": "AND"})
    assert store.count_documents() == 3

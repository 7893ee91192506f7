"""How do I use hi2 from LlamaIndex? A vector store that also searches by words, with metadata filters."""

from __future__ import annotations

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

import hi2
from hi2.integrations.llama_index import Hi2VectorStore


class StaticEmbedding(BaseEmbedding):
    """The encoder that comes with hi2, as LlamaIndex spells it; any other embedding takes its place."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(x) for x in hi2.StaticEncoder()([text])[0]]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


DOCUMENTS = [
    Document(text="Form EY-3209 is for travel costs.", doc_id="form", metadata={"year": 2023}),
    Document(text="Flights are booked by the office.", doc_id="flight", metadata={"year": 2024}),
    Document(text="A taxi to the airport is paid back.", doc_id="taxi", metadata={"year": 2024}),
    Document(text="You have thirty days of holiday.", doc_id="leave", metadata={"year": 2022}),
]


def main() -> None:
    """File documents, and retrieve them by meaning, by words, by both and with a filter."""
    store = Hi2VectorStore()  # Hi2VectorStore("handbook.hi2") keeps it in a folder
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents(DOCUMENTS, context, embed_model=StaticEmbedding())
    recent = MetadataFilters(filters=[MetadataFilter(key="year", value=2024, operator=FilterOperator.GTE)])
    for query, options in (
        ("vacation", {}),
        ("EY-3209", {"vector_store_query_mode": "text_search"}),
        ("What is EY-3209 for?", {"vector_store_query_mode": "hybrid", "alpha": 0.4}),
        ("travel costs", {"vector_store_query_mode": "hybrid", "filters": recent}),
    ):
        found = index.as_retriever(similarity_top_k=1, **options).retrieve(query)[0]
        print(f"{query:22} {found.node.ref_doc_id:7} {found.score:.2f}  {found.node.get_content()}")
    index.delete_ref_doc("form")
    print(len(store.get_nodes()), "nodes are left")


if __name__ == "__main__":
    main()

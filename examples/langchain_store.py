"""How do I use hi2 from LangChain? A store in a folder, found by meaning and words, with filters and a retriever."""

from __future__ import annotations

import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

import hi2
from hi2.integrations.langchain import Hi2VectorStore

DOCUMENTS = [
    Document(id="form", page_content="Form EY-3209 is for travel costs.", metadata={"year": 2023, "team": "finance"}),
    Document(id="flight", page_content="Flights are booked by the office.", metadata={"year": 2024, "team": "office"}),
    Document(id="taxi", page_content="A taxi to the airport is paid back.", metadata={"year": 2024, "team": "finance"}),
    Document(id="leave", page_content="You have thirty days of holiday.", metadata={"year": 2022, "team": "people"}),
]


def shown(documents: list[Document]) -> str:
    """Return documents as lines, as a prompt would have them."""
    return "\n".join(f"[{document.id}] {document.page_content}" for document in documents)


def main() -> None:
    """File documents, search them, and use the store in a chain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "handbook.hi2"
        # Give any LangChain embedding instead of the encoder: Hi2VectorStore(OpenAIEmbeddings(), path=path).
        store = Hi2VectorStore(path=path, encoder=hi2.StaticEncoder())
        store.add_documents(DOCUMENTS)

        print("By words:   ", store.similarity_search("What is EY-3209?", k=1)[0].id)
        print("By meaning: ", store.similarity_search("vacation", k=1)[0].id)
        newest = store.similarity_search("travel", k=2, filter="year >= 2024 and team == 'finance'")
        print("Filtered:   ", [document.id for document in newest])
        for document, relevance in store.similarity_search_with_relevance_scores("travel costs", k=2):
            print(f"Relevance:   {document.id} {relevance:.2f}")

        retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "fetch_k": 4})
        chain = retriever | RunnableLambda(shown)  # a prompt and a model would follow
        print(chain.invoke("Who pays my way to the airport?"))
        store.close()

        again = Hi2VectorStore(path=path, mode="r")  # another process may read the store at any time
        print("Stored:     ", len(again.get_by_ids([str(document.id) for document in DOCUMENTS])), "documents")


if __name__ == "__main__":
    main()

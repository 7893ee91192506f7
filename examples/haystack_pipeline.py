"""How do I use hi2 from Haystack? A document store and a pipeline that searches it by meaning and words."""

from __future__ import annotations

from haystack import Document, Pipeline, component

import hi2
from hi2.integrations.haystack import Hi2DocumentStore
from hi2.integrations.haystack_retrievers import Hi2HybridRetriever, Hi2WordsRetriever


@component
class StaticTextEmbedder:
    """Embeds a query with the encoder that comes with hi2; any other embedder of Haystack takes its place."""

    def __init__(self) -> None:
        self._encoder = hi2.StaticEncoder()

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Return the embedding of a text."""
        return {"embedding": self._encoder([text])[0].tolist()}


def filled_store() -> Hi2DocumentStore:
    """Return a store of documents, one of which has no embedding."""
    texts = {
        "form": "Form EY-3209 is for travel costs.",
        "flight": "Flights are booked by the office.",
        "leave": "You have thirty days of holiday.",
    }
    embeddings = hi2.StaticEncoder()(list(texts.values())).tolist()
    documents = [
        Document(id=id, content=text, embedding=embedding, meta={"length": len(text)})
        for (id, text), embedding in zip(texts.items(), embeddings, strict=True)
    ]
    documents.append(Document(id="note", content="KX-4411 is the number of the taxi company."))
    store = Hi2DocumentStore()
    store.write_documents(documents)
    return store


def main() -> None:
    """Search by a pipeline, by words alone, and with a filter."""
    store = filled_store()
    pipeline = Pipeline()
    pipeline.add_component("embedder", StaticTextEmbedder())
    pipeline.add_component("retriever", Hi2HybridRetriever(store, top_k=2))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    for query in ("vacation", "What is EY-3209?", "Where do I find KX-4411?"):
        found = pipeline.run({"embedder": {"text": query}, "retriever": {"query": query}})["retriever"]["documents"]
        print(f"{query:26} {found[0].id:7} {found[0].score:.2f}  {found[0].content}")

    words = Hi2WordsRetriever(store).run("taxi company")["documents"]
    print(f"{'by words alone':26} {words[0].id}")
    short = store.filter_documents({"field": "meta.length", "operator": "<", "value": 33})
    print(f"{'short ones':26} {', '.join(document.id for document in short)}")


if __name__ == "__main__":
    main()

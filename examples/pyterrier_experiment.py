"""How do I evaluate hi2 with PyTerrier? Pipelines and an experiment; no Java is started."""

from __future__ import annotations

import pandas as pd
import pyterrier as pt

import hi2
from hi2.integrations.pyterrier import Hi2Retriever

DOCUMENTS = {
    "form": "Form EY-3209 is for travel costs.",
    "flight": "Flights are booked by the office.",
    "taxi": "A taxi to the airport is paid back.",
    "leave": "You have thirty days of holiday.",
    "ship": "The ship to the island leaves at noon.",
}
QUERIES = [("1", "what is EY-3209"), ("2", "days of vacation"), ("3", "boat"), ("4", "who pays my cab")]
JUDGEMENTS = [("1", "form", 1), ("2", "leave", 1), ("3", "ship", 1), ("4", "taxi", 1)]


def main() -> None:
    """Compare meaning, words and both; then rerank."""
    topics = pd.DataFrame(QUERIES, columns=["qid", "query"])
    qrels = pd.DataFrame(JUDGEMENTS, columns=["qid", "docno", "label"])
    texts = list(DOCUMENTS.values())
    index = hi2.HybridIndex.build(texts=texts, ids=list(DOCUMENTS), encoder=hi2.StaticEncoder(), progress=False)
    words_alone = hi2.HybridIndex.create(dim=1)  # documents without vectors: words alone rank
    words_alone.add(texts=texts, ids=list(DOCUMENTS))

    hybrid = Hi2Retriever(index, num_results=10, text=True)
    dense = Hi2Retriever(index, num_results=10, settings={"lexical": 0})
    words = Hi2Retriever(words_alone, num_results=10)
    shortest = hybrid % 2 >> pt.apply.doc_score(lambda row: -len(row["text"]))
    table = pt.Experiment(
        [hybrid, dense, words, shortest],
        topics,
        qrels,
        ["recip_rank", "recall_1"],
        names=["meaning and words", "meaning", "words", "the shorter of two"],
    )
    print(table.to_string(index=False))
    print("Java started:", pt.java.started())


if __name__ == "__main__":
    main()

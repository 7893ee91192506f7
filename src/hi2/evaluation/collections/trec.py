"""TREC: any corpus file with ``topics.SPLIT.txt`` and ``qrels.SPLIT.txt`` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hi2.data.files import Document, read_documents, read_lines
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections.collection import GradedFolder, plain_name

CORPORA = ("corpus.jsonl", "corpus.tsv", "corpus.parquet")


class Trec(GradedFolder):
    """``corpus.jsonl``, ``.tsv`` or ``.parquet``; topics with ``<top>`` elements, or a number, a tab and the title."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        corpora = [path for path in sorted(folder.glob("corpus.*")) if plain_name(path) in CORPORA]
        if not corpora or not self.named("topics", ".txt"):
            missing = "corpus.jsonl, .tsv or .parquet" if not corpora else "topics.SPLIT.txt"
            raise invalid("path", f"a folder with {missing}", f"'{folder}'")
        self.corpus = corpora[0]

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder looks like one."""
        return any(folder.glob("topics.*.txt*"))

    def documents(self) -> Iterator[Document]:
        """Yield every document."""
        return read_documents(self.corpus)

    def queries(self) -> dict[str, str]:
        """Return the titles of every topics file, files in order of their names."""
        return {id: text for path in self.named("topics", ".txt").values() for id, text in read_topics(path)}

    def grades(self) -> dict[str, Path]:
        """Return the qrels files."""
        return self.named("qrels", ".txt")

    def files(self) -> Sequence[Path]:
        """Corpus, topics and judgements."""
        return [self.corpus, *self.named("topics", ".txt").values(), *self.grades().values()]


def read_topics(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the number and the title of every topic."""
    lines = list(read_lines(path))
    if not any("<top>" in line for _, line in lines):
        for number, line in lines:
            id, tab, text = line.partition("\t")
            if line.strip() and not (tab and id and text.strip()):
                raise InvalidParameter(f"{path}, line {number}: expected a number, a tab and a title.")
            if line.strip():
                yield id, text.strip()
        return
    text = "\n".join(line for _, line in lines)
    for topic in re.finditer(r"<top>(.*?)</top>", text, re.DOTALL):
        topic_number = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", topic[1])
        title = re.search(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?:<|$)", topic[1], re.DOTALL)
        if topic_number is None or title is None or not title[1]:
            line_number = text[: topic.start()].count("\n") + 1
            raise InvalidParameter(f"{path}, line {line_number}: a topic without number or title.")
        yield topic_number[1], " ".join(title[1].split())

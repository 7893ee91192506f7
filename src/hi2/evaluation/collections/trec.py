"""TREC folders: a corpus file, ``topics.SPLIT.txt`` and ``qrels.SPLIT.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hi2.data.input_files import Document, read_documents, read_lines
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections.collection import GradedFolder, plain_name

CORPUS_NAMES = ("corpus.jsonl", "corpus.tsv", "corpus.parquet")


class Trec(GradedFolder):
    """``corpus.jsonl``, ``.tsv`` or ``.parquet``. Topics are ``<top>`` elements, or lines of number, tab and title."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        corpora = [path for path in sorted(folder.glob("corpus.*")) if plain_name(path) in CORPUS_NAMES]
        if not corpora or not self.split_files("topics", ".txt"):
            missing = "corpus.jsonl, .tsv or .parquet" if not corpora else "topics.SPLIT.txt"
            raise invalid("path", f"a folder with {missing}", f"'{folder}'")
        self.corpus = corpora[0]

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return any(folder.glob("topics.*.txt*"))

    def documents(self) -> Iterator[Document]:
        """Yield every document."""
        return read_documents(self.corpus)

    def queries(self) -> dict[str, str]:
        """Return the titles of every topics file, files sorted by name."""
        return {id: text for path in self.split_files("topics", ".txt").values() for id, text in read_topics(path)}

    def grade_files(self) -> dict[str, Path]:
        """Return the qrels files by split."""
        return self.split_files("qrels", ".txt")

    def files(self) -> Sequence[Path]:
        """The files of the corpus, topics and judgements."""
        return [self.corpus, *self.split_files("topics", ".txt").values(), *self.grade_files().values()]


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

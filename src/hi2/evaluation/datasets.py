"""Where do documents, queries and judgements come from? A BEIR folder, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hi2.errors import InvalidParameter
from hi2.inputs import find_file, read_documents, read_lines, read_queries


@dataclass(frozen=True)
class Collection:
    """A BEIR folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``, each perhaps ``.gz`` or ``.xz``."""

    folder: Path

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yield (id, text) of every document; the text is title and text with a space between."""
        for document in read_documents(self.folder):
            yield document.id, document.text

    def queries(self) -> dict[str, str]:
        """Return the text of every query, in order of the file."""
        return {query.id: query.text for query in read_queries(self.folder)}

    def judgements(self, split: str) -> dict[str, dict[str, int]]:
        """Return the relevance of documents, by query, for one split."""
        judged: dict[str, dict[str, int]] = {}
        path = find_file(self.folder, f"qrels/{split}.tsv")
        for number, line in read_lines(path):
            fields = line.split("\t")
            if number == 1 and not fields[-1].lstrip("-").isdecimal():
                continue
            if len(fields) != 3 or not fields[2].lstrip("-").isdecimal():
                raise InvalidParameter(f"{path}, line {number}: expected query, document and grade.")
            judged.setdefault(fields[0], {})[fields[1]] = int(fields[2])
        return judged

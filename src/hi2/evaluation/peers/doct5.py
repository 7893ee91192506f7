"""BM25 over expanded documents: docT5query (Nogueira and Lin, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hi2.data.input_files import read_lines
from hi2.errors import InvalidParameter
from hi2.evaluation.peers.bm25 import BM25s


class DocT5(BM25s):
    """Every document's text followed by predicted questions, read from a file with one line per document."""

    name = "DocT5"
    needs = "a file of predicted questions, one line per document (--expansions)"

    def __init__(self, expansions: Path) -> None:
        self._expansions = expansions

    def indexed_texts(self, texts: Sequence[str]) -> Sequence[str]:
        """Return each text with its predicted questions."""
        lines = [line for _, line in read_lines(self._expansions)]
        if len(lines) != len(texts):
            raise InvalidParameter(f"{self._expansions}: {len(lines)} lines for {len(texts)} documents.")
        return [f"{text} {line}" for text, line in zip(texts, lines, strict=True)]

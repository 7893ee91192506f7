"""Where do documents, queries and judgements come from? A BEIR folder, plain or compressed."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hi2.errors import InvalidParameter, invalid

_OPENERS: dict[str, Any] = {"": open, ".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Collection:
    """A BEIR folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``, each perhaps ``.gz`` or ``.xz``."""

    folder: Path

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yield (id, text) of every document; the text is title and text with a space between."""
        for row in self._rows("corpus.jsonl"):
            yield row["_id"], f"{row.get('title') or ''} {row.get('text') or ''}".strip()

    def queries(self) -> dict[str, str]:
        """Return the text of every query, in order of the file."""
        return {row["_id"]: row["text"] for row in self._rows("queries.jsonl")}

    def judgements(self, split: str) -> dict[str, dict[str, int]]:
        """Return the relevance of documents, by query, for one split."""
        judged: dict[str, dict[str, int]] = {}
        name = f"qrels/{split}.tsv"
        with self._open(name) as file:
            for number, line in enumerate(file, 1):
                fields = line.rstrip("\n").split("\t")
                if number == 1 and not fields[-1].lstrip("-").isdigit():
                    continue
                if len(fields) != 3 or not fields[2].lstrip("-").isdigit():
                    raise InvalidParameter(f"{self.folder / name}, line {number}: expected query, document and grade.")
                judged.setdefault(fields[0], {})[fields[1]] = int(fields[2])
        return judged

    def _open(self, name: str) -> IO[str]:
        for suffix, opener in _OPENERS.items():
            path = self.folder / (name + suffix)
            if path.is_file():
                file: IO[str] = opener(path, "rt", encoding="utf-8")
                return file
        raise invalid("folder", f"a BEIR folder with {name} (or .gz, .xz)", f"'{self.folder}'")

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        with self._open(name) as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    row["_id"]
                except (ValueError, TypeError, KeyError) as error:
                    raise InvalidParameter(f"{self.folder / name}, line {number}: {error!r}.") from error
                yield row

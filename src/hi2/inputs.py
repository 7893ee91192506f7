"""Where do documents and queries come from? BEIR folders, JSONL, TSV and parquet files, plain or compressed."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hi2.errors import InvalidParameter, MissingExtra, invalid

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Document:
    """An id and its text: title and text with a space between."""

    id: str
    text: str


@dataclass
class Skipped:
    """Lines that could not be read: counted, and the first few described."""

    n: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, problem: str) -> None:
        """Count one more."""
        self.n += 1
        if len(self.examples) < 3:
            self.examples.append(problem)


def open_text(path: Path) -> IO[str]:
    """Open a text file, decompressing ``.gz`` and ``.xz``."""
    try:
        file: IO[str] = _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8")
    except OSError as error:
        raise invalid("path", "a file that can be read", f"'{path}' ({error.strerror})") from error
    return file


def find_file(folder: Path, name: str) -> Path:
    """Return a folder's file of this name, plain or compressed."""
    for suffix in ("", *_OPENERS):
        path = folder / (name + suffix)
        if path.is_file():
            return path
    raise invalid("path", f"a folder with {name} (or .gz, .xz)", f"'{folder}'")


def read_documents(path: Path, *, skipped: Skipped | None = None) -> Iterator[Document]:
    """Yield the documents of a BEIR folder or of a JSONL, TSV or parquet file.

    A bad line is an error that names file and line, or is noted in ``skipped``.
    """
    found = False
    for document in _documents(path, _handler(skipped)):
        found = True
        yield document
    if not found:
        raise invalid("path", "a file with documents", f"'{path}', which has none")


def read_queries(path: Path, *, skipped: Skipped | None = None) -> Iterator[Document]:
    """Yield the queries of a file; a plain text file has one query a line, numbered from 1."""
    if path.is_dir():
        path = find_file(path, "queries.jsonl")
    if _kind(path) == ".txt":
        with open_text(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield Document(str(number), line.strip())
        return
    yield from read_documents(path, skipped=skipped)


def _handler(skipped: Skipped | None) -> Callable[[str], None]:
    def refuse(problem: str) -> None:
        raise InvalidParameter(f"{problem} Mend it, or skip bad lines with --skip-bad.")

    return refuse if skipped is None else skipped.note


def _kind(path: Path) -> str:
    return Path(path.name.removesuffix(path.suffix)).suffix if path.suffix in _OPENERS else path.suffix


def _documents(path: Path, bad: Callable[[str], None]) -> Iterator[Document]:
    if path.is_dir():
        path = find_file(path, "corpus.jsonl")
    readers = {".jsonl": _jsonl, ".json": _jsonl, ".tsv": _tsv, ".parquet": _parquet}
    reader = readers.get(_kind(path))
    if not path.exists() or reader is None:
        must = "a BEIR folder or a .jsonl, .tsv or .parquet file (or .gz, .xz of one)"
        raise invalid("path", must, f"'{path}'" + ("" if path.exists() else ", which does not exist"))
    return reader(path, bad)


def _row(data: Any, where: str, bad: Callable[[str], None]) -> Document | None:
    if not isinstance(data, dict):
        bad(f"{where}: not an object.")
        return None
    id = data.get("_id", data.get("id"))
    text = data.get("text")
    if isinstance(id, bool) or not isinstance(id, (str, int)):
        bad(f"{where}: no 'id' or '_id'.")
    elif not isinstance(text, str):
        bad(f"{where}: no 'text'.")
    else:
        return Document(str(id), f"{data.get('title') or ''} {text}".strip())
    return None


def _jsonl(path: Path, bad: Callable[[str], None]) -> Iterator[Document]:
    with open_text(path) as file:
        for number, line in _lines(file, path):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                data = json.loads(line)
            except (ValueError, RecursionError) as error:
                bad(f"{where}: not JSON ({error}).")
                continue
            document = _row(data, where, bad)
            if document is not None:
                yield document


def _tsv(path: Path, bad: Callable[[str], None]) -> Iterator[Document]:
    with open_text(path) as file:
        for number, line in _lines(file, path):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) < 2 or not fields[0]:
                bad(f"{path}, line {number}: expected an id, a tab and a text.")
            else:
                yield Document(fields[0], " ".join(fields[1:]).strip())


def _lines(file: IO[str], path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(file, 1):
            yield number, line
    except (UnicodeDecodeError, EOFError, OSError, lzma.LZMAError) as error:
        raise InvalidParameter(f"{path}, after line {number}: cannot be read ({error}).") from error


def _parquet(path: Path, bad: Callable[[str], None]) -> Iterator[Document]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("Reading parquet needs an extra; install it with: pip install 'hi2[parquet]'") from error
    try:
        table = parquet.ParquetFile(path)
        names = set(table.schema_arrow.names)
        if "text" not in names or not names & {"id", "_id"}:
            raise invalid("path", "a parquet file with columns 'id' (or '_id') and 'text'", f"columns {sorted(names)}")
        row = 0
        for batch in table.iter_batches(columns=sorted(names & {"id", "_id", "title", "text"})):
            for data in batch.to_pylist():
                row += 1
                document = _row(data, f"{path}, row {row}", bad)
                if document is not None:
                    yield document
    except OSError as error:
        raise invalid("path", "a parquet file", f"'{path}' ({error})") from error

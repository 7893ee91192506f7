"""Where do documents and queries come from? BEIR folders, JSONL, TSV and parquet files, plain or compressed."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, MissingExtra, invalid

#: Fields that are the document itself. All others become payload, and so do the fields of objects called like this.
_OWN_FIELDS = {"_id", "id", "title", "text"}
_PAYLOAD_FIELDS = ("metadata", "payload")
#: What the columns of a header are called, in small letters, and what they are.
_HEADER_NAMES = {"doc_id": "id", "docid": "id", "pid": "id", "_id": "id", "id": "id", "title": "title", "text": "text"}
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Document:
    """A document or query: its id, its text (title, a space, text), and its payload if it has one."""

    id: str
    text: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Skipped:
    """Lines that could not be read: counted, and the first few described."""

    n: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, problem: str) -> None:
        """Count one more bad line."""
        self.n += 1
        if len(self.examples) < 3:
            self.examples.append(problem)


def read_lines(path: Path, bad: Callable[[str], None] | None = None) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file, ``.gz`` and ``.xz`` decompressed, without their ends or a leading BOM.

    A line that is not UTF-8 is reported to ``bad``, or refused.
    """
    number = 0
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    problem = f"{path}, line {number}: not UTF-8 ({error.reason})."
                    if bad is None:
                        raise InvalidParameter(problem) from error
                    bad(problem)
                    continue
                yield number, text.rstrip("\r\n")
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if number == 0:
            reason = getattr(error, "strerror", None) or error
            raise invalid("path", "a file that can be read", f"'{path}' ({reason})") from error
        raise InvalidParameter(f"{path}, after line {number}: cannot be read ({error}).") from error


def find_file(folder: Path, name: str) -> Path:
    """Return a folder's file of this name, plain or compressed."""
    for suffix in ("", *_OPENERS):
        path = folder / (name + suffix)
        if path.is_file():
            return path
    raise invalid("path", f"a folder with {name} (or .gz, .xz)", f"'{folder}'")


def read_documents(
    path: Path, *, skipped: Skipped | None = None, header: Sequence[str] | None = None
) -> Iterator[Document]:
    """Yield the documents of a BEIR folder or of a JSONL, TSV or parquet file.

    A bad line raises an error that names file and line, or is recorded in ``skipped``. ``header`` names the columns of
    a TSV file that does not do so in its first line.
    """
    bad = _handler(skipped, " Fix it, or skip bad lines with --skip-bad.")
    yield from _checked(path, bad, skipped, "documents", header)


def _checked(
    path: Path,
    bad: Callable[[str], None],
    skipped: Skipped | None,
    what: str,
    header: Sequence[str] | None = None,
) -> Iterator[Document]:
    """Yield the documents with unique ids and valid Unicode; refuse a file without any."""
    places: dict[str, str] = {}
    for where, document in _documents(path, bad, header):
        if (first := places.setdefault(document.id, where)) is not where:
            bad(f"{where}: the id {document.id!r} is also in {first}.")
            continue
        try:
            (document.id + document.text).encode()
        except UnicodeEncodeError as error:
            bad(f"{where}: not valid Unicode ({error.reason}).")
            continue
        yield document
    if not places:
        more = f"; {skipped.n} bad lines were skipped, such as: {skipped.examples[0]}" if skipped and skipped.n else ""
        raise invalid("path", f"a file with {what}", f"'{path}', which has none{more}")


def read_queries(path: Path) -> Iterator[Document]:
    """Yield the queries of a file. A plain text file has one query per line, numbered from 1."""
    if path.is_dir():
        path = find_file(path, "queries.jsonl")
    if _kind(path) == ".txt":
        for number, line in read_lines(path):
            if line.strip():
                yield Document(str(number), line.strip())
        return
    yield from _checked(path, _handler(None, ""), None, "queries")


def _handler(skipped: Skipped | None, way_out: str) -> Callable[[str], None]:
    def refuse(problem: str) -> None:
        raise InvalidParameter(problem + way_out)

    return refuse if skipped is None else skipped.note


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.name[: -len(suffix)]).suffix.lower() if suffix in _OPENERS else suffix


def _documents(path: Path, bad: Callable[[str], None], header: Sequence[str] | None) -> Iterator[tuple[str, Document]]:
    if path.is_dir():
        path = find_file(path, "corpus.jsonl")
    if header is not None and _kind(path) != ".tsv":
        raise invalid("--header", "left out for a file that is no .tsv", ",".join(header))
    readers: dict[str, Any] = {".jsonl": _jsonl, ".json": _jsonl, ".tsv": _tsv, ".parquet": _parquet}
    reader = readers.get(_kind(path))
    if not path.exists() or reader is None or (reader is _parquet and path.suffix.lower() != ".parquet"):
        must = "a BEIR folder, a .jsonl or .tsv file (or .gz, .xz of one) or a .parquet file"
        raise invalid("path", must, f"'{path}'" + ("" if path.exists() else ", which does not exist"))
    found: Iterator[tuple[str, Document]] = _tsv(path, bad, header) if reader is _tsv else reader(path, bad)
    return found


def _row(data: Any, where: str, bad: Callable[[str], None]) -> Document | None:
    if not isinstance(data, dict):
        bad(f"{where}: not an object.")
        return None
    id = data.get("_id") if data.get("_id") is not None else data.get("id")
    title, text = data.get("title"), data.get("text")
    given = [own for name in _PAYLOAD_FIELDS if isinstance(own := data.get(name), dict)]
    kept = {name: own for name, own in data.items() if name not in _OWN_FIELDS}
    others = {name: own for name, own in kept.items() if name not in _PAYLOAD_FIELDS or (own and own not in given)}
    fields = [name for own in (others, *given) for name in own]
    if isinstance(id, bool) or not isinstance(id, (str, int)) or id == "":
        bad(f"{where}: no 'id' or '_id'.")
    elif not isinstance(text, str):
        bad(f"{where}: no 'text'.")
    elif title is not None and not isinstance(title, str):
        bad(f"{where}: the 'title' is not a string.")
    elif not isinstance(data.get("payload") or {}, dict):
        bad(f"{where}: the 'payload' is not an object.")
    elif len(set(fields)) < len(fields):
        twice = next(name for name in fields if fields.count(name) > 1)
        bad(f"{where}: '{twice}' is there twice, in the document and in its 'metadata' or 'payload'.")
    else:
        payload = {name: value for own in (others, *given) for name, value in own.items()}
        return Document(str(id), f"{title or ''} {text}".strip(), payload)
    return None


def _jsonl(path: Path, bad: Callable[[str], None]) -> Iterator[tuple[str, Document]]:
    for number, line in read_lines(path, bad):
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
            yield where, document


def _tsv(path: Path, bad: Callable[[str], None], header: Sequence[str] | None = None) -> Iterator[tuple[str, Document]]:
    """Rows of an id and a text; or, with a header that names them, of any columns, which become payload."""
    names = None if header is None else _column_names(header)
    for number, line in read_lines(path, bad):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        fields = line.split("\t")
        if number == 1:
            own = _column_names(fields)
            if names is not None and [name.lower() for name in own] == [name.lower() for name in names]:
                # The header that was named is there too.
                continue
            if header is None and {"id", "text"} <= set(own):
                names = own
                continue
        if names is not None:
            if len(fields) != len(names):
                bad(f"{where}: {len(fields)} columns, and the header has {len(names)}.")
                continue
            document = _row({name: own for name, own in zip(names, fields, strict=True) if own}, where, bad)
            if document is not None:
                yield where, document
        elif len(fields) < 2 or not fields[0]:
            bad(f"{where}: expected an id, a tab and a text.")
        else:
            yield where, Document(fields[0], " ".join(fields[1:]).strip())


def _column_names(names: Sequence[str]) -> list[str]:
    """Return the names of columns: of those that are a document's own, in whatever letters, as they are read."""
    return [_HEADER_NAMES.get(name.strip().lower(), name.strip()) for name in names]


def _parquet(path: Path, bad: Callable[[str], None]) -> Iterator[tuple[str, Document]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingExtra("Reading parquet needs an extra; install it with: pip install 'hi2[parquet]'") from error
    try:
        table = parquet.ParquetFile(path)
        names = set(table.schema_arrow.names)
        if "text" not in names or not names & {"id", "_id"}:
            raise invalid("path", "a parquet file with columns 'id' (or '_id') and 'text'", f"columns {sorted(names)}")
        row = 0
        for batch in table.iter_batches():
            for data in batch.to_pylist():
                row += 1
                where = f"{path}, row {row}"
                document = _row(data, where, bad)
                if document is not None:
                    yield where, document
    except (OSError, ArrowException) as error:
        raise invalid("path", "a parquet file", f"'{path}' ({error})") from error

"""What do commands share? Options before the verb, and the parsing of codecs and tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hi2.codecs import CODECS, CodecSpec
from hi2.data.input_files import Skipped
from hi2.errors import InvalidParameter, invalid
from hi2.filters.column_types import ColumnTypes
from hi2.ingest.payload import checked_payload
from hi2.text.words import WordTokenizer


@dataclass
class Settings:
    """Options that every command takes."""

    quiet: bool = False
    debug: bool = False

    @property
    def progress(self) -> bool | None:
        """The library's ``progress=`` argument: shown on a terminal unless quiet."""
        return False if self.quiet else None


settings = Settings()


QUESTIONS_HELP = "File with lists of the questions to tune on and to report, or a folder with one file per collection."
FINAL_HELP = "Report the final questions of the lists instead of the test questions."
CODEC_HELP = (
    "Flat, Half, SQ8, PQ:BYTES, OPQ:BYTES or RaBitQ:BITS, perhaps residual, e.g. OPQ:48, RaBitQ or RaBitQ:1:residual"
)


def parse_codec(text: str | None, option: str) -> CodecSpec | None:
    """Return the codec named by an option, in the form of ``CODEC_HELP``."""
    if text is None:
        return None
    name, *rest = text.split(":")
    spec = {known.lower(): codec for known, codec in CODECS.items()}.get(name.lower())
    residual = "residual" in rest
    numbers = [part for part in rest if part != "residual"]
    if spec is None or len(numbers) > 1 or any(not (n.isascii() and n.isdigit()) for n in numbers):
        raise invalid(option, CODEC_HELP, f"'{text}'")
    given: dict[str, Any] = {"residual": True} if residual else {}
    if numbers:
        given["bits" if spec is CODECS["RaBitQ"] else "subspaces"] = int(numbers[0])
    try:
        return spec(**given)
    except TypeError:
        raise invalid(option, CODEC_HELP, f"'{text}'") from None


def parse_tokenizer(text: str | None) -> Any:
    """Return the tokenizer for 'words' or 'words:LANGUAGE' (with stemming); any other text is returned as a path."""
    if text is None or text.split(":")[0] != "words":
        return text
    return WordTokenizer(text.partition(":")[2] or None)


FIELDS_HELP = "Keep only these fields as payload, e.g. year,lang; all but id, title and text by default."
NUMBERS_HELP = "Fields of a .tsv file that are numbers, e.g. year,price; all are text otherwise."
HEADER_HELP = "Columns of a .tsv file that has no header, e.g. id,title,text,year."
NO_PAYLOAD_HELP = "Keep no payload."


def parse_header(text: str | None) -> list[str] | None:
    """Return the columns that --header names."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    own = {name.lower() for name in names}
    if "text" not in own or {"id", "_id", "doc_id", "docid", "pid"}.isdisjoint(own) or len(own) < len(names):
        raise invalid("--header", "names of columns with 'id' and 'text', each once", f"'{text}'")
    return names


class ChosenFields:
    """Makes the payload that is kept from the fields of a document: those of --fields, with --numbers as numbers."""

    def __init__(self, fields: str | None, *, payload: bool, numbers: str | None = None) -> None:
        if fields is not None and not payload:
            raise invalid("--fields", "left out with --no-payload", "both")
        self._names = None if fields is None else _listed(fields)
        self._numbers = [] if numbers is None else _listed(numbers)
        self._payload = payload
        self._seen: set[str] = set()

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of one document."""
        if not self._payload:
            return {}
        names = given if self._names is None else [name for name in self._names if name in given]
        kept = {name: given[name] for name in names}
        for name in self._numbers:
            if name in kept:
                kept[name] = _number(kept[name])
        if self._names is not None or self._numbers:
            self._seen.update(kept)
        return kept

    def check(self) -> None:
        """Refuse names that no document has."""
        for option, names in (("--fields", self._names or []), ("--numbers", self._numbers)):
            unknown = [name for name in names if name not in self._seen]
            if unknown:
                raise invalid(option, "names of fields that documents have", f"'{', '.join(unknown)}'")


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _number(value: Any) -> Any:
    """A text as a number; what is none stays, and is refused where other documents have numbers."""
    for read in (int, float):
        try:
            return read(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value


def payload_problem(types: ColumnTypes, payload: Mapping[str, Any]) -> str | None:
    """Return what keeps a payload out of an index with columns of these types; None if nothing does."""
    try:
        return types.mismatch(checked_payload(payload, "it"))
    except InvalidParameter as error:
        return str(error).rstrip(".")


def report_skipped(skipped: Skipped | None) -> str | None:
    """Return a message about skipped lines, None if there were none."""
    if skipped is None or skipped.n == 0:
        return None
    lines = "bad line" if skipped.n == 1 else "bad lines"
    return f"{skipped.n} {lines} skipped, such as: {' '.join(skipped.examples)}"


def existing_index(path: Path) -> Path:
    """Return the path, or refuse it if nothing is there."""
    if not path.exists():
        raise invalid("index", "the folder of an index", f"'{path}', which does not exist")
    return path

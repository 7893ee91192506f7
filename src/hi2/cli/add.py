"""``hi2 add``: add documents to an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP, open_index
from hi2.cli.options import (
    FIELDS_HELP,
    HEADER_HELP,
    NO_PAYLOAD_HELP,
    NUMBERS_HELP,
    ChosenFields,
    parse_header,
    payload_problem,
    report_skipped,
    settings,
)
from hi2.data.input_files import Document, Skipped, read_documents
from hi2.errors import invalid
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    source: Path = typer.Argument(help="BEIR folder, or .jsonl, .tsv or .parquet file (also .gz, .xz)."),
    vectors: Path | None = typer.Option(None, help="Vectors of the documents as .npy, one row per document."),
    encoder: str | None = typer.Option(None, help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    replace: bool = typer.Option(False, "--replace", help="Replace documents whose ids are already in the index."),
    header: str | None = typer.Option(None, help=HEADER_HELP),
    fields: str | None = typer.Option(None, help=FIELDS_HELP),
    numbers: str | None = typer.Option(None, help=NUMBERS_HELP),
    payload: bool = typer.Option(True, "--payload/--no-payload", help=NO_PAYLOAD_HELP),
    skip_bad: bool = typer.Option(False, help="Skip bad lines and report how many there were."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Add documents to an index and commit.

    Example:

    hi2 add wiki.hi2 new.jsonl --replace
    """
    keep = ChosenFields(fields, payload=payload, numbers=numbers)
    skipped = Skipped() if skip_bad else None
    documents = list(read_documents(source, skipped=skipped, header=parse_header(header)))
    with open_index(index, "w", encoder=encoder, trust_encoder=trust_encoder) as given:
        opened = given.index
        payloads = [keep(document.payload) for document in documents]
        keep.check()
        if skipped is not None:
            good = list(_of_their_types(opened, documents, payloads, skipped))
            documents, payloads = list(compress(documents, good)), list(compress(payloads, good))
        texts = [document.text for document in documents]
        ids = opened.parse_ids([document.id for document in documents])
        if not replace and (known := next((id for id in ids if id in opened), None)) is not None:
            raise invalid(
                "source", "a file of new ids, unless --replace is given", f"the id {known!r}, which the index has"
            )
        made = given.documents(texts) if vectors is None else vectors
        change = opened.upsert if replace else opened.add
        own = payloads if any(payloads) else None
        change(made, texts, ids=ids, payload=own, threads=threads, progress=settings.progress)
        opened.commit(progress=settings.progress)
        if not settings.quiet:
            typer.echo(f"{len(documents)} documents added, {len(opened)} in {index}")
    line = report_skipped(skipped)
    if line:
        typer.echo(f"hi2: {line}", err=True)


def _of_their_types(
    index: HybridIndex, documents: Sequence[Document], payloads: Sequence[Mapping[str, Any]], skipped: Skipped
) -> Iterator[bool]:
    """Whether the payload of each document has the types of the index's columns; what has not is counted."""
    types = index.column_types()
    for document, payload in zip(documents, payloads, strict=True):
        wrong = payload_problem(types, payload)
        if wrong is not None:
            skipped.note(f"{document.id}: {wrong}.")
        yield wrong is None

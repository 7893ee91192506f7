"""``hi2 add``: add documents to an index."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP, open_index
from hi2.cli.options import report_skipped, settings
from hi2.data.input_files import Skipped, read_documents


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    source: Path = typer.Argument(help="BEIR folder, or .jsonl, .tsv or .parquet file (also .gz, .xz)."),
    vectors: Path | None = typer.Option(None, help="Vectors of the documents as .npy, one row per document."),
    encoder: str | None = typer.Option(None, help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    replace: bool = typer.Option(False, "--replace", help="Replace documents whose ids are already in the index."),
    skip_bad: bool = typer.Option(False, help="Skip bad lines and report how many there were."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Add documents to an index and commit.

    Example: hi2 add wiki.hi2 new.jsonl --replace
    """
    skipped = Skipped() if skip_bad else None
    documents = list(read_documents(source, skipped=skipped))
    texts = [document.text for document in documents]
    with open_index(index, "w", encoder=encoder, trust_encoder=trust_encoder) as given:
        opened = given.index
        change = opened.upsert if replace else opened.add
        ids = opened.parse_ids([document.id for document in documents])
        payload = [document.payload for document in documents] if any(own.payload for own in documents) else None
        made = given.documents(texts) if vectors is None else vectors
        change(made, texts, ids=ids, payload=payload, threads=threads, progress=settings.progress)
        opened.commit(progress=settings.progress)
        typer.echo(f"{len(documents)} documents added, {len(opened)} in {index}")
    line = report_skipped(skipped)
    if line:
        typer.echo(f"hi2: {line}", err=True)

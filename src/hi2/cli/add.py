"""``hi2 add``: add documents to an index."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import existing_index, load_encoder, report_skipped, settings
from hi2.data.input_files import Skipped, read_documents
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    source: Path = typer.Argument(help="BEIR folder, or .jsonl, .tsv or .parquet file (also .gz, .xz)."),
    vectors: Path | None = typer.Option(None, help="Vectors of the documents as .npy, one row per document."),
    encoder: str | None = typer.Option(
        None, help="The encoder the index was built with, if hi2 cannot load it by itself."
    ),
    replace: bool = typer.Option(False, "--replace", help="Replace documents whose ids are already in the index."),
    skip_bad: bool = typer.Option(False, help="Skip bad lines and report how many there were."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Add documents to an index and commit.

    Example: hi2 add wiki.hi2 new.jsonl --replace
    """
    skipped = Skipped() if skip_bad else None
    documents = list(read_documents(source, skipped=skipped))
    chosen = None if encoder is None else load_encoder(encoder)
    with HybridIndex.open(existing_index(index), "w", encoder=chosen) as opened:
        change = opened.upsert if replace else opened.add
        texts = [document.text for document in documents]
        ids = opened.parse_ids([document.id for document in documents])
        payload = [document.payload for document in documents] if any(own.payload for own in documents) else None
        change(vectors, texts, ids=ids, payload=payload, threads=threads, progress=settings.progress)
        opened.commit(progress=settings.progress)
        typer.echo(f"{len(documents)} documents added, {len(opened)} in {index}")
    line = report_skipped(skipped)
    if line:
        typer.echo(f"hi2: {line}", err=True)

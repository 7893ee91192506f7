"""``hi2 delete``: delete documents from an index."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import existing_index, settings
from hi2.data.input_files import read_lines
from hi2.errors import invalid
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    ids: list[str] | None = typer.Argument(None, help="Ids of the documents."),
    file: Path | None = typer.Option(None, "--ids", help="File with one id per line."),
    missing_ok: bool = typer.Option(False, "--missing-ok", help="Ignore ids that are not in the index."),
) -> None:
    """Delete documents from an index and commit.

    Example:

    hi2 delete wiki.hi2 doc-17 doc-18
    """
    wanted = list(ids or [])
    if file is not None:
        wanted += [line.strip() for _, line in read_lines(file) if line.strip()]
    if not wanted:
        raise invalid("ids", "given, as arguments or with --ids FILE", "none")
    with HybridIndex.open(existing_index(index), "w") as opened:
        n = opened.delete(opened.parse_ids(wanted), missing_ok=missing_ok)
        opened.commit(progress=settings.progress)
        if not settings.quiet:
            typer.echo(f"{n} documents deleted, {len(opened)} in {index}")

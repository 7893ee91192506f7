"""``hi2 merge``: merge all segments into one."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import existing_index, settings
from hi2.index import HybridIndex


def run(index: Path = typer.Argument(help="Folder of the index.")) -> None:
    """Merge all segments into one, drop deleted documents, and commit.

    Example:

    hi2 merge wiki.hi2
    """
    with HybridIndex.open(existing_index(index), "w") as opened:
        before = opened.info()
        opened.merge(progress=settings.progress)
        opened.commit(progress=settings.progress)
        if not settings.quiet:
            typer.echo(f"{before['n_segments']} segments into 1, {before['n_deleted']} deleted documents dropped")

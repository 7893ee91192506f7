"""``hi2 verify``: check that an index is intact."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import existing_index, settings
from hi2.index import HybridIndex


def run(index: Path = typer.Argument(help="Folder of the index.")) -> None:
    """Check every checksum and every invariant. Exit with code 2 at the first failure.

    Example:

    hi2 verify wiki.hi2
    """
    opened = HybridIndex.open(existing_index(index))
    opened.verify()
    if not settings.quiet:
        typer.echo(f"{index} is whole: {len(opened)} documents")

"""``hi2 verify``: is an index whole?"""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import existing
from hi2.index import HybridIndex


def run(index: Path = typer.Argument(help="Folder of the index.")) -> None:
    """Check every checksum and every invariant; exit with 2 at the first that does not hold.

    Example: hi2 verify wiki.hi2
    """
    opened = HybridIndex.open(existing(index))
    opened.verify()
    typer.echo(f"{index} is whole: {len(opened)} documents")

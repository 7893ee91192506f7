"""``hi2 info``: what is in an index."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from hi2.cli.options import existing
from hi2.data.files import read_queries
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    queries: Path | None = typer.Option(
        None, help="Queries (BEIR folder, .jsonl, .tsv, .txt): count those that no document shares a term with."
    ),
    as_json: bool = typer.Option(False, "--json", help="As data."),
) -> None:
    """Show counts, bytes by part, how even the lists are, and drift since the fit.

    Examples: hi2 info wiki.hi2      hi2 info wiki.hi2 --queries q.tsv
    """
    texts = None if queries is None else [query.text for query in read_queries(queries)]
    info = HybridIndex.open(existing(index)).info(texts)
    if as_json:
        typer.echo(json.dumps(info))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for key, value in info.items():
        table.add_row(key, Text(_show(value)))
    Console().print(table)


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_show(inner)}" for key, inner in value.items())
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

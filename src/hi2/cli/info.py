"""``hi2 info``: show what is in an index."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from hi2.cli.options import existing_index
from hi2.data.input_files import read_queries
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    queries: Path | None = typer.Option(
        None, help="Queries (BEIR folder, .jsonl, .tsv, .txt); counts those that share no term with any document."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show counts, bytes by part, the balance of the lists, and drift since the index was fitted.

    Examples:

    hi2 info wiki.hi2

    hi2 info wiki.hi2 --queries q.tsv
    """
    texts = None if queries is None else [query.text for query in read_queries(queries)]
    info = HybridIndex.open(existing_index(index)).info(texts)
    if as_json:
        typer.echo(json.dumps(info))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for key, value in info.items():
        table.add_row(key, Text(_format(value)))
    Console().print(table)


def _format(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_format(inner)}" for key, inner in value.items())
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

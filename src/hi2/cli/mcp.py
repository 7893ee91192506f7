"""``hi2 mcp``: offer an index to an assistant as tools, over standard input and output."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.index_encoder import TRUST_HELP
from hi2.cli.options import existing_index


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    name: str | None = typer.Option(None, help="Name of the server; that of the folder by default."),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
) -> None:
    """Run an MCP server with the tools search, get and explain, until its input ends.

    Example:

    hi2 mcp wiki.hi2
    """
    from hi2.integrations.mcp import run as run_server

    run_server(existing_index(index), trust_encoder=trust_encoder, name=name)

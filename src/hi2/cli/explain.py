"""``hi2 explain``: why a document was found or missed."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from hi2.cli.options import existing_index, load_encoder
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    query: str = typer.Argument(help="The query."),
    id: str = typer.Argument(help="Id of the document."),
    encoder: str | None = typer.Option(
        None, help="The encoder the index was built with, if hi2 cannot load it by itself."
    ),
    k: int = typer.Option(10, "-k", help="Number of hits of the search."),
    clusters: int | None = typer.Option(None, help="Number of clusters to open; 0 for none."),
    terms: int | None = typer.Option(None, help="Open at most this many term lists; 0 for none."),
    per_doc: int | None = typer.Option(None, help="Use only this many of the best terms of each document."),
    refine: int | None = typer.Option(None, help="Rescore the best k · REFINE hits."),
    budget: int | None = typer.Option(None, help="Score at most this many documents."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show which lists contain a document, its scores and its rank, or why it was not found.

    Example: hi2 explain wiki.hi2 "who wrote Hamlet" doc-17
    """
    chosen = None if encoder is None else load_encoder(encoder)
    opened = HybridIndex.open(existing_index(index), encoder=chosen)
    effort = {"k": k, "clusters": clusters, "terms": terms, "per_doc": per_doc, "refine": refine, "budget": budget}
    why = opened.explain(query, id=opened.parse_ids([id])[0], **effort)  # type: ignore[arg-type]
    typer.echo(json.dumps(why.to_dict(), ensure_ascii=False) if as_json else str(why))

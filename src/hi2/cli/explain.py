"""``hi2 explain``: why a document was found, or why not."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from hi2.cli.options import existing, load_encoder
from hi2.index import HybridIndex


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    query: str = typer.Argument(help="The query."),
    id: str = typer.Argument(help="Id of the document."),
    encoder: str | None = typer.Option(
        None, help="The encoder the index was built with, if it is not found by itself."
    ),
    k: int = typer.Option(10, "-k", help="Hits the search would give."),
    clusters: int | None = typer.Option(None, help="Clusters the query opens; 0 skips them."),
    terms: int | None = typer.Option(None, help="Terms the query opens at most; 0 skips them."),
    per_doc: int | None = typer.Option(None, help="Only so many terms of a document count."),
    refine: int | None = typer.Option(None, help="Rescore this many times k hits."),
    budget: int | None = typer.Option(None, help="Score at most this many documents."),
    as_json: bool = typer.Option(False, "--json", help="As data."),
) -> None:
    """Say which lists admitted a document, its scores and its rank, or why it was not found.

    Example: hi2 explain wiki.hi2 "who wrote Hamlet" doc-17
    """
    chosen = None if encoder is None else load_encoder(encoder)
    opened = HybridIndex.open(existing(index), encoder=chosen)
    effort = {"k": k, "clusters": clusters, "terms": terms, "per_doc": per_doc, "refine": refine, "budget": budget}
    why = opened.explain(query, id=opened.parse_ids([id])[0], **effort)  # type: ignore[arg-type]
    typer.echo(json.dumps(why.to_dict(), ensure_ascii=False) if as_json else str(why))

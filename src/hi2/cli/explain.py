"""``hi2 explain``: why a document was found or missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP, open_index
from hi2.search.syntax import signed_text


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    query: str = typer.Argument(help="The query."),
    id: str = typer.Argument(help="Id of the document."),
    encoder: str | None = typer.Option(None, help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    against: str | None = typer.Option(None, help="Id of another document: show why one is ahead of the other."),
    k: int = typer.Option(10, "-k", help="Number of hits of the search."),
    clusters: int | None = typer.Option(None, help="Number of clusters to open; 0 for none."),
    terms: int | None = typer.Option(None, help="Open at most this many term lists; 0 for none."),
    per_doc: int | None = typer.Option(None, help="Use only this many of the best terms of each document."),
    refine: int | None = typer.Option(None, help="Rescore the best k · REFINE hits."),
    budget: int | None = typer.Option(None, help="Score at most this many documents."),
    lexical: float | None = typer.Option(None, help="How much the words of the query count; 0 ranks by vectors alone."),
    syntax: bool = typer.Option(False, "--syntax", help="Words that begin with + are required, those with - excluded."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show which lists contain a document, its score word by word and its rank, or why it was not found.

    Examples:

    hi2 explain wiki.hi2 "who wrote Hamlet" doc-17

    hi2 explain wiki.hi2 Hamlet doc-17 --against doc-4
    """
    effort: dict[str, Any] = {"k": k, "clusters": clusters, "terms": terms, "per_doc": per_doc, "refine": refine}
    effort |= {"budget": budget, "lexical": lexical, "syntax": syntax}
    with open_index(index, encoder=encoder, trust_encoder=trust_encoder) as given:
        vectors, texts = given.queries([signed_text(query).plain if syntax else query])
        asked = (query, None) if texts is None else (vectors[0], query)
        own, *other = given.index.parse_ids([id] if against is None else [id, against])
        why = given.index.explain(*asked, id=own, against=other[0] if other else None, **effort)
    typer.echo(json.dumps(why.to_dict(), ensure_ascii=False) if as_json else str(why))

"""``hi2 search``: queries in, hits out, as a table for people or as lines for programs."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import typer

from hi2.cli.options import existing, load_encoder
from hi2.data.files import Document, read_queries
from hi2.errors import invalid
from hi2.index import HybridIndex
from hi2.types import Hits


class Format(str, Enum):
    """How hits are written."""

    table = "table"
    jsonl = "jsonl"
    trec = "trec"


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    query: str | None = typer.Argument(
        None, help="The query; without it queries are read from --queries or standard input."
    ),
    queries: Path | None = typer.Option(None, help="Queries: BEIR folder, .jsonl, .tsv, .txt (one a line)."),
    vectors: Path | None = typer.Option(None, help="Vectors of the queries, .npy, row for row."),
    encoder: str | None = typer.Option(
        None, help="The encoder the index was built with, if it is not found by itself."
    ),
    k: int = typer.Option(10, "-k", help="Hits for each query."),
    clusters: int | None = typer.Option(None, help="Clusters a query opens; 0 skips them."),
    terms: int | None = typer.Option(None, help="Terms a query opens at most; 0 skips them."),
    per_doc: int | None = typer.Option(None, help="Only so many terms of a document count."),
    refine: int | None = typer.Option(None, help="Rescore this many times k hits."),
    budget: int | None = typer.Option(None, help="Score at most this many documents for a query."),
    adaptive: float | None = typer.Option(None, help="Score a document if its chance to be among the best is so much."),
    profile: str | None = typer.Option(None, help="A setting that hi2 tune found, by name."),
    filter: str | None = typer.Option(
        None, help='Only documents whose payload fits, e.g. "year >= 2020 and not draft".'
    ),
    min_score: float | None = typer.Option(None, help="Leave out hits that score less."),
    offset: int = typer.Option(0, help="Leave out the first hits."),
    group_by: str | None = typer.Option(None, help="The best hit of each value of this payload column."),
    format: Format = typer.Option(Format.table, "--format", "-f", help="For people, or for programs."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Search an index.

    Examples: hi2 search wiki.hi2 "who wrote Hamlet"      hi2 search wiki.hi2 --queries q.tsv -k 100 -f trec > run.txt
    """
    asked = _queries(query, queries)
    chosen = None if encoder is None else load_encoder(encoder)
    opened = HybridIndex.open(existing(index), encoder=chosen)
    texts = [one.text for one in asked]
    given: Any = texts if vectors is None else load_vectors(vectors)
    hits = opened.search(
        given,
        None if vectors is None else texts,
        k=k,
        clusters=clusters,
        terms=terms,
        per_doc=per_doc,
        refine=refine,
        budget=budget,
        adaptive=adaptive,
        profile=profile,
        filter=filter,
        min_score=min_score,
        offset=offset,
        group_by=group_by,
        threads=threads,
    )
    writer = {Format.table: _table, Format.jsonl: _jsonl, Format.trec: _trec}[format]
    for one, found in zip(asked, hits, strict=True):
        writer(one, found, opened)


def _queries(query: str | None, file: Path | None) -> list[Document]:
    if query is not None and file is not None:
        raise invalid("query", "given as an argument or with --queries, not both", repr(query))
    if query is not None:
        return [Document("1", query)]
    if file is not None:
        asked = list(read_queries(file))
    else:
        lines = enumerate(sys.stdin, 1)
        asked = [Document(str(number), line.strip()) for number, line in lines if line.strip()]
    if not asked:
        raise invalid("query", "given, as an argument, with --queries or on standard input", "none")
    return asked


def load_vectors(path: Path) -> Any:
    """Return query vectors from a file."""
    try:
        return np.atleast_2d(np.asarray(np.load(path, allow_pickle=False)))
    except (OSError, EOFError, ValueError) as error:
        raise invalid("--vectors", "a .npy file", f"'{path}' ({error})") from error


def _table(query: Document, hits: Hits, index: HybridIndex) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    caption = f"{hits.n_scored} of {len(index)} documents scored"
    if hits.n_term_lists == 0 and index.model.terms is not None:
        caption += "; no document is filed under a term of this query"
    table = Table(title=Text(query.text), title_justify="left", caption=caption, expand=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True, max_width=40)
    table.add_column("text", overflow="ellipsis", no_wrap=True, ratio=1)
    for rank, (id, score) in enumerate(hits, 1):
        text = str(index.get(id).get("text", "")) if len(index) else ""
        table.add_row(str(rank), f"{score:.4f}", Text(str(id)), Text(" ".join(text.split())[:200]))
    Console().print(table)


def _jsonl(query: Document, hits: Hits, index: HybridIndex) -> None:
    found = [{"id": id, "score": score} for id, score in hits]
    typer.echo(json.dumps({"query": query.id, "n_scored": hits.n_scored, "hits": found}, ensure_ascii=False))


def _trec(query: Document, hits: Hits, index: HybridIndex) -> None:
    for name in (query.id, *map(str, hits.ids)):
        if name.split() != [name]:
            raise invalid("--format", "jsonl: an id with spaces has no place in a TREC run", f"trec, for {name!r}")
    for rank, (id, score) in enumerate(hits, 1):
        typer.echo(f"{query.id} Q0 {id} {rank} {score:.6f} hi2")

"""``hi2 search``: search an index and print a table for people or lines for programs."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP, open_index
from hi2.data.input_files import Document, read_queries
from hi2.errors import invalid
from hi2.index import HybridIndex
from hi2.search.snippet import MARK
from hi2.types import Hits


class Format(str, Enum):
    """Output formats."""

    table = "table"
    jsonl = "jsonl"
    trec = "trec"


def run(
    index: Path = typer.Argument(help="Folder of the index."),
    query: str | None = typer.Argument(
        None, help="The query. Without it, queries are read from --queries or standard input."
    ),
    queries: Path | None = typer.Option(
        None, help="Queries: BEIR folder, .jsonl, .tsv, or .txt with one query per line."
    ),
    vectors: Path | None = typer.Option(None, help="Vectors of the queries as .npy, one row per query."),
    encoder: str | None = typer.Option(None, help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    k: int = typer.Option(10, "-k", help="Number of hits per query."),
    clusters: int | None = typer.Option(None, help="Number of clusters to open per query; 0 for none."),
    terms: int | None = typer.Option(None, help="Open at most this many term lists per query; 0 for none."),
    per_doc: int | None = typer.Option(None, help="Use only this many of the best terms of each document."),
    refine: int | None = typer.Option(None, help="Rescore the best k · REFINE hits."),
    budget: int | None = typer.Option(None, help="Score at most this many documents per query."),
    adaptive: float | None = typer.Option(
        None, help="Score only documents that are among the best with at least this probability."
    ),
    lexical: float | None = typer.Option(None, help="Weight of words beside vectors; 0 ranks by vectors alone."),
    words: bool = typer.Option(False, "--words", help="Rank by words alone (BM25), whatever encoder there is."),
    syntax: bool = typer.Option(True, help="Read +word as required and -word as excluded."),
    profile: str | None = typer.Option(None, help="Name of a profile that hi2 tune stored."),
    filter: str | None = typer.Option(
        None, help='Return only documents whose payload matches, e.g. "year >= 2020 and not draft".'
    ),
    min_score: float | None = typer.Option(None, help="Drop hits with a lower score."),
    offset: int = typer.Option(0, help="Skip this many of the first hits."),
    group_by: str | None = typer.Option(None, help="Return only the best hit for each value of this payload column."),
    format: Format = typer.Option(
        Format.table, "--format", "-f", help="A table for people; jsonl or trec for programs."
    ),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Search an index.

    Examples:

    hi2 search wiki.hi2 "who wrote Hamlet +play -film"

    hi2 search wiki.hi2 -k 100 -f trec --queries q.tsv
    """
    query_list = _queries(query, queries)
    texts = [one.text for one in query_list]
    if words and vectors is not None:
        raise invalid("--words", "left out with --vectors", "both")
    with open_index(index, encoder=encoder, trust_encoder=trust_encoder) as opened:
        if words:
            asked: tuple[Any, Any] = None, texts
        else:
            asked = opened.queries(texts, signed=syntax) if vectors is None else (load_vectors(vectors), texts)
        hits = opened.index.search(
            *asked,
            k=k,
            clusters=clusters,
            terms=terms,
            per_doc=per_doc,
            refine=refine,
            budget=budget,
            adaptive=adaptive,
            lexical=lexical,
            syntax=syntax,
            profile=profile,
            filter=filter,
            min_score=min_score,
            offset=offset,
            group_by=group_by,
            threads=threads,
        )
        writer = {Format.table: _write_table, Format.jsonl: _write_jsonl, Format.trec: _write_trec}[format]
        for one, found in zip(query_list, hits.each, strict=True):
            writer(one, found, opened.index)


def _queries(query: str | None, file: Path | None) -> list[Document]:
    if query is not None and file is not None:
        raise invalid("query", "given as an argument or with --queries, not both", repr(query))
    if query is not None:
        if not query.strip():
            raise invalid("query", "a text with words", repr(query))
        return [Document("1", query)]
    if file is not None:
        query_list = list(read_queries(file))
    else:
        lines = enumerate(sys.stdin, 1)
        query_list = [Document(str(number), line.strip()) for number, line in lines if line.strip()]
    if not query_list:
        raise invalid("query", "given, as an argument, with --queries or on standard input", "none")
    return query_list


def load_vectors(path: Path) -> Any:
    """Read query vectors from a .npy file."""
    try:
        return np.atleast_2d(np.asarray(np.load(path, allow_pickle=False)))
    except (OSError, EOFError, ValueError) as error:
        raise invalid("--vectors", "a .npy file", f"'{path}' ({error})") from error


def _marked(snippet: str) -> Any:
    """The passage with the words that matched in bold."""
    from rich.text import Text

    text = Text()
    for number, part in enumerate(snippet.split(MARK)):
        text.append(part, style="bold" if number % 2 else "")
    return text


def _write_table(query: Document, hits: Hits, index: HybridIndex) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    caption = f"{hits.n_scored} of {len(index)} documents scored"
    words_alone = hits.lexical is not None and hits.dense is None
    if hits.lexical is not None:
        caption += ", ranked by vectors and words" if hits.dense is not None else ", ranked by words alone"
    if hits.n_term_lists == 0 and index.model.terms is not None and not (words_alone or hits.complete):
        caption += "; no document is filed under a term of this query"
    table = Table(title=Text(query.text), title_justify="left", caption=caption, expand=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True, max_width=40)
    table.add_column("text", overflow="ellipsis", no_wrap=True, ratio=1)
    for rank, hit in enumerate(hits, 1):
        table.add_row(str(rank), f"{hit.score:.4f}", Text(str(hit.id)), _marked(hit.snippet or ""))
    Console().print(table)


def _write_jsonl(query: Document, hits: Hits, index: HybridIndex) -> None:
    found = hits.to_dicts()
    for name in ("dense", "lexical"):
        for own, value in zip(found, getattr(hits, name) if getattr(hits, name) is not None else (), strict=False):
            own[name] = float(value)
    line = {"query": query.text, "query_id": query.id, "n_scored": hits.n_scored, "hits": found}
    typer.echo(json.dumps(line, ensure_ascii=False))


def _write_trec(query: Document, hits: Hits, index: HybridIndex) -> None:
    for name in (query.id, *map(str, hits.ids)):
        if name.split() != [name]:
            raise invalid("--format", "jsonl: an id with spaces has no place in a TREC run", f"trec, for {name!r}")
    for rank, (id, score) in enumerate(hits, 1):
        typer.echo(f"{query.id} Q0 {id} {rank} {score:.6f} hi2")

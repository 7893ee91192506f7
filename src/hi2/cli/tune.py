"""``hi2 tune``: find the cheapest setting that reaches a target and store it in the index as a profile."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from hi2.cli.index_encoder import ENCODER_HELP, TRUST_HELP, open_index
from hi2.cli.options import settings
from hi2.cli.search import load_vectors
from hi2.data.input_files import Document, read_lines, read_queries
from hi2.errors import MissingExtra, invalid
from hi2.index import HybridIndex
from hi2.progress import Progress


def run(
    index: Path = typer.Argument(help="Folder of the index, in which the profiles are stored."),
    queries: Path = typer.Option(
        ..., help="Sample queries: BEIR folder, .jsonl, .tsv, or .txt with one query per line."
    ),
    vectors: Path | None = typer.Option(None, help="Vectors of the queries as .npy, one row per query."),
    encoder: str | None = typer.Option(None, help=ENCODER_HELP),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=TRUST_HELP),
    qrels: Path | None = typer.Option(
        None,
        help="Judgements as .tsv. Quality is then the share of brute force's recall, else agreement with it. They also "
        "teach how much words count. Of a BEIR folder, qrels/dev.tsv (or train.tsv) by default.",
    ),
    limit: int = typer.Option(1000, min=1, help="Tune on at most so many queries, the first that are judged."),
    target: float | None = typer.Option(None, help="Reach at least this quality at the lowest cost, e.g. 0.95."),
    latency: float | None = typer.Option(
        None, help="Reach the highest quality within this many milliseconds per query."
    ),
    budget: int | None = typer.Option(
        None, help="Reach the highest quality within this many documents scored per query."
    ),
    name: str | None = typer.Option(None, help="Name of the profile; 'tuned' by default."),
    k: int = typer.Option(100, "-k", help="Number of hits per query."),
    plot: Path | None = typer.Option(None, help="Draw recall against documents scored to a .svg or .png file."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Tune the searches of an index to a target. Without a target, store the profiles fast, balanced and exact.

    Examples:

    hi2 tune wiki.hi2 --queries q.jsonl

    hi2 tune wiki.hi2 --queries q.jsonl --budget 1000 --name mine
    """
    if plot is not None:
        _check_plot(plot)
    begin = time.perf_counter()
    judged = _default_qrels(queries) if qrels is None else qrels
    query_list = list(read_queries(queries))
    rows = _rows(query_list, judged, limit)
    texts = [query_list[row].text for row in rows]
    with open_index(index, "w", encoder=encoder, trust_encoder=trust_encoder) as given:
        opened = given.index
        relevant = None if judged is None else _relevant(opened, judged, query_list, rows)
        if not settings.quiet and (vectors is not None or given.own_towers() is not None):
            what = f"{len(rows)} of {len(query_list)} queries" + ("" if judged is None else f", judged in {judged}")
            typer.echo(f"tuning on {what}; {_estimate(len(rows), len(opened))}", err=True)
        tuned = opened.tune(
            *(given.queries(texts) if vectors is None else (_vectors(vectors, len(query_list))[rows], texts)),
            relevant=relevant,
            target=target,
            latency=latency,
            budget=budget,
            name=name,
            k=k,
            threads=threads,
            progress=Progress(settings.progress),
        )
        opened.commit(progress=False)
    typer.echo(str(tuned))
    if not settings.quiet:
        typer.echo(f"{time.perf_counter() - begin:.0f} s", err=True)
    for label, profile in tuned.profiles.items():
        said = ", ".join(f"{key}={value}" for key, value in profile.arguments().items())
        typer.echo(f"{label}: {said}; hi2 search {index} --profile {label}")
    if plot is not None:
        tuned.plot(plot)


def _vectors(path: Path, n_queries: int) -> Any:
    """The vectors of all queries."""
    vectors = load_vectors(path)
    if len(vectors) != n_queries:
        raise invalid("--vectors", f"one row per query ({n_queries})", f"{len(vectors)} in '{path}'")
    return vectors


def _default_qrels(queries: Path) -> Path | None:
    """The judgements of a BEIR folder that settings may be chosen by; None if there are none, or no folder."""
    found = [queries / "qrels" / f"{split}.tsv" for split in ("dev", "train")] if queries.is_dir() else []
    return next((path for path in found if path.is_file()), None)


def _rows(queries: list[Document], judged: Path | None, limit: int) -> list[int]:
    """The queries to tune on: the first ones, of those that are judged where there are judgements."""
    if judged is None:
        return list(range(len(queries)))[:limit]
    known = {line.split("\t")[0] for _, line in read_lines(judged)}
    rows = [row for row, one in enumerate(queries) if one.id in known]
    if not rows:
        raise invalid("--qrels", "judgements of the queries", f"'{judged}', which has none of them")
    return rows[:limit]


def _estimate(n_queries: int, n_docs: int) -> str:
    """About how long it takes, from what it took on collections of 5,000 to 250,000 documents."""
    seconds = max(5.0, n_queries * (0.008 + n_docs * 5e-7))
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} minutes"


def _check_plot(path: Path) -> None:
    """Refuse a plot that cannot be drawn before minutes of tuning."""
    if path.suffix not in (".svg", ".png") or not path.parent.is_dir():
        raise invalid("--plot", "a .svg or .png file in a folder that exists", f"'{path}'")
    if find_spec("matplotlib") is None:
        raise MissingExtra("A plot needs an extra; install it with: pip install 'hi2[plots]'")


def _relevant(index: HybridIndex, qrels: Path, queries: list[Document], rows: list[int]) -> list[dict[Any, int]]:
    from hi2.evaluation.judgements import read_grades

    grades = read_grades(qrels, queries=[one.id for one in queries], documents=None)
    known = set(grades.queries)
    relevant = []
    for query in (queries[row].id for row in rows):
        ids = grades.relevant(query) if query in known else []
        relevant.append(dict(zip(index.parse_ids(ids), grades.gains(query, ids) if ids else [], strict=True)))
    return relevant

"""``hi2 train``: learn better selectors and a better codec from queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from hi2.cli.index_encoder import TRUST_HELP, OpenedIndex, encode_batches, open_index
from hi2.cli.options import settings as shared
from hi2.encoders.encoder import encode
from hi2.errors import MissingExtra, invalid
from hi2.progress import Progress


def run(
    out: Path = typer.Option(
        ..., "--out", "-o", help="Folder for the trained parts, and for checkpoints during training."
    ),
    index: Path | None = typer.Option(None, help="The index to train for; it must store its texts."),
    queries: Path | None = typer.Option(None, help="Queries as .jsonl, with --index."),
    qrels: Path | None = typer.Option(None, help="Judgements as .tsv, with --index; optional."),
    data: Path | None = typer.Option(None, help="A collection with train and dev queries, instead of --index."),
    vectors: Path | None = typer.Option(
        None, help="Folder with corpus.npy and queries.npy. Without it, the encoder makes the vectors."
    ),
    encoder: str | None = typer.Option(
        None,
        help="Encoder that makes the vectors if none are given. With --data static by default, "
        "with --index the one the index was built with.",
    ),
    trust_encoder: bool = typer.Option(False, "--trust-encoder", help=f"{TRUST_HELP} With --index."),
    light: bool = typer.Option(False, "--light", help="Train without a transformer: one gain per term on top of BM25."),
    method: str | None = typer.Option(None, help="hi2, light, distill-vq, jpq or ivf; hi2 by default."),
    backbone: str = typer.Option(
        "sentence-transformers/all-MiniLM-L6-v2", help="The transformer of the term scorer: a folder or a hub name."
    ),
    layers: int | None = typer.Option(
        None, help="Use only this many first layers of the transformer, which is faster."
    ),
    trainable_layers: int = typer.Option(0, help="Number of transformer layers that are trained too."),
    labels: bool = typer.Option(True, help="Learn from judgements if there are any; otherwise only from the teacher."),
    adapt: bool = typer.Option(
        True, help="First learn a linear map of queries from judgements. Needs PQ or OPQ, and no refine store."
    ),
    epochs: int = typer.Option(12, help="Maximum number of epochs."),
    batch: int = typer.Option(64, help="Queries per batch."),
    rate: float = typer.Option(1e-3, help="Learning rate."),
    codec: str | None = typer.Option(None, help="Codec to distil, with --data; OPQ by default."),
    seed: int = typer.Option(0, help="Seed of the random numbers."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Learn the selectors and the codec of a collection from queries; judgements are optional.

    Examples:

    hi2 train --index wiki.hi2 --queries q.jsonl -o parts --light --batch 8

    hi2 train --data scifact --vectors scifact/minilm -o trained/light --light --batch 4
    """
    try:
        from hi2.training import Settings, distill
    except ImportError as error:
        if (error.name or "").startswith("hi2"):
            raise
        raise MissingExtra(f"Training needs an extra; install it with: pip install 'hi2[train]' ({error})") from error
    if (index is None) == (data is None):
        raise invalid("--index", "given, or --data instead of it", "both" if index else "neither")
    if light and method not in (None, "light"):
        raise invalid("--method", "left out, or light, with --light", f"'{method}'")
    if (out / "parts.json").exists():
        raise invalid("--out", "a folder without trained parts", f"'{out}'")
    unused: dict[str, object] = {"--queries": queries, "--qrels": qrels, "--trust-encoder": trust_encoder}
    if index is not None:
        unused = {"--codec": codec}
    _refuse_unused("--index" if index else "--data", unused)
    settings = Settings(
        method=method or ("light" if light else "hi2"),
        epochs=epochs,
        batch=batch,
        rate=rate,
        layers=layers,
        trainable_layers=trainable_layers,
        seed=seed,
    )
    bars = Progress(shared.progress)
    given: dict[str, Any]
    refined = False
    if data is not None:
        given = _from_collection(data, vectors, encoder or "static", out, codec, bars)
    elif queries is None:
        raise invalid("--queries", "given with --index", None)
    else:
        with open_index(index or Path(), encoder=encoder, trust_encoder=trust_encoder) as opened:
            given, refined = _from_index(opened, queries, qrels, vectors)
        if refined and settings.method == "jpq":
            raise invalid(
                "--method", "another for an index with a refine store, which scores queries as they are", "jpq"
            )
    if not labels:
        given["positives"] = None
    settings = replace(settings, adapt=adapt and not refined)
    parts = distill(**given, settings=settings, backbone=backbone, folder=out, threads=threads, progress=bars)
    parts.save(out)
    _save_curve(parts.record, out)
    _print_summary(parts.record, out, mapping=settings.method in ("hi2", "light") and adapt)


def _print_summary(record: Any, out: Path, *, mapping: bool) -> None:
    """Print what was trained and how well it does on dev."""
    typer.echo(f"Trained on {record['n_queries']:,} queries, chosen on {record['n_dev']:,}; parts in {out}.")
    if "adapted" in record:
        typer.echo(
            "found on dev by brute force {before:.4f}, by mapped queries {mapped:.4f}".format(**record["adapted"])
        )
    elif mapping and record["labels"]:
        typer.echo("queries are not mapped: that needs PQ or OPQ codes, not residual, and no refine store")
    for name, values in record["curve"]["dev"].items():
        typer.echo(f"{name}: loss on dev {values[0]:.3f} before, {min(values):.3f} at its best")
    if "codec" in record:
        typer.echo("found on dev with codes " + ", ".join(f"{k} {v:.4f}" for k, v in record["codec"].items()))


def _refuse_unused(beside: str, given: dict[str, object]) -> None:
    """Refuse options that have no effect with the index or the collection."""
    for option, value in given.items():
        if value not in (None, False):
            raise invalid(option, f"left out with {beside}", f"'{value}'")


def _from_collection(
    data: Path, vectors: Path | None, encoder: str, out: Path, codec: str | None, bars: Progress
) -> dict[str, Any]:
    """Return the arguments of ``distill`` for a collection, with its dev queries held out."""
    from hi2.cli.options import parse_codec
    from hi2.evaluation.task import load_training

    loaded = load_training(data, vectors=vectors, encoder=encoder, cache=out / "vectors", progress=bars)
    return {**loaded, "codec": parse_codec(codec, "--codec")}


def _from_index(
    opened: OpenedIndex, queries: Path, qrels: Path | None, vectors: Path | None
) -> tuple[dict[str, Any], bool]:
    """Return the arguments of ``distill`` for an index, and whether the index has a refine store."""
    from hi2.data.input_files import read_queries
    from hi2.evaluation.judgements import read_grades
    from hi2.evaluation.vectors import read_vectors

    index = opened.index
    ids = index.ids()
    texts = index.texts()
    query_list = list(read_queries(queries))
    positives = None
    if qrels is not None:
        place = {str(id): row for row, id in enumerate(ids)}
        known = {query.id: row for row, query in enumerate(query_list)}
        grades = read_grades(qrels, queries=known, documents=place)
        found: list[list[int]] = [[] for _ in query_list]
        for query in grades.queries:
            found[known[query]] = [place[id] for id in grades.relevant(query)]
        positives = found
    if vectors is not None:
        corpus = read_vectors(vectors, "corpus.npy", len(texts), "documents")
        own = read_vectors(vectors, "queries.npy", len(query_list), "queries")
    else:
        towers = opened.own_towers()
        if towers is None:
            raise invalid("--vectors", "given: this index has no encoder", None)
        corpus = np.concatenate(list(encode_batches(towers.documents, texts, index.dim)))
        own = encode(towers.queries, [query.text for query in query_list], dim=index.dim)
    model = index.model
    given = {
        "vectors": corpus,
        "texts": texts,
        "queries": [query.text for query in query_list],
        "query_vectors": own,
        "positives": positives,
        "clusters": model.clusters,
        "terms": model.terms,
        "codec": model.codec,
        "metric": model.metric,
    }
    return given, model.refine is not None


def _save_curve(record: Any, out: Path) -> None:
    """Draw the training curve if matplotlib is installed."""
    from hi2.evaluation.report import plot_curve

    try:
        (out / "curve.svg").write_text(plot_curve(record["curve"]), encoding="utf-8")
    except MissingExtra:
        typer.echo("hi2: no plot of the curve without matplotlib: pip install 'hi2[plots]'", err=True)

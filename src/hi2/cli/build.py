"""``hi2 build``: build an index on disk from documents."""

from __future__ import annotations

import time
from itertools import tee
from pathlib import Path

import typer

from hi2.cli.options import CODEC_HELP, parse_codec, parse_tokenizer, report_skipped, settings
from hi2.data.input_files import Skipped, read_documents
from hi2.encoders.encoder import Encoder
from hi2.encoders.registry import ENCODERS, load_towers
from hi2.errors import invalid
from hi2.index import HybridIndex
from hi2.progress import Progress
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25


def run(
    source: Path = typer.Argument(help="BEIR folder, or .jsonl, .tsv or .parquet file (also .gz, .xz)."),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the new index; it must not exist."),
    vectors: Path | None = typer.Option(None, help="Vectors of the documents as .npy, one row per document."),
    encoder: str | None = typer.Option(
        None,
        help=f"Encoder of documents and queries: {', '.join(ENCODERS)} (NAME or NAME=PATH), or a sentence-transformers "
        "model (folder or name). Default without vectors: static.",
    ),
    codec: str | None = typer.Option(
        None, help=f"{CODEC_HELP}. Default: Flat up to 10,000 documents, beyond that RaBitQ refined by SQ8."
    ),
    refine: str | None = typer.Option(
        None, help="A second, more precise codec that rescores the best hits, e.g. Flat."
    ),
    clusters: int | None = typer.Option(None, help="Number of clusters; 2·√N by default."),
    per_doc: int = typer.Option(15, help="Number of terms that each document is filed under."),
    tokenizer: str = typer.Option(
        "english",
        help="A language ('german': stemmed words), 'words' (of any language), 'wordpiece' (BERT's), or a "
        "tokenizer.json or its folder.",
    ),
    metric: str = typer.Option("inner_product", help="inner_product or cosine."),
    text: bool = typer.Option(True, help="Keep the texts in the index."),
    bags: bool = typer.Option(True, help="Keep the words of each document, to rank by them."),
    skip_bad: bool = typer.Option(False, help="Skip bad lines and report how many there were."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Build an index from documents.

    Examples: hi2 build corpus.jsonl -o wiki.hi2      hi2 build scifact/ -o s.hi2 --vectors corpus.npy
    """
    start, bars = time.perf_counter(), Progress(settings.progress)
    if out.exists():
        raise invalid("--out", "a folder that does not exist yet", f"'{out}'")
    skipped = Skipped() if skip_bad else None
    # The input is read twice instead of held in memory. The first pass reads ids and finds bad lines before the build.
    ids, with_payload = [], False
    for document in read_documents(source, skipped=skipped):
        ids.append(document.id)
        with_payload = with_payload or bool(document.payload)
    for_texts, for_payload = tee(read_documents(source, skipped=Skipped() if skip_bad else None))
    texts = (document.text for document in for_texts)
    payload = (document.payload for document in for_payload) if with_payload else None
    index = HybridIndex.build(
        vectors,
        texts,
        ids=ids,
        encoder=_tower(encoder, given_vectors=vectors is not None),
        clusters=KMeans(clusters),
        terms=BM25(per_doc, tokenizer=parse_tokenizer(tokenizer)),
        codec=parse_codec(codec, "--codec"),
        refine=parse_codec(refine, "--refine"),
        metric=metric,
        payload=payload,
        keep_text=text,
        bags=bags,
        path=out,
        threads=threads,
        progress=bars,
    )
    index.close()
    seconds = time.perf_counter() - start
    typer.echo(f"{len(index)} documents in {out}, {seconds:.1f} s ({len(index) / seconds:.0f} per second)")
    phases = (f"{name} {spent:.1f} s ({len(index) / spent:,.0f} per second)" for name, spent in bars.seconds.items())
    typer.echo(", ".join(phases))
    line = report_skipped(skipped)
    if line:
        typer.echo(f"hi2: {line}", err=True)


def _tower(encoder: str | None, *, given_vectors: bool) -> Encoder | None:
    """Return the encoder that makes the vectors, or with given vectors the one for queries if there is one."""
    if given_vectors:
        return None if encoder is None else load_towers(encoder).queries
    return load_towers(encoder or "static").documents

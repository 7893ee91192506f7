"""``hi2 build``: build an index on disk from documents."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import compress, tee
from pathlib import Path

import typer

from hi2.cli.options import (
    CODEC_HELP,
    FIELDS_HELP,
    HEADER_HELP,
    NO_PAYLOAD_HELP,
    NUMBERS_HELP,
    ChosenFields,
    parse_codec,
    parse_header,
    parse_tokenizer,
    payload_problem,
    report_skipped,
    settings,
)
from hi2.data.input_files import Document, Skipped, read_documents
from hi2.data.text_files import read_text_files
from hi2.encoders.encoder import Encoder
from hi2.encoders.registry import ENCODERS, load_towers
from hi2.errors import invalid
from hi2.filters.column_types import ColumnTypes, declared_columns
from hi2.index import HybridIndex
from hi2.progress import Progress
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25
from hi2.text.chunks import chunks


def run(
    source: Path | None = typer.Argument(
        None, help="BEIR folder, or .jsonl, .tsv or .parquet file (also .gz, .xz); or --files."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the new index; it must not exist."),
    files: Path | None = typer.Option(
        None, help="Folder of .txt, .md and .html files, to be filed as passages; their paths are the documents."
    ),
    tokens: int = typer.Option(200, help="With --files, the largest number of tokens of a passage."),
    overlap: int | None = typer.Option(None, help="With --files, tokens that two passages share; a tenth by default."),
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
    header: str | None = typer.Option(None, help=HEADER_HELP),
    fields: str | None = typer.Option(None, help=FIELDS_HELP),
    numbers: str | None = typer.Option(None, help=NUMBERS_HELP),
    payload: bool = typer.Option(True, "--payload/--no-payload", help=NO_PAYLOAD_HELP),
    free: str | None = typer.Option(
        None, help="Fields that may have values of several types; they are kept, and cannot be filtered on."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the index at --out once the new one is whole."),
    skip_bad: bool = typer.Option(False, help="Skip bad lines and report how many there were."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default."),
) -> None:
    """Build an index from documents.

    Examples:

    hi2 build corpus.jsonl -o wiki.hi2

    hi2 build --files notes/ -o notes.hi2

    hi2 build scifact/ -o s.hi2 --vectors corpus.npy
    """
    start, bars = time.perf_counter(), Progress(settings.progress)
    if out.exists() and not overwrite:
        raise invalid("--out", "a folder that does not exist yet, unless --overwrite is given", f"'{out}'")
    keep = ChosenFields(fields, payload=payload, numbers=numbers)
    skipped = Skipped() if skip_bad else None
    declared = dict.fromkeys((name.strip() for name in free.split(",")) if free else (), "other")
    types = ColumnTypes(declared_columns(declared))
    read = partial(_documents, source, files, tokens, overlap, parse_header(header))
    # The input is read twice instead of held in memory. The first pass reads ids and finds bad lines before the build.
    good, with_payload = [], False
    ids: list[str] = []
    for document in read(skipped):
        own = keep(document.payload)
        wrong = payload_problem(types, own) if skipped is not None else None
        good.append(wrong is None)
        if skipped is not None and wrong is not None:
            skipped.note(f"{document.id}: {wrong}.")
            continue
        ids.append(document.id)
        with_payload = with_payload or bool(own)
    keep.check()
    if not ids:
        why = f": {report_skipped(skipped)}" if skipped is not None and skipped.n else ""
        raise invalid("--files" if source is None else "source", "documents with text", f"none{why}")
    for_texts, for_payload = tee(compress(read(Skipped() if skip_bad else None), good))
    texts = (document.text for document in for_texts)
    payloads = (keep(document.payload) for document in for_payload) if with_payload else None
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
        payload=payloads,
        keep_text=text,
        bags=bags,
        columns=declared,
        path=out,
        overwrite=overwrite,
        threads=threads,
        progress=bars,
    )
    index.close()
    line = report_skipped(skipped)
    if line:
        typer.echo(f"hi2: {line}", err=True)
    if settings.quiet:
        return
    seconds = time.perf_counter() - start
    typer.echo(f"{len(index)} documents in {out}, {seconds:.1f} s ({len(index) / seconds:.0f} per second)")
    phases = (f"{name} {spent:.1f} s ({len(index) / spent:,.0f} per second)" for name, spent in bars.seconds.items())
    typer.echo(", ".join(phases))


def _documents(
    source: Path | None,
    files: Path | None,
    tokens: int,
    overlap: int | None,
    header: list[str] | None,
    skipped: Skipped | None,
) -> Iterator[Document]:
    """Yield the documents of a file, or the passages of the files of a folder."""
    if (source is None) == (files is None):
        raise invalid("source", "given, or --files with a folder", "both" if files is not None else "neither")
    if files is None:
        yield from read_documents(Path(str(source)), skipped=skipped, header=header)
        return
    for document in read_text_files(files, skipped=skipped):
        found = chunks([document.text], ids=[document.id], tokens=tokens, overlap=overlap)
        for id, text, payload in zip(found.ids, found.texts, found.payload, strict=True):
            yield Document(id, text, payload)


def _tower(encoder: str | None, *, given_vectors: bool) -> Encoder | None:
    """Return the encoder that makes the vectors, or with given vectors the one for queries if there is one."""
    if given_vectors:
        return None if encoder is None else load_towers(encoder).queries
    return load_towers(encoder or "static").documents

"""What is measured on? A collection with its vectors, questions to tune on, and questions to report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hi2.encoders.encoder import Encoder
from hi2.encoders.registry import encoder_name, load_towers
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections import Collection, open_collection
from hi2.evaluation.judgements import Grades, Judgements
from hi2.evaluation.vectors import given_vectors, kept_vectors
from hi2.progress import Progress
from hi2.store.parts import checksum
from hi2.types import Floats

#: Where there is no dev split, this share of the training questions is tuned on.
TUNING_SHARE = 0.2
SEED = 0


@dataclass(frozen=True)
class Questions:
    """Some questions of a split, with what is known of them."""

    split: str
    ids: Sequence[str]
    texts: Sequence[str]
    vectors: Floats
    judged: Judgements

    def first(self, n: int | None) -> Questions:
        """Return the first ``n``, all for None."""
        if n is None:
            return self
        return Questions(self.split, self.ids[:n], self.texts[:n], self.vectors[:n], self.judged)

    def after(self, n: int) -> Questions:
        """Return all but the first ``n``."""
        return Questions(self.split, self.ids[n:], self.texts[n:], self.vectors[n:], self.judged)


@dataclass(frozen=True)
class Task:
    """A collection that can be searched. Nothing is chosen on ``test``."""

    name: str
    encoder: str
    ids: Sequence[str]
    texts: Sequence[str]
    vectors: Floats
    tune: Questions
    test: Questions
    manifest: dict[str, str]
    query_encoder: Encoder | None = None
    #: Names the vectors, the encoder, and the questions that are tuned on and reported.
    fingerprint: str = ""

    def gains(self, questions: Questions, i: int, rows: Sequence[int]) -> list[int]:
        """Return the grades of found rows for question ``i``; a system that repeats a document is refused."""
        found = [self.ids[row] for row in rows]
        if len(set(found)) < len(found):
            repeated = next(id for at, id in enumerate(found) if id in found[:at])
            raise InvalidParameter(f"The run of query {questions.ids[i]!r} has the document {repeated!r} twice.")
        return questions.judged.gains(questions.ids[i], found)


@dataclass(frozen=True)
class _Read:
    """A collection in memory, with its vectors."""

    collection: Collection
    encoder: str
    query_encoder: Encoder | None
    passages: dict[str, str]
    corpus: Floats
    queries: dict[str, str]
    asked: Floats
    manifest: dict[str, str]
    source: str


def _read(source: str | Path, vectors: Path | None, encoder: str, cache: Path | None, progress: Progress) -> _Read:
    collection = open_collection(source)
    query_encoder: Encoder | None = None
    with progress.phase("read", None):
        passages: dict[str, str] = {}
        for document in collection.documents():
            if document.id in passages:
                raise InvalidParameter(f"{collection.name}: the document {document.id!r} is there twice.")
            passages[document.id] = document.text
        queries = collection.queries()
        texts = list(passages.values())
    manifest = collection.manifest()
    if vectors is not None:
        name = vectors.resolve().name
        corpus = given_vectors(vectors, "corpus.npy", len(texts), "documents")
        asked = given_vectors(vectors, "queries.npy", len(queries), "queries")
    else:
        name = encoder_name(encoder)
        towers = load_towers(encoder)
        folder = (cache or Path("vectors")) / f"{collection.name}-{name}-{digest(manifest, encoder)}"
        corpus = kept_vectors(folder / "corpus.npy", texts, towers.documents, progress)
        asked = kept_vectors(folder / "queries.npy", list(queries.values()), towers.queries, progress)
        query_encoder = towers.queries
    if corpus.shape[1] != asked.shape[1]:
        got = f"{corpus.shape[1]} in corpus.npy and {asked.shape[1]} in queries.npy"
        raise invalid("--vectors", "of one dimension", got)
    source_name = name if vectors is not None else encoder
    return _Read(collection, name, query_encoder, passages, corpus, queries, asked, manifest, source_name)


def load_task(
    source: str | Path,
    *,
    vectors: Path | None = None,
    encoder: str = "static",
    cache: Path | None = None,
    test: str = "test",
    limit: int | None = None,
    progress: Progress,
) -> Task:
    """Read a collection and its vectors, from a folder with corpus.npy and queries.npy or made by ``encoder`` and kept.

    ``limit`` takes the first questions of each split only.
    """
    read = _read(source, vectors, encoder, cache, progress)
    rows = {id: row for row, id in enumerate(read.queries)}

    def questions(split: str, wanted: Sequence[str], judged: Judgements) -> Questions:
        chosen = list(wanted)[:limit]
        own = read.asked[[rows[id] for id in chosen]]
        return Questions(split, chosen, [read.queries[id] for id in chosen], own, judged)

    judged = read.collection.judgements(test, passages=read.passages)
    reported = questions(test, judged.queries, judged)
    name_of_tuning, ids, tuning = _tuning(read.collection, test, read.passages)
    known = set(reported.ids)
    tuned = questions(name_of_tuning, [id for id in ids if id not in known], tuning)
    if not tuned.ids:
        raise invalid("--data", f"a collection with questions to tune on that are not in {test}", read.collection.name)
    made_by = [checksum(read.corpus), checksum(read.asked), read.source, test, reported.ids, tuned.ids]
    return Task(
        read.collection.name,
        read.encoder,
        list(read.passages),
        list(read.passages.values()),
        read.corpus,
        tuned,
        reported,
        read.manifest,
        read.query_encoder,
        digest(read.manifest, made_by),
    )


def load_training(
    source: str | Path, *, vectors: Path | None, encoder: str, cache: Path | None, progress: Progress
) -> dict[str, Any]:
    """Return what ``hi2.training.distill`` takes of a collection: train queries, what the lab tunes on held out."""
    read = _read(source, vectors, encoder, cache, progress)
    if "train" not in read.collection.splits:
        raise invalid("--data", "a collection with a train split", read.collection.name)
    judged = read.collection.judgements("train", passages=read.passages)
    _, held, tuning = _tuning(read.collection, "test", read.passages)
    reported = set(read.collection.judgements("test").queries) if "test" in read.collection.splits else set()
    texts = {_plain(read.queries[id]) for id in reported}  # the same question under another id is out too
    held = [id for id in held if id not in reported and _plain(read.queries[id]) not in texts]
    left_out, texts = {*held, *reported}, texts | {_plain(read.queries[id]) for id in held}
    ids = [id for id in judged.queries if id not in left_out and _plain(read.queries[id]) not in texts]
    place, rows = ({id: row for row, id in enumerate(known)} for known in (read.passages, read.queries))
    positives = None
    if isinstance(judged, Grades) and isinstance(tuning, Grades):
        own = [*(judged.relevant(id) for id in ids), *(tuning.relevant(id) for id in held)]
        positives = [[place[id] for id in found] for found in own]
    return {
        "vectors": read.corpus,
        "texts": list(read.passages.values()),
        "queries": [read.queries[id] for id in [*ids, *held]],
        "query_vectors": read.asked[[rows[id] for id in [*ids, *held]]],
        "positives": positives,
        "dev": range(len(ids), len(ids) + len(held)),
    }


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _tuning(collection: Collection, test: str, passages: dict[str, str]) -> tuple[str, Sequence[str], Judgements]:
    """The dev split, or a seeded share of the training questions."""
    splits = [split for split in collection.splits if split != test]
    if "dev" in splits:
        judged = collection.judgements("dev", passages=passages)
        return "dev", judged.queries, judged
    if "train" not in splits:
        raise invalid("--data", f"a collection with a dev or train split to tune on, beside {test}", collection.name)
    judged = collection.judgements("train", passages=passages)
    known = judged.queries
    chosen = np.random.default_rng(SEED).permutation(len(known))
    chosen = np.sort(chosen[: max(1, round(TUNING_SHARE * len(chosen)))])
    return f"{TUNING_SHARE:.0%} of train", [known[i] for i in chosen], judged


def digest(manifest: dict[str, str], made_by: object) -> str:
    """Return a short name of what is made of a collection."""
    return hashlib.sha256(json.dumps([manifest, made_by], sort_keys=True).encode()).hexdigest()[:10]

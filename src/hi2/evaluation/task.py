"""What are systems measured on? A collection with vectors, questions to tune on and questions to report."""

from __future__ import annotations

import hashlib
import json
import sys
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
from hi2.evaluation.question_lists import QuestionList, read_question_lists, reported_list
from hi2.evaluation.vectors import cached_vectors, read_vectors
from hi2.progress import Progress
from hi2.store.trained_parts import checksum
from hi2.types import Floats

#: The share of the training questions that is tuned on if there is no dev split.
TUNING_SHARE = 0.2
SEED = 0


@dataclass(frozen=True)
class Questions:
    """Some questions of a split, with their vectors and judgements."""

    split: str
    ids: Sequence[str]
    texts: Sequence[str]
    vectors: Floats
    judged: Judgements

    def first(self, n: int | None) -> Questions:
        """Return the first ``n`` questions; all of them for None."""
        if n is None:
            return self
        return Questions(self.split, self.ids[:n], self.texts[:n], self.vectors[:n], self.judged)

    def after(self, n: int) -> Questions:
        """Return all questions but the first ``n``."""
        return Questions(self.split, self.ids[n:], self.texts[n:], self.vectors[n:], self.judged)


@dataclass(frozen=True)
class Task:
    """A collection ready to be searched. Settings are chosen on ``tune`` and reported on ``test``."""

    name: str
    encoder: str
    ids: Sequence[str]
    texts: Sequence[str]
    vectors: Floats
    tune: Questions
    test: Questions
    manifest: dict[str, str]
    query_encoder: Encoder | None = None
    #: Identifies the vectors, the encoder, and the tuning and test questions.
    fingerprint: str = ""
    #: Whether the questions come from lists. All questions of a list are used, also for tuning.
    listed: bool = False

    def gains(self, questions: Questions, i: int, rows: Sequence[int]) -> list[int]:
        """Return the grades of the rows found for question ``i``. A repeated document is refused."""
        found = [self.ids[row] for row in rows]
        if len(set(found)) < len(found):
            repeated = next(id for at, id in enumerate(found) if id in found[:at])
            raise InvalidParameter(f"The run of query {questions.ids[i]!r} has the document {repeated!r} twice.")
        return questions.judged.gains(questions.ids[i], found)

    def nearest(self, questions: Questions, k: int) -> list[list[int]]:
        """Return the rows of the ``k`` nearest documents of every question, by brute force."""
        scores = questions.vectors @ self.vectors.T
        rows: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
        return rows


@dataclass(frozen=True)
class _LoadedCollection:
    """A collection in memory with its vectors."""

    collection: Collection
    encoder: str
    query_encoder: Encoder | None
    passages: dict[str, str]
    corpus: Floats
    queries: dict[str, str]
    query_vectors: Floats
    manifest: dict[str, str]
    source: str


def _load_collection(
    source: str | Path, vectors: Path | None, encoder: str, cache: Path | None, progress: Progress
) -> _LoadedCollection:
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
        corpus = read_vectors(vectors, "corpus.npy", len(texts), "documents")
        query_vectors = read_vectors(vectors, "queries.npy", len(queries), "queries")
    else:
        name = encoder_name(encoder)
        towers = load_towers(encoder)
        folder = (cache or Path("vectors")) / f"{collection.name}-{name}-{digest(manifest, encoder)}"
        corpus = cached_vectors(folder / "corpus.npy", texts, towers.documents, progress)
        query_vectors = cached_vectors(folder / "queries.npy", list(queries.values()), towers.queries, progress)
        query_encoder = towers.queries
    if corpus.shape[1] != query_vectors.shape[1]:
        got = f"{corpus.shape[1]} in corpus.npy and {query_vectors.shape[1]} in queries.npy"
        raise invalid("--vectors", "of one dimension", got)
    source_name = name if vectors is not None else encoder
    return _LoadedCollection(
        collection, name, query_encoder, passages, corpus, queries, query_vectors, manifest, source_name
    )


def load_task(
    source: str | Path,
    *,
    vectors: Path | None = None,
    encoder: str = "static",
    cache: Path | None = None,
    test: str = "test",
    limit: int | None = None,
    tune_limit: int | None = None,
    questions: Path | None = None,
    final: bool = False,
    progress: Progress,
) -> Task:
    """Read a collection and its vectors.

    Vectors come from the folder ``vectors`` (corpus.npy and queries.npy) or are made by ``encoder`` and kept under
    ``cache``. ``limit`` keeps only the first questions of each split, ``tune_limit`` only the first of those that
    settings are chosen on. ``questions`` is a file, or a folder of files, with lists of the questions to tune on and to
    report; ``final`` reports the final questions instead of test.
    """
    listed = reported_list(questions, open_collection(source).name, test, final=final)
    loaded = _load_collection(source, vectors, encoder, cache, progress)
    n_tuned = min(limit or sys.maxsize, tune_limit or sys.maxsize)
    if questions is not None and listed is not None:
        reported = _listed_questions(loaded, listed, limit)
        tuned = _listed_questions(loaded, read_question_lists(questions, loaded.collection.name).dev, n_tuned)
    else:
        judged = loaded.collection.judgements(test, passages=loaded.passages)
        reported = _questions(loaded, test, judged.queries[:limit], judged)
        tuning_split, ids, tuning = tuning_questions(loaded.collection, test, loaded.passages)
        known = set(reported.ids)
        tuned = _questions(loaded, tuning_split, [id for id in ids if id not in known][:n_tuned], tuning)
    if not tuned.ids:
        raise invalid(
            "--data", f"a collection with questions to tune on that are not in {test}", loaded.collection.name
        )
    depends_on = [checksum(loaded.corpus), checksum(loaded.query_vectors), loaded.source, test, reported.ids, tuned.ids]
    if questions is not None:
        depends_on.append([reported.split, tuned.split])
    return Task(
        loaded.collection.name,
        loaded.encoder,
        list(loaded.passages),
        list(loaded.passages.values()),
        loaded.corpus,
        tuned,
        reported,
        loaded.manifest,
        loaded.query_encoder,
        digest(loaded.manifest, depends_on),
        questions is not None,
    )


def _questions(loaded: _LoadedCollection, split: str, ids: Sequence[str], judged: Judgements) -> Questions:
    rows = {id: row for row, id in enumerate(loaded.queries)}
    own = loaded.query_vectors[[rows[id] for id in ids]]
    return Questions(split, list(ids), [loaded.queries[id] for id in ids], own, judged)


def _listed_questions(loaded: _LoadedCollection, listed: QuestionList, limit: int | None) -> Questions:
    judged = loaded.collection.judgements(listed.split, passages=loaded.passages)
    listed.check_judged(judged.queries)
    return _questions(loaded, str(listed), listed.ids[:limit], judged)


def load_training(
    source: str | Path, *, vectors: Path | None, encoder: str, cache: Path | None, progress: Progress
) -> dict[str, Any]:
    """Return the arguments of ``hi2.training.distill``. The questions that the lab tunes on are held out as dev."""
    loaded = _load_collection(source, vectors, encoder, cache, progress)
    if "train" not in loaded.collection.splits:
        raise invalid("--data", "a collection with a train split", loaded.collection.name)
    judged = loaded.collection.judgements("train", passages=loaded.passages)
    _, held, tuning = tuning_questions(loaded.collection, "test", loaded.passages)
    reported = set(loaded.collection.judgements("test").queries) if "test" in loaded.collection.splits else set()
    texts = {normalised(loaded.queries[id]) for id in reported}  # a test question under another id is left out too
    held = [id for id in held if id not in reported and normalised(loaded.queries[id]) not in texts]
    left_out, texts = {*held, *reported}, texts | {normalised(loaded.queries[id]) for id in held}
    ids = [id for id in judged.queries if id not in left_out and normalised(loaded.queries[id]) not in texts]
    place, rows = ({id: row for row, id in enumerate(known)} for known in (loaded.passages, loaded.queries))
    positives = None
    if isinstance(judged, Grades) and isinstance(tuning, Grades):
        own = [*(judged.relevant(id) for id in ids), *(tuning.relevant(id) for id in held)]
        positives = [[place[id] for id in found] for found in own]
    return {
        "vectors": loaded.corpus,
        "texts": list(loaded.passages.values()),
        "queries": [loaded.queries[id] for id in [*ids, *held]],
        "query_vectors": loaded.query_vectors[[rows[id] for id in [*ids, *held]]],
        "positives": positives,
        "dev": range(len(ids), len(ids) + len(held)),
    }


def normalised(text: str) -> str:
    """Return the text by which a question is recognised under another id: lower case, single spaces."""
    return " ".join(text.lower().split())


def tuning_questions(
    collection: Collection, test: str, passages: dict[str, str] | None
) -> tuple[str, Sequence[str], Judgements]:
    """Return the questions to tune on: the dev split, or a seeded share of the training questions."""
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


def digest(manifest: dict[str, str], depends_on: object) -> str:
    """Return a short hash of a collection's files and of whatever else a result depends on."""
    return hashlib.sha256(json.dumps([manifest, depends_on], sort_keys=True).encode()).hexdigest()[:10]

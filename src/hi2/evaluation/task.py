"""What is measured on? A collection with its vectors, questions to tune on, and questions to report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hi2.encoders.encoder import Encoder
from hi2.encoders.registry import encoder_name, load_towers
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections import Collection, open_collection
from hi2.evaluation.judgements import Judgements
from hi2.evaluation.vectors import given_vectors, kept_vectors
from hi2.progress import Progress
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

    def gains(self, questions: Questions, i: int, rows: Sequence[int]) -> list[int]:
        """Return the grades of found rows for question ``i``; a system that repeats a document is refused."""
        found = [self.ids[row] for row in rows]
        if len(set(found)) < len(found):
            repeated = next(id for at, id in enumerate(found) if id in found[:at])
            raise InvalidParameter(f"The run of query {questions.ids[i]!r} has the document {repeated!r} twice.")
        return questions.judged.gains(questions.ids[i], found)


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
    collection = open_collection(source)
    query_encoder: Encoder | None = None
    with progress.phase("read", None):
        documents = list(collection.documents())
        queries = collection.queries()
        passages = {document.id: document.text for document in documents}
        texts = [document.text for document in documents]
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
    rows = {id: row for row, id in enumerate(queries)}

    def questions(split: str, wanted: Sequence[str], judged: Judgements) -> Questions:
        chosen = list(wanted)[:limit]
        return Questions(split, chosen, [queries[id] for id in chosen], asked[[rows[id] for id in chosen]], judged)

    judged = collection.judgements(test, passages=passages)
    reported = questions(test, judged.queries, judged)
    name_of_tuning, ids, tuning = _tuning(collection, test, passages)
    ids = [id for id in ids if id not in set(reported.ids)]
    return Task(
        collection.name,
        name,
        [document.id for document in documents],
        texts,
        corpus,
        questions(name_of_tuning, ids, tuning),
        reported,
        manifest,
        query_encoder,
    )


def _tuning(collection: Collection, test: str, passages: dict[str, str]) -> tuple[str, Sequence[str], Judgements]:
    """The dev split, or a seeded share of the training questions."""
    splits = [split for split in collection.splits if split != test]
    if "dev" in splits:
        judged = collection.judgements("dev", passages=passages)
        return "dev", judged.queries, judged
    if "train" not in splits:
        raise invalid("--data", f"a collection with a dev or train split to tune on, beside {test}", collection.name)
    judged = collection.judgements("train", passages=passages)
    chosen = np.random.default_rng(SEED).permutation(len(judged.queries))
    chosen = np.sort(chosen[: max(1, round(TUNING_SHARE * len(chosen)))])
    return f"{TUNING_SHARE:.0%} of train", [judged.queries[i] for i in chosen], judged


def digest(manifest: dict[str, str], made_by: object) -> str:
    """Return a short name of what is made of a collection."""
    return hashlib.sha256(json.dumps([manifest, made_by], sort_keys=True).encode()).hexdigest()[:10]

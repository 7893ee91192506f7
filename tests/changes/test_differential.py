"""Whatever is done to an index in whatever order, it answers as a dictionary and brute force do.

A sequence adds, deletes, upserts, merges, commits, reopens and forks an index. After every step some searches must
return exactly the documents, the scores and the order that a dictionary with the same changes gives. The score of a
document under a codec, and whether a query's lists hold it, do not depend on the other documents: both are read from
one index of all documents that is never changed. Vectors are small integers and come back under many ids, so scores
tie. Some documents have no vector.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import hi2
from forked import in_child
from hi2.filters.parser import parse

N, DIM, CLUSTERS, SEQUENCES, STEPS = 90, 8, 5, 510, 14
WORDS = ["red", "green", "blue", "fast", "slow", "river", "stone", "cloud", "tree", "bird", "apple", "pear"]
CODECS = [hi2.Flat(), hi2.Half(), hi2.SQ8(), hi2.PQ(4, bits=4), hi2.OPQ(4, bits=4, residual=True), hi2.RaBitQ(bits=2)]
WITHOUT = set(range(4, N, 9))
QUERIES = [("red river", 0), ("stone", 1), ("bird tree apple", 2), ("", 3), ("nothing known", 4)]
EFFORTS = [{"clusters": CLUSTERS}, {"clusters": 0}, {"clusters": 2}, {"clusters": 1, "terms": 1}]
FILTERS = {
    "year >= 2003": lambda own: own.get("year", 0) >= 2003,
    "lang == 'de' or lang == 'fr'": lambda own: own.get("lang") in ("de", "fr"),
    "lang in ('en', 'it') and not draft": lambda own: own.get("lang") in ("en", "it") and not own.get("draft"),
    "tags contains 'x'": lambda own: "x" in own.get("tags", []),
    "not year exists": lambda own: "year" not in own,
    "price < 1.5 and year != 2001": lambda own: own.get("price", 9) < 1.5 and own.get("year", 2001) != 2001,
}


class World:
    """All documents there can be, and what is true of each under one codec."""

    def __init__(self, codec) -> None:
        rng = np.random.default_rng(3)
        tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*WORDS, "[UNK]"])}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        self.vectors = rng.integers(-2, 3, (N, DIM)).astype(np.float32)
        self.vectors[N // 2 :] = self.vectors[rng.integers(0, N // 2, N - N // 2)]  # equal vectors tie
        self.texts = [" ".join(rng.choice(WORDS, rng.integers(0, 7))) for _ in range(N)]
        self.payload = [self._payload(rng) for _ in range(N)]
        self.queries = rng.integers(-2, 3, (len(QUERIES), DIM)).astype(np.float32)
        terms = hi2.BM25(per_doc=3, tokenizer=tokenizer)
        index = hi2.HybridIndex.build(
            self.given(range(N)),
            self.texts,
            clusters=hi2.KMeans(CLUSTERS, copies=1, copy_margin=0.3),
            terms=terms,
            codec=codec,
        )
        self.parts = {"clusters": index.model.clusters, "terms": index.model.terms, "codec": index.model.codec}
        #: By query: the score of every document. By query and effort: the documents that are found.
        self.scores = np.zeros((len(QUERIES), N), np.float32)
        self.found: list[list[set[int]]] = []
        dense = np.zeros_like(self.scores)
        for text, number in QUERIES:
            hits = index.search(self.queries[number], text, k=N, clusters=CLUSTERS)
            self.scores[number, hits.ids] = hits.scores
            dense[number, hits.ids] = hits.dense
            assert set(range(N)) - WITHOUT <= set(hits.ids.tolist())
            searches = (index.search(self.queries[number], text, k=N, **effort) for effort in EFFORTS)
            self.found.append([set(hits.ids.tolist()) for hits in searches])
            worded = {row for row in WITHOUT if set(self.texts[row].split()) & set(text.split())}
            assert set(hits.ids.tolist()) & WITHOUT == worded
        if isinstance(codec, hi2.Flat):
            own = [row for row in range(N) if row not in WITHOUT]
            np.testing.assert_array_equal(dense[:, own], self.queries @ self.vectors[own].T)

    def given(self, rows) -> Any:
        """Vectors as a caller gives them; None where there is none."""
        return [None if row in WITHOUT else self.vectors[row] for row in rows]

    @staticmethod
    def _payload(rng) -> dict[str, Any]:
        values = {
            "year": int(rng.integers(2000, 2007)),
            "lang": str(rng.choice(["en", "de", "fr", "it"])),
            "draft": bool(rng.integers(2)),
            "tags": [str(tag) for tag in rng.choice(["x", "y", "z"], rng.integers(0, 3), replace=False)],
            "price": float(rng.integers(0, 8)) / 2,
        }
        return {name: value for name, value in values.items() if rng.random() < 0.8}


@dataclass
class Sequence:
    """One index, the dictionary that it must equal, and the one of its last commit."""

    world: World
    rng: np.random.Generator
    folder: Any
    string_ids: bool
    index: Any = None
    kept: dict[Any, int] = field(default_factory=dict)
    committed: dict[Any, int] = field(default_factory=dict)
    next_id: int = 0

    def start(self) -> None:
        rows, ids = self.documents(int(self.rng.integers(1, 30)))
        rows[0] = rows[0] + (rows[0] in WITHOUT)  # a build needs a vector
        build = {**self.rows(rows), "ids": ids, "keep_text": True, **self.world.parts, "threads": 1}
        self.index = hi2.HybridIndex.build(**build, path=self.folder)
        self.kept.update(zip(ids, rows, strict=True))
        self.committed = dict(self.kept)

    def documents(self, n: int) -> tuple[list[int], list[Any]]:
        numbers = range(self.next_id, self.next_id + n)
        self.next_id += n
        rows = self.rng.integers(0, N, n).tolist()
        return rows, [f"id {(number * 37) % 1009}" if self.string_ids else (number * 37) % 1009 for number in numbers]

    def rows(self, rows: list[int]) -> dict[str, Any]:
        world = self.world
        return {
            "vectors": world.given(rows),
            "texts": [world.texts[row] for row in rows],
            "payload": [world.payload[row] for row in rows],
        }

    # -- what may happen ----------------------------------------------------------------------------------------------

    def add(self) -> None:
        rows, ids = self.documents(int(self.rng.choice([1, 1, 2, 5, 25])))
        self.index.add(**self.rows(rows), ids=ids)
        self.kept.update(zip(ids, rows, strict=True))

    def delete(self) -> None:
        if self.kept:
            n = int(self.rng.integers(1, 1 + max(1, len(self.kept) * self.rng.integers(1, 5) // 4)))
            ids = [list(self.kept)[place] for place in self.rng.permutation(len(self.kept))[:n]]
            assert self.index.delete(ids) == len(ids)
            for id in ids:
                del self.kept[id]

    def upsert(self) -> None:
        rows, ids = self.documents(int(self.rng.integers(1, 5)))
        known = list(self.kept)
        for place in range(len(ids)):
            if known and self.rng.random() < 0.6:
                ids[place] = known.pop(int(self.rng.integers(len(known))))
        self.index.upsert(**self.rows(rows), ids=ids)
        for id, row in zip(ids, rows, strict=True):
            self.kept.pop(id, None)
            self.kept[id] = row

    def merge(self) -> None:
        self.index.merge()

    def commit(self) -> None:
        if self.folder is not None:
            self.index.commit()
            self.committed = dict(self.kept)

    def reopen(self) -> None:
        """What was not committed is gone. A reader sees the last commit all the while."""
        if self.folder is not None:
            reader = hi2.HybridIndex.open(self.folder, mmap=bool(self.rng.integers(2)))
            self.check(reader, self.committed)
            self.index.close()
            self.index = hi2.HybridIndex.open(self.folder, "w", mmap=bool(self.rng.integers(2)))
            self.kept = dict(self.committed)

    def fork(self) -> None:
        """A child sees the same; what it changes in memory is its own."""

        def work() -> None:
            self.check(self.index, self.kept)
            if self.folder is None:
                self.add()
                self.delete()
                self.check(self.index, self.kept)

        assert in_child(work) == 0

    # -- what must be true --------------------------------------------------------------------------------------------

    def check(self, index, kept: dict[Any, int]) -> None:
        assert len(index) == len(kept)
        assert index.ids() == list(kept)
        if kept:
            id = list(kept)[int(self.rng.integers(len(kept)))]
            expected = {"id": id, "text": self.world.texts[kept[id]], "payload": self.world.payload[kept[id]]}
            assert index.get(id) == expected
        number = int(self.rng.integers(len(QUERIES)))
        effort = int(self.rng.integers(len(EFFORTS)))
        found = self.world.found[number][effort]
        self.search(index, number, [id for id, row in kept.items() if row in found], kept, **EFFORTS[effort])
        said, holds = list(FILTERS.items())[int(self.rng.integers(len(FILTERS)))]
        findable = self.world.found[number][0]  # a filter finds no document that has neither vector nor words
        passing = [id for id, row in kept.items() if holds(self.world.payload[row]) and row in findable]
        columns = {name for row in kept.values() for name in self.world.payload[row]}
        if passing and parse(said).names() <= columns:
            self.search(index, number, passing, kept, clusters=CLUSTERS, filter=said)
            some = passing[:: int(self.rng.integers(1, 4))]
            self.search(index, number, some, kept, clusters=CLUSTERS, filter=[id for id in kept if id in set(some)])

    def search(self, index, number: int, ids: list[Any], kept: dict[Any, int], **arguments: Any) -> None:
        scores = self.world.scores[number]
        place = {id: i for i, id in enumerate(kept)}
        best = sorted(ids, key=lambda id: (-scores[kept[id]], place[id]))
        k = int(self.rng.choice([1, 3, 10, len(kept) + 3]))
        hits = index.search(self.world.queries[number], QUERIES[number][0], k=k, **arguments)
        assert hits.ids.tolist() == best[:k], arguments
        np.testing.assert_array_equal(hits.scores, scores[[kept[id] for id in best[:k]]])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_an_index_equals_a_dictionary_and_brute_force_after_any_sequence(codec, tmp_path):
    world = World(codec)
    steps = ["add"] * 5 + ["delete"] * 4 + ["upsert"] * 3 + ["merge", "commit", "commit", "commit", "reopen", "fork"]
    done: dict[str, int] = dict.fromkeys(steps, 0)
    for number in range(SEQUENCES // len(CODECS)):
        rng = np.random.default_rng([number, CODECS.index(codec)])
        folder = tmp_path / str(number) if number % 2 else None
        sequence = Sequence(world, rng, folder, string_ids=number % 4 < 2)
        sequence.start()
        said = []
        try:
            for _ in range(STEPS):
                said.append(str(rng.choice(steps)))
                getattr(sequence, said[-1])()
                done[said[-1]] += 1
                sequence.check(sequence.index, sequence.kept)
            sequence.index.verify()
        except BaseException as error:
            error.add_note(f"sequence {number}: {said}") if hasattr(error, "add_note") else None
            raise
        if folder is not None:
            sequence.index.close()
            shutil.rmtree(folder)
    assert min(done.values()) > 20

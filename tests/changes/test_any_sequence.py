"""After any sequence of changes, the index holds exactly the documents put into it."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import hi2
from hi2.index import HybridIndex


class Shelf(RuleBasedStateMachine):
    """After any sequence of changes, the index equals a plain dictionary with the same changes."""

    @initialize(n=st.integers(1, 12))
    def build(self, n):
        rng = np.random.default_rng(0)
        self.words = ["red", "green", "blue", "fast", "slow", "river", "stone", "cloud", "tree", "bird"]
        self.rng = rng
        self.kept: dict[str, tuple[np.ndarray, str]] = {}
        self.counter = 0
        vectors, texts, ids = self.make(n)
        self.index = HybridIndex.build(vectors, texts, ids=ids, clusters=hi2.KMeans(3), keep_text=True)
        self.note(vectors, texts, ids)

    def make(self, n):
        vectors = self.rng.integers(-3, 4, (n, 6)).astype(np.float32)
        texts = [" ".join(self.rng.choice(self.words, 4)) for _ in range(n)]
        ids = [f"d{self.counter + i}" for i in range(n)]
        self.counter += n
        return vectors, texts, ids

    def note(self, vectors, texts, ids):
        for vector, text, id in zip(vectors, texts, ids, strict=True):
            self.kept.pop(id, None)
            self.kept[id] = (vector, text)

    @rule(n=st.integers(1, 5))
    def add(self, n):
        vectors, texts, ids = self.make(n)
        self.index.add(vectors, texts, ids=ids)
        self.note(vectors, texts, ids)

    @rule(data=st.data())
    def delete(self, data):
        if self.kept:
            id = data.draw(st.sampled_from(sorted(self.kept)))
            self.index.delete(id)
            del self.kept[id]

    @rule(data=st.data())
    def upsert(self, data):
        if self.kept:
            vectors, texts, ids = self.make(2)
            ids[0] = data.draw(st.sampled_from(sorted(self.kept)))
            self.index.upsert(vectors, texts, ids=ids)
            self.note(vectors, texts, ids)

    @rule()
    def merge(self):
        self.index.merge()

    @invariant()
    def equal(self):
        if not hasattr(self, "index"):
            return
        assert len(self.index) == len(self.kept)
        assert self.index.ids() == list(self.kept)
        query = np.array([1, -1, 2, 0, 1, -2], np.float32)
        hits = self.index.search(query, k=100, clusters=3)
        order = {id: place for place, id in enumerate(self.kept)}
        expected = sorted(self.kept, key=lambda id: (-float(self.kept[id][0] @ query), order[id]))
        assert hits.ids.tolist() == expected
        for id, stored in zip(self.kept, self.index.get(list(self.kept)), strict=True):
            assert stored["text"] == self.kept[id][1]

    def teardown(self):
        if hasattr(self, "index"):
            self.index.verify()


TestShelf = Shelf.TestCase
TestShelf.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)

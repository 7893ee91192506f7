"""Documents about a few things, each near its own axis, and a way to build a system over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Things:
    vectors: np.ndarray
    texts: list[str]

    def build(self, peer):
        peer.build(self.vectors, self.texts, threads=1)
        return peer


@pytest.fixture(scope="session")
def things() -> Things:
    random = np.random.default_rng(5)
    words = ["river", "bread", "engine", "castle", "eagle", "winter", "violin", "garden"]
    own = np.arange(400) % len(words)
    vectors = 2 * np.eye(len(words), 16)[own] + 0.5 * random.standard_normal((400, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Things(vectors.astype(np.float32), [f"{words[i]} number{n}" for n, i in enumerate(own)])

"""Documents with texts and payload, and an index of them; a file that needs another index defines its own."""

from __future__ import annotations

import numpy as np
import pytest

import hi2

N = 500


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(2)
    vectors = random.standard_normal((N, 12)).astype(np.float32)
    texts = [f"word{i % 20} thing{i % 7} number {i}" for i in range(N)]
    payload = [{"author": f"a{i % 40}" if i % 10 else None, "tags": ["x"], "year": 2000 + i % 3} for i in range(N)]
    return vectors, texts, payload


@pytest.fixture(scope="module")
def index(documents):
    vectors, texts, payload = documents
    return hi2.HybridIndex.build(vectors, texts, payload=payload, keep_text=True, codec=hi2.Flat(), progress=False)

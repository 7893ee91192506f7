"""Indexes, and what threads may ask of them at the same time: for tests of processes that end or fork meanwhile."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

import hi2
from hi2.text.tokenizer import bert_definition

N_DOCS = 1500
VECTORS = np.random.default_rng(0).standard_normal((N_DOCS, 16)).astype(np.float32)
TEXTS = [f"word{i % 300} and number{i % 77}" for i in range(N_DOCS)]
PAYLOAD = [{"year": i % 50, "tags": [f"t{i % 7}"]} for i in range(N_DOCS)]


def build(folder: Path) -> None:
    """Store two indexes: one whose tokenizer is native, and one whose texts go through the ``tokenizers`` library."""
    hi2.HybridIndex.build(VECTORS, TEXTS, payload=PAYLOAD, path=folder / "native").close()
    definition = json.loads(bert_definition())
    definition["normalizer"]["lowercase"] = False
    terms = hi2.BM25(tokenizer=Tokenizer.from_str(json.dumps(definition)))
    hi2.HybridIndex.build(VECTORS, TEXTS, payload=PAYLOAD, terms=terms, path=folder / "library").close()


def questions(index: hi2.HybridIndex) -> dict[str, Callable[[], object]]:
    """Return searches of every kind by name. A filter never comes twice, so no cache answers it."""
    years = itertools.count()
    return {
        "vector": lambda: index.search(VECTORS[1]),
        "text": lambda: index.search(VECTORS[2], TEXTS[2]),
        "special words": lambda: index.search(VECTORS[3], f"[SEP] {TEXTS[3]}[MASK] \u302e"),
        "float64": lambda: index.search(VECTORS[4].astype(np.float64), TEXTS[4]),
        "batch": lambda: index.search(VECTORS[:40], threads=2),
        "batch of texts": lambda: index.search(VECTORS[:40], TEXTS[:40], threads=2),
        "weighed": lambda: index.search(VECTORS[5], TEXTS[5], budget=100),
        "filter": lambda: index.search(VECTORS[6], TEXTS[6], filter=f"year < 25 or year == {next(years)}"),
        "filters": lambda: index.search(VECTORS[:3], TEXTS[:3], filters=["year > 3", "tags contains 't1'", [1, 2, 3]]),
        "cached filter": lambda: index.search(VECTORS[7], filter="year >= 25"),
        "explanation": lambda: index.search(VECTORS[8], TEXTS[8], k=2).explain(),
        "documents": lambda: index.get([1, 2, 3]),
        "info": index.info,
    }

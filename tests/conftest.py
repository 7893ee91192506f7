"""Shared fixtures: a small collection of real text with vectors, and the folder of the large collections."""

from __future__ import annotations

import importlib
import inspect
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import hi2
from topics import Topics, make_topics
from tuning_sample import make_sample

settings.register_profile("fixed", derandomize=True)  # every run uses the same examples
settings.load_profile("fixed")

MODULES = (
    "argparse ast base64 bisect calendar collections configparser contextlib copy csv datetime decimal difflib enum "
    "fractions functools glob gzip hashlib heapq html http.client inspect io itertools json logging math os pathlib "
    "pickle pprint queue random re sched shelve shlex shutil socket sqlite3 statistics string struct subprocess "
    "tarfile tempfile textwrap threading timeit tokenize traceback types unittest urllib.parse uuid weakref zipfile"
)


@dataclass(frozen=True)
class Corpus:
    ids: list[str]
    texts: list[str]
    vectors: np.ndarray
    query_texts: list[str]
    query_vectors: np.ndarray


def stdlib_documents() -> dict[str, str]:
    """Return docstrings of the standard library: real text that is on every machine."""
    found: dict[str, str] = {}
    for name in MODULES.split():
        module = importlib.import_module(name)
        for key, value in sorted(vars(module).items()):
            documented = inspect.isroutine(value) or inspect.isclass(value)
            text = inspect.getdoc(value) if documented and not key.startswith("_") else None
            if text and len(text) > 60:
                found.setdefault(f"{name}.{key}", text)
    return found


def embed(texts: list[str], dim: int) -> np.ndarray:
    """Embed texts by latent semantic analysis: hashed words, tf-idf, an SVD projection, unit length."""
    rows = np.zeros((len(texts), 2048), np.float32)
    for i, text in enumerate(texts):
        for word in text.lower().split():
            rows[i, sum(ord(c) * 31**p for p, c in enumerate(word[:12])) % 2048] += 1
    rows = np.log1p(rows) * np.log(len(texts) / (1 + (rows > 0).sum(0)))
    _, _, directions = np.linalg.svd(rows[:600], full_matrices=False)
    vectors = rows @ directions[:dim].T
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).astype(np.float32)


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    documents = stdlib_documents()
    texts = list(documents.values())
    queries = [" ".join(text.split()[3:11]) for text in texts[::17]]
    vectors = embed(texts + queries, 40)
    return Corpus(list(documents), texts, vectors[: len(texts)], queries, vectors[len(texts) :])


@pytest.fixture
def small(corpus) -> hi2.HybridIndex:
    """Return an index of 60 documents in memory, with texts and payload, that a test may change."""
    return hi2.HybridIndex.build(
        corpus.vectors[:60],
        corpus.texts[:60],
        ids=corpus.ids[:60],
        keep_text=True,
        payload=[{"n": i} for i in range(60)],
    )


@pytest.fixture(scope="session")
def topics() -> Topics:
    return make_topics()


@pytest.fixture(scope="session")
def made():
    """Return an index to tune and what it was made of; a test takes a copy by ``tuning_sample.fresh``."""
    return make_sample()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real collections; skip the test if there is none."""
    folder = os.environ.get("HI2_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("HI2_DATA names no folder of collections")
    return Path(folder)

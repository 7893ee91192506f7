"""The equations in plain numpy, the paper's and those of words: slow, obviously correct, the reference of all tests."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

ALPHA, BETA = 0.82, 0.68


@dataclass
class TermSide:
    """Eq. 7: BM25 scores of the terms of each document, and the mean score of each term over the documents with it."""

    scores: list[dict[int, float]]
    means: dict[int, float]

    @classmethod
    def bm25(cls, documents: list[list[int]]) -> TermSide:
        n = len(documents)
        df = Counter(term for document in documents for term in set(document))
        average = sum(len(document) for document in documents) / n
        idf = {term: math.log(1 + (n - count + 0.5) / (count + 0.5)) for term, count in df.items()}
        scores = []
        for document in documents:
            norm = ALPHA * (1 - BETA + BETA * len(document) / average)
            tf = Counter(document)
            scores.append({t: (ALPHA + 1) * idf[t] * c / (c + norm) for t, c in tf.items()})
        sums: Counter[int] = Counter()
        for row in scores:
            sums.update(row)
        return cls(scores, {term: sums[term] / df[term] for term in df})

    def chosen(self, doc: int, per_doc: int, *, capped: bool = True) -> list[int]:
        """Return the terms a document is filed under, best first; at most half of its distinct terms, rounded up."""
        row = self.scores[doc]
        limit = min(per_doc, max(1, (len(row) + 1) // 2)) if capped else per_doc
        return sorted(row, key=lambda term: (-np.float32(row[term]), term))[:limit]

    def query(self, terms: list[int], limit: int) -> list[int]:
        """Return the terms a query opens: all of them, or the ``limit`` terms with the highest mean score."""
        distinct = list(dict.fromkeys(terms))
        if len(distinct) <= limit:
            return distinct
        return sorted(distinct, key=lambda term: -np.float32(self.means.get(term, 0.0)))[:limit]


@dataclass
class Words:
    """BM25 of whole documents by the statistics of those that were fitted; a word that none of them has is rarest."""

    df: Counter[str]
    n: int
    average: float

    @classmethod
    def fitted(cls, documents: list[list[str]]) -> Words:
        df = Counter(word for document in documents for word in set(document))
        return cls(df, len(documents), sum(len(document) for document in documents) / len(documents))

    def idf(self, word: str) -> float:
        return math.log(1 + (self.n - self.df[word] + 0.5) / (self.df[word] + 0.5))

    def score(self, query: list[str], document: list[str]) -> float:
        """Return what the distinct words of a query are worth in a document."""
        norm = ALPHA * (1 - BETA + BETA * len(document) / self.average)
        tf = Counter(document)
        own = [t for t in dict.fromkeys(query) if tf[t]]
        return sum(self.idf(t) * (ALPHA + 1) * tf[t] / (tf[t] + norm) for t in own)

    def specificity(self, query: list[str]) -> float:
        """Return how much the words of a query count, by how rare they are."""
        known = [word for word in dict.fromkeys(query) if self.df[word]]
        idf = np.array([self.idf(word) for word in known])
        specific = min(5.0, 0.6 * math.log(self.n + 1))
        mean = float((idf**2).sum() / idf.sum()) if idf.sum() > 0 else specific
        points = self.n >= 1000 and any(self.df[word] == 1 for word in known)
        return mean / specific * 5 / specific * (2 if points else 1)


def spread(vectors: np.ndarray) -> float:
    """Return the standard deviation of dense scores over documents, where documents ask, each with length one."""
    exact = vectors.astype(np.float64)
    return float(np.mean([(exact @ own).std() / np.linalg.norm(own) for own in exact if own.any()]))


def doubt(query: np.ndarray, centroids: np.ndarray, anchors: np.ndarray, vectors: np.ndarray) -> float:
    """Return how much more words count for a query that is far from all of these documents."""
    own, documents = query.astype(np.float64), vectors.astype(np.float64)
    length = np.linalg.norm(documents, axis=1).mean()
    nearest = anchors[probe(query, centroids, 1)[0]].astype(np.float64)
    cosine = own @ nearest / (np.linalg.norm(own) * np.linalg.norm(nearest))
    middle = own @ documents.mean(axis=0) / (np.linalg.norm(own) * length)
    z = (cosine - middle) / (spread(vectors) / length)
    return max(1.0, 4 / max(z, 1.0)) ** 1.5


def word_weight(query: np.ndarray, doubt: float, specificity: float) -> float:
    """Return what BM25 is worth beside dense scores of a query, over their spread."""
    return float(np.linalg.norm(query.astype(np.float64))) * doubt * specificity


def combined(dense: np.ndarray, lexical: np.ndarray, *, weight: float, spread: float, word_weight: float) -> np.ndarray:
    """Return the scores of documents by meaning and words."""
    return dense + weight * spread * word_weight * lexical


def assign(vectors: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """φ(D): the cluster with the highest inner product; ties go to the lowest cluster number."""
    return np.argmax(vectors.astype(np.float64) @ anchors.astype(np.float64).T, axis=1)


def probe(query: np.ndarray, centroids: np.ndarray, n: int) -> list[int]:
    """Eq. 6: the n clusters with the highest inner product."""
    scores = centroids.astype(np.float64) @ query.astype(np.float64)
    return sorted(range(len(scores)), key=lambda c: (-scores[c], c))[:n]


def expected(
    benefit: np.ndarray, scores: np.ndarray, bins: np.ndarray, n_bins: int, rarities: list[float]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return, per bin of clusters, the log-odds that a document is among the best: under no term, and under each."""
    base, rank, rank2, gap, term, idf, idf_rank = benefit.astype(np.float64)
    counts = np.bincount(bins, minlength=n_bins)
    nearer = np.cumsum(counts) - counts
    r = np.log1p(nearer + 0.5 * np.maximum(counts - 1, 0))
    width = (scores.max() - scores.min()) / (n_bins - 0.5)
    plain = base + rank * r + rank2 * r**2 + gap * np.arange(n_bins) * width / scores.std()
    plain = np.minimum.accumulate(plain)
    return plain, [plain + term + idf * w + idf_rank * w * r for w in rarities]


def candidates(labels: np.ndarray, opened: list[int], filed: list[list[int]], query_terms: list[int]) -> set[int]:
    """Eq. 5: A(Q), the union of the documents of the opened clusters and of the query's terms."""
    wanted = set(query_terms)
    clusters = {doc for doc, label in enumerate(labels) if label in set(opened)}
    return clusters | {doc for doc, terms in enumerate(filed) if wanted & set(terms)}


def top(scores: np.ndarray, docs: set[int], k: int) -> list[int]:
    """Return the k best documents; equal scores are in order of arrival."""
    return sorted(docs, key=lambda doc: (-scores[doc], doc))[:k]


def pq_encode(vectors: np.ndarray, codebooks: np.ndarray) -> np.ndarray:
    """Eq. 3: the nearest codeword for each fragment."""
    m, _, sub_dim = codebooks.shape
    fragments = vectors.astype(np.float64).reshape(len(vectors), m, sub_dim)
    codes = np.empty((len(vectors), m), np.int64)
    for j in range(m):
        distances = ((fragments[:, j, None, :] - codebooks[j].astype(np.float64)) ** 2).sum(-1)
        codes[:, j] = distances.argmin(axis=1)
    return codes


def pq_decode(codes: np.ndarray, codebooks: np.ndarray) -> np.ndarray:
    """Return the vectors that the codes represent."""
    m = len(codebooks)
    return np.concatenate([codebooks[j][codes[:, j]] for j in range(m)], axis=1).astype(np.float64)


def rabitq_rotate(vectors, signs):
    """Rotate: each round flips signs and applies a Hadamard transform to the first or the last window, in turns."""
    out = np.array(vectors, np.float64)
    dim = out.shape[1]
    window = 1 << (dim.bit_length() - 1)
    hadamard = np.ones((1, 1))
    while len(hadamard) < window:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    for number, flips in enumerate(signs):
        out = out * np.where(flips, -1.0, 1.0)
        begin = 0 if number % 2 == 0 else dim - window
        out[:, begin : begin + window] = out[:, begin : begin + window] @ hadamard / np.sqrt(window)
    return out


def rabitq_decode(codes, bits, signs):
    """Return factor · v, rotated back. v has one odd integer per dimension; bit b of it stands for ±2^b."""
    dim = signs.shape[1]
    plane = (dim + 7) // 8
    factors = np.ascontiguousarray(codes[:, bits * plane :]).view(np.float32).astype(np.float64)
    values = np.zeros((len(codes), dim))
    for b in range(bits):
        own = np.unpackbits(codes[:, b * plane : (b + 1) * plane], axis=1, count=dim, bitorder="little")
        values += (2.0 * own - 1) * 2**b
    rotation = rabitq_rotate(np.eye(dim), signs)
    return factors * values @ rotation.T


def rabitq_query_error(query, decoded, bits, arrays):
    """Bound the score error that comes from rounding each rotated query dimension to 2^planes steps."""
    signs = arrays["signs"]
    step = np.abs(rabitq_rotate(query[None], signs)).max() / 2 ** min(8, 3 + bits)
    return 1.01 * step * np.abs(rabitq_rotate(decoded - arrays["middle"], signs)).sum(1)

"""Which encoders are known by name, and how is each one used?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hi2.encoders.encoder import Encoder
from hi2.encoders.onnx import OnnxEncoder
from hi2.encoders.sentence_transformers import SentenceTransformerEncoder
from hi2.encoders.static import StaticEncoder
from hi2.encoders.transformer import TransformerEncoder
from hi2.encoders.wordllama import WordLlamaEncoder
from hi2.errors import invalid


@dataclass(frozen=True)
class Towers:
    """An encoder of documents and an encoder of queries, often the same one."""

    documents: Encoder
    queries: Encoder


@dataclass(frozen=True)
class Recipe:
    """How a named encoder is loaded: hub names of its towers (None: paths only), pooling, prefixes and lengths."""

    load: Callable[..., Any]
    documents: str | None = None
    queries: str | None = None
    pooling: str | None = None
    prefix: str = ""
    query_prefix: str = ""
    max_length: int | None = None
    query_max_length: int | None = None
    normalise: bool | None = None

    def towers(self, documents: str | Path | None = None, queries: str | Path | None = None) -> Towers:
        """Load both towers, from paths where given; without a query tower, the document tower encodes queries too."""
        if documents and not queries and self.queries:
            raise invalid("encoder", "given two paths, DOCUMENTS,QUERIES: its towers differ", f"'{documents}' alone")
        sources = documents or self.documents, queries or documents or self.queries or self.documents
        if self.load is StaticEncoder or self.load is WordLlamaEncoder:
            one = self.load()
            return Towers(one, one)
        if sources[0] is None:
            raise invalid("encoder", "given with the path of its weights: the hub has none", "its name alone")
        same = (sources[0], self.prefix, self.max_length) == (sources[1], self.query_prefix, self.query_max_length)
        loaded = self._load(sources[0], self.prefix, self.max_length)
        return Towers(loaded, loaded if same else self._load(sources[1], self.query_prefix, self.query_max_length))

    def _load(self, source: str | Path | None, prefix: str, max_length: int | None) -> Encoder:
        given = {"pooling": self.pooling, "prefix": prefix, "max_length": max_length, "normalise": self.normalise}
        options = {key: value for key, value in given.items() if value is not None}
        if self.load is SentenceTransformerEncoder:  # the model brings its own pooling and lengths
            options = {key: options[key] for key in options if key == "normalise"}
        encoder: Encoder = self.load(source, **options)
        return encoder


#: Encoders by the names papers use. Offline, give paths with the name: ``DPR=documents/,queries/``.
ENCODERS: dict[str, Recipe] = {
    "static": Recipe(StaticEncoder),
    "wordllama": Recipe(WordLlamaEncoder),
    "MiniLM": Recipe(SentenceTransformerEncoder, "sentence-transformers/all-MiniLM-L6-v2"),
    "mpnet": Recipe(SentenceTransformerEncoder, "sentence-transformers/all-mpnet-base-v2"),
    "DPR": Recipe(
        TransformerEncoder,
        "facebook/dpr-ctx_encoder-single-nq-base",
        "facebook/dpr-question_encoder-single-nq-base",
        pooling="pooler",
        max_length=256,
        query_max_length=256,
    ),
    "ANCE": Recipe(
        SentenceTransformerEncoder, "sentence-transformers/msmarco-roberta-base-ance-firstp", normalise=False
    ),
    "coCondenser": Recipe(
        TransformerEncoder, "Luyu/co-condenser-marco-retriever", pooling="cls", max_length=128, query_max_length=32
    ),
    "AR2": Recipe(TransformerEncoder, pooling="cls", max_length=128, query_max_length=32),
    "RetroMAE": Recipe(
        TransformerEncoder, "Shitao/RetroMAE_MSMARCO_distill", pooling="cls", max_length=150, query_max_length=32
    ),
    "onnx": Recipe(OnnxEncoder, pooling="mean", max_length=128, query_max_length=128, normalise=True),
}


def load_towers(name: str) -> Towers:
    """Return the towers of a named encoder.

    ``name`` is ``NAME``, ``NAME=PATH`` or ``NAME=DOCUMENTS,QUERIES`` for a registered encoder. Anything else is the
    name or path of a sentence-transformers model.
    """
    known, _, paths = name.partition("=")
    if known in ENCODERS:
        documents, _, queries = paths.partition(",")
        return ENCODERS[known].towers(documents or None, queries or None)
    if paths:
        raise invalid("encoder", f"one of {', '.join(ENCODERS)}, with or without a path", f"'{name}'")
    encoder = SentenceTransformerEncoder(name)
    return Towers(encoder, encoder)


def encoder_name(name: str) -> str:
    """Return the name of an encoder in results: its registered name, else the last part of its path or name."""
    known, _, paths = name.partition("=")
    return known if known in ENCODERS and known != "onnx" else Path((paths or known).partition(",")[0]).name

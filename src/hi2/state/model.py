"""What was fitted? The parts that all segments of an index share: cluster selector, term selector, codec, refine codec.

A model can be given as a description (JSON data) and named arrays; ``FORMAT.md`` lists both.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import real
from hi2.codecs import CODECS, Codec
from hi2.data.lazy import lazy
from hi2.data.vectors import LARGEST, METRICS
from hi2.encoders.encoder import EncoderIdentity
from hi2.errors import FormatError, InvalidParameter
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.evidence import Evidence
from hi2.selectors.learned import TermScorer
from hi2.selectors.terms import BM25, LARGEST_ALPHA, LearnedTerms, TermSelector, TermWeights
from hi2.text.bags import LARGEST_WEIGHT
from hi2.text.dictionary import Dictionary
from hi2.text.lazy_tokenizer import LazyTokenizer
from hi2.types import U32, Array, Floats

_TERM_SPECS: dict[str, type[BM25] | type[TermWeights] | type[LearnedTerms]] = {
    "BM25": BM25,
    "TermWeights": TermWeights,
    "LearnedTerms": LearnedTerms,
}
_ROWS_AT_A_TIME = 8192
#: Counts are below this.
_MOST = 1 << 40
_CODEC_NAMES = ("codec", "refine")
#: The numbers of evidence are at most these: those of BM25, and what vectors and weights can give.
_LARGEST_EVIDENCE = {
    "average_length": 2.0**32,
    "alpha": LARGEST_ALPHA,
    "beta": 1.0,
    "spread": LARGEST**1.5,  # vectors have fewer than 1e16 numbers
    "unit": LARGEST_WEIGHT,
    "cosine_spread": LARGEST,
}


@dataclass(frozen=True)
class Model:
    """Fitted parts; immutable. ``clusters`` or ``terms`` may be None, then that side has no lists."""

    dim: int
    metric: str
    clusters: ClusterSelector | None
    terms: TermSelector | None
    codec: Codec
    refine: Codec | None
    encoder: EncoderIdentity | None = None

    def __post_init__(self) -> None:
        for name, part in (("clusters", self.clusters), ("codec", self.codec), ("refine", self.refine)):
            if part is not None and part.dim != self.dim:
                raise InvalidParameter(
                    f"The '{name}' parameter must be fitted to dimension {self.dim}. Got dimension {part.dim}."
                )
        for name, codec in (("codec", self.codec), ("refine", self.refine)):
            if codec is not None and codec.spec.residual and self.clusters is None:
                raise InvalidParameter(
                    f"The '{name}' parameter must not be residual without clusters. Got {codec.spec}."
                )
        if self.refine is not None and not (self.codec.query_map is None and self.refine.query_map is None):
            raise InvalidParameter(
                "The 'refine' parameter must be None with a codec that was taught to map queries (adapt=False, "
                f"--no-adapt, teaches none): the two would score them differently. Got {self.refine.spec}."
            )

    @property
    def n_clusters(self) -> int:
        """How many clusters there are; 0 without them."""
        return self.clusters.n_clusters if self.clusters is not None else 0

    @property
    def n_terms(self) -> int:
        """How many terms the vocabulary has; 0 without terms."""
        return self.terms.n_terms if self.terms is not None else 0

    @property
    def per_doc(self) -> int:
        """How many terms a document is filed under at most; 0 without terms."""
        return self.terms.spec.per_doc if self.terms is not None else 0

    @property
    def evidence(self) -> Evidence | None:
        """What words are worth in a document; None where documents have no bags."""
        return None if self.terms is None else self.terms.evidence

    @lazy
    def native(self) -> _native.Model:
        """The parts as the search reads them."""
        clusters = self.clusters
        return _native.Model(
            dim=self.dim,
            centroids=None if clusters is None else clusters.centroids,
            anchors=None if clusters is None else clusters.anchors,
            codec=self.codec.native,
            residual=self.codec.spec.residual,
            refine=None if self.refine is None else self.refine.native,
            refine_residual=self.refine is not None and self.refine.spec.residual,
            evidence=None if self.evidence is None else self._native_evidence(self.evidence),
            mean=None if self.evidence is None else self._mean_document(self.evidence),
        )

    def _mean_document(self, evidence: Evidence) -> Floats | None:
        """The mean of the fitted documents, as the codec sees queries: it scores for documents without a vector."""
        mean = evidence.dense.mean
        query_map = self.codec.query_map
        if mean is None or query_map is None:
            return mean
        return np.ascontiguousarray(mean @ query_map, np.float32)

    def _native_evidence(self, evidence: Evidence) -> _native.Evidence:
        """Evidence as the search reads it. How far a query is that training maps cannot be told from its own vector."""
        return (evidence if self.codec.query_map is None else replace(evidence, cosine_spread=0.0)).native

    @lazy
    def fingerprint(self) -> str:
        """Names the parts: equal for equal specs and equal arrays. Computing it reads every array."""
        description, arrays = self.to_arrays()
        digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
        for name, array in sorted(arrays.items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def check_finite(self) -> None:
        """Raise FormatError at the first array with a value that is not finite. Every array is read."""
        for name, array in self.to_arrays()[1].items():
            if not finite(array):
                raise FormatError(f"The index is damaged: {name} has a value that is not finite.")

    def specs(self) -> dict[str, str | None]:
        """Return the repr of every part's spec, by part."""
        parts = {"clusters": self.clusters, "terms": self.terms, "codec": self.codec, "refine": self.refine}
        specs = {name: None if part is None else repr(part.spec) for name, part in parts.items()}
        return {**specs, "encoder": None if self.encoder is None else str(self.encoder)}

    def __str__(self) -> str:
        return ", ".join(f"{name}={spec}" for name, spec in self.specs().items() if spec is not None)

    # -- as data ------------------------------------------------------------------------------------------------------

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the model as a description and named arrays, which are not copied."""
        description: dict[str, Any] = {"dim": self.dim, "metric": self.metric}
        arrays: dict[str, Array] = {}
        if self.encoder is not None:
            description["encoder"] = self.encoder.to_json()
        if self.clusters is not None:
            description["clusters"] = asdict(self.clusters.spec)
            arrays["anchors.npy"] = self.clusters.anchors
            if self.clusters.centroids is not self.clusters.anchors:
                arrays["centroids.npy"] = self.clusters.centroids
        if self.terms is not None:
            description["terms"] = _describe_terms(self.terms)
            arrays |= _term_arrays(self.terms)
        for name, codec in zip(_CODEC_NAMES, (self.codec, self.refine), strict=True):
            if codec is not None:
                description[name] = {"type": type(codec.spec).__name__, **asdict(codec.spec)}  # type: ignore[call-overload]
                arrays |= {f"{name}_{array_name}.npy": array for array_name, array in codec.arrays.items()}
        return description, arrays

    @classmethod
    def from_arrays(cls, description: Mapping[str, Any], arrays: Mapping[str, Array]) -> Model:
        """Return the model that ``to_arrays`` described; the tokenizer is parsed when a text first needs it."""
        try:
            dim, metric = _count(description, "dim"), description["metric"]
            if metric not in METRICS:
                raise FormatError(f"The index is damaged: its metric is {metric!r}, not one of {', '.join(METRICS)}.")
            clusters = terms = None
            if "clusters" in description:
                anchors = arrays["anchors.npy"]
                centroids = arrays.get("centroids.npy", anchors)
                clusters = ClusterSelector(_read_spec(KMeans, description["clusters"]), anchors, centroids)
            if "terms" in description:
                terms = _read_terms(description["terms"], arrays, dim)
            codec, refine = (_read_codec(name, dim, description, arrays) for name in _CODEC_NAMES)
            if codec is None:
                raise FormatError("The index has no codec.")
            encoder = EncoderIdentity.from_json(description["encoder"]) if "encoder" in description else None
            if encoder is not None and len(encoder.probe) != dim:
                raise FormatError(f"The index is damaged: its encoder's probe has {len(encoder.probe)} dimensions.")
            model = cls(dim, metric, clusters, terms, codec, refine, encoder)
            _ = model.native  # made here, where a part that does not fit is a FormatError
            return model
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FormatError(f"The index's model cannot be read: {error}.") from error


def finite(array: Array, largest: float | None = None) -> bool:
    """Return whether all values of an array are finite, and at most ``largest``; it is read a block at a time."""
    blocks = range(0, len(array) if array.dtype.kind == "f" else 0, _ROWS_AT_A_TIME)
    if largest is not None:
        return all((np.abs(array[begin : begin + _ROWS_AT_A_TIME]) <= largest).all() for begin in blocks)
    return all(np.isfinite(array[begin : begin + _ROWS_AT_A_TIME]).all() for begin in blocks)


def _count(data: Mapping[str, Any], name: str) -> int:
    """A count in a description."""
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise FormatError(f"The index is damaged: {name!r} of its model is {value!r}.")
    return value


def _read_spec(kind: Callable[..., Any], data: Mapping[str, Any]) -> Any:
    """The spec of a part. A caller may give 1 for True; what is written is always true or false."""
    spec = kind(**data)
    for name, value in data.items():
        if isinstance(getattr(spec, name), bool) and not isinstance(value, bool):
            raise FormatError(f"The index is damaged: {name!r} of its model is {value!r}.")
    return spec


def _describe_terms(terms: TermSelector) -> dict[str, Any]:
    own = (field.name for field in fields(terms.spec) if field.name not in ("tokenizer", "scorer"))
    spec = {name: getattr(terms.spec, name) for name in own}
    return {
        "type": type(terms.spec).__name__,
        **spec,
        "n_docs": terms.n_docs,
        "average_length": terms.average_length,
        "n_terms": terms.n_terms,
        "tokenizer_sha256": terms.tokenizer.fingerprint,
        **({} if terms.evidence is None else {"evidence": terms.evidence.to_json()}),
    }


def _term_arrays(terms: TermSelector) -> dict[str, Array]:
    arrays: dict[str, Array] = {"term_df.npy": terms.df, "term_mean_scores.npy": terms.mean_scores}
    if terms.gains is not None:
        arrays["term_gains.npy"] = terms.gains
    evidence = terms.evidence
    if evidence is not None and evidence.df is not terms.df:
        arrays["evidence_df.npy"] = evidence.df
    if evidence is not None and evidence.mean_weights is not None:
        arrays["evidence_means.npy"] = evidence.mean_weights
    if evidence is not None and evidence.center is not None:
        arrays["evidence_center.npy"] = evidence.center
    if isinstance(terms.spec, LearnedTerms) and terms.spec.scorer is not None:
        arrays["scorer.json"] = np.frombuffer(terms.spec.scorer.config, np.uint8)
        arrays["scorer.safetensors"] = np.frombuffer(terms.spec.scorer.weights_file, np.uint8)
        if terms.spec.scorer.graph is not None:
            arrays["scorer.onnx"] = np.frombuffer(terms.spec.scorer.graph, np.uint8)
    arrays["tokenizer.json"] = np.frombuffer(terms.tokenizer.definition.encode(), np.uint8)
    return arrays | terms.tokenizer.arrays(terms.n_terms)


def _read_terms(meta: Mapping[str, Any], arrays: Mapping[str, Array], dim: int) -> TermSelector:
    own = {"type", "n_docs", "average_length", "n_terms", "tokenizer_sha256", "evidence"}
    if not {"tokenizer", "scorer"}.isdisjoint(meta):  # an index holds both and names neither
        raise FormatError("The index is damaged: its terms name a tokenizer or a scorer.")
    given = {key: meta[key] for key in meta if key not in own}
    spec = replace(_read_spec(_TERM_SPECS[meta["type"]], given), tokenizer=None)  # as after the fit
    n_terms, n_docs = _count(meta, "n_terms"), _count(meta, "n_docs")
    average_length = real("average_length", meta["average_length"], low=0.0, high=sys.float_info.max)
    df, means = arrays["term_df.npy"], arrays["term_mean_scores.npy"]
    if df.shape != (n_terms,) or df.dtype != np.uint32 or means.shape != (n_terms,) or means.dtype != np.float32:
        raise FormatError(f"The index is damaged: its term statistics are not of {n_terms} terms.")
    gains = arrays.get("term_gains.npy")
    if gains is not None and (gains.shape != (n_terms,) or gains.dtype != np.float32 or not np.isfinite(gains).all()):
        raise FormatError(f"The index is damaged: its term gains are not of {n_terms} terms.")
    if isinstance(spec, LearnedTerms):
        files = arrays["scorer.json"].tobytes(), arrays["scorer.safetensors"], arrays.get("scorer.onnx")
        scorer = TermScorer(*files, n_terms=n_terms)
        spec = replace(spec, scorer=scorer)
    dictionary = Dictionary.read(arrays) if any(name.startswith("word_") for name in arrays) else None
    if dictionary is not None and len(dictionary) != n_terms:
        raise FormatError(f"The index is damaged: its dictionary has {len(dictionary)} words, not {n_terms}.")
    tokenizer: Any = LazyTokenizer(arrays["tokenizer.json"].tobytes(), n_terms, dictionary)
    if tokenizer.fingerprint != meta["tokenizer_sha256"]:
        raise FormatError("The index is damaged: tokenizer.json is not the tokenizer it was built with.")
    evidence = _read_evidence(meta["evidence"], df, arrays, dim) if "evidence" in meta else None
    return TermSelector(spec, tokenizer, df, n_docs, average_length, means, gains, evidence)


def _read_evidence(meta: Mapping[str, Any], df: U32, arrays: Mapping[str, Array], dim: int) -> Evidence:
    own = arrays.get("evidence_df.npy", df)
    means = arrays.get("evidence_means.npy")
    if own.shape != df.shape or own.dtype != np.uint32:
        raise FormatError(f"The index is damaged: its evidence is not of {len(df)} terms.")
    if means is not None and (means.shape != df.shape or means.dtype != np.float32):
        raise FormatError(f"The index is damaged: its mean weights are not of {len(df)} terms.")
    numbers = {name: real(name, meta[name], low=0.0, high=_LARGEST_EVIDENCE[name]) for name in Evidence.NUMBERS}
    if (numbers["unit"] > 0) != (means is not None) or set(meta) != {*Evidence.COUNTS, *numbers}:
        raise FormatError("The index is damaged: its evidence is neither of counts nor of weights.")
    n_docs, noted, rare = (_count(meta, name) for name in Evidence.COUNTS)
    if not rare <= noted <= 2**31 or (noted and means is not None):
        raise FormatError(f"The index is damaged: it notes terms of {noted} documents, and rare ones of {rare}.")
    center = arrays["evidence_center.npy"]
    if center.shape != (dim,) or center.dtype != np.float32:
        raise FormatError(f"The index is damaged: the center of its documents is not a vector of dimension {dim}.")
    return Evidence(own, n_docs, mean_weights=means, center=center, noted=noted, rare=rare, **numbers)


def _read_codec(name: str, dim: int, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> Codec | None:
    if name not in meta:
        return None
    fields = {key: value for key, value in meta[name].items() if key != "type"}
    spec = _read_spec(CODECS[meta[name]["type"]], fields)
    prefix = f"{name}_"
    own = {key[len(prefix) : -4]: array for key, array in arrays.items() if key.startswith(prefix)}
    codec: Codec = spec.restore(dim, own)
    return codec

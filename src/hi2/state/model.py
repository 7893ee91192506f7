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
from hi2.data.vectors import METRICS
from hi2.encoders.encoder import EncoderIdentity
from hi2.errors import FormatError, InvalidParameter
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.learned import TermScorer
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, TermWeights
from hi2.text.lazy_tokenizer import LazyTokenizer
from hi2.types import Array

_TERM_SPECS: dict[str, type[BM25] | type[TermWeights] | type[LearnedTerms]] = {
    "BM25": BM25,
    "TermWeights": TermWeights,
    "LearnedTerms": LearnedTerms,
}
_ROWS_AT_A_TIME = 8192
#: Counts are below this.
_MOST = 1 << 40
_CODEC_NAMES = ("codec", "refine")


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
                    f"The '{name}' parameter must be fitted to dimension {self.dim}. Got dimension {part.dim} instead."
                )
        for name, codec in (("codec", self.codec), ("refine", self.refine)):
            if codec is not None and codec.spec.residual and self.clusters is None:
                raise InvalidParameter(
                    f"The '{name}' parameter must not be residual without clusters. Got {codec.spec} instead."
                )
        if self.refine is not None and not (self.codec.query_map is None and self.refine.query_map is None):
            raise InvalidParameter(
                "The 'refine' parameter must be None with a codec that was taught to map queries (adapt=False, "
                f"--no-adapt, teaches none): the two would score them differently. Got {self.refine.spec} instead."
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
        )

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
                terms = _read_terms(description["terms"], arrays)
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
    }


def _term_arrays(terms: TermSelector) -> dict[str, Array]:
    arrays: dict[str, Array] = {"term_df.npy": terms.df, "term_mean_scores.npy": terms.mean_scores}
    if terms.gains is not None:
        arrays["term_gains.npy"] = terms.gains
    if isinstance(terms.spec, LearnedTerms) and terms.spec.scorer is not None:
        arrays["scorer.json"] = np.frombuffer(terms.spec.scorer.config, np.uint8)
        arrays["scorer.safetensors"] = np.frombuffer(terms.spec.scorer.weights_file, np.uint8)
        if terms.spec.scorer.graph is not None:
            arrays["scorer.onnx"] = np.frombuffer(terms.spec.scorer.graph, np.uint8)
    arrays["tokenizer.json"] = np.frombuffer(terms.tokenizer.definition.encode(), np.uint8)
    return arrays


def _read_terms(meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> TermSelector:
    own = {"type", "n_docs", "average_length", "n_terms", "tokenizer_sha256"}
    if not {"tokenizer", "scorer"}.isdisjoint(meta):  # an index holds both and names neither
        raise FormatError("The index is damaged: its terms name a tokenizer or a scorer.")
    spec = _read_spec(_TERM_SPECS[meta["type"]], {key: meta[key] for key in meta if key not in own})
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
    tokenizer: Any = LazyTokenizer(arrays["tokenizer.json"].tobytes(), n_terms)
    if tokenizer.fingerprint != meta["tokenizer_sha256"]:
        raise FormatError("The index is damaged: tokenizer.json is not the tokenizer it was built with.")
    return TermSelector(spec, tokenizer, df, n_docs, average_length, means, gains)


def _read_codec(name: str, dim: int, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> Codec | None:
    if name not in meta:
        return None
    fields = {key: value for key, value in meta[name].items() if key != "type"}
    spec = _read_spec(CODECS[meta[name]["type"]], fields)
    prefix = f"{name}_"
    own = {key[len(prefix) : -4]: array for key, array in arrays.items() if key.startswith(prefix)}
    codec: Codec = spec.restore(dim, own)
    return codec

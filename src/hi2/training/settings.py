"""How is it trained? Everything a run depends on beside its data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hi2.arguments import normalise_integers, real
from hi2.errors import invalid

METHODS = ("hi2", "light", "distill-vq", "jpq", "ivf")


@dataclass(frozen=True)
class Settings:
    """What is learned, from how much, for how long.

    ``method`` is 'light' (a gain for every term on top of BM25; no transformer), 'hi2' (a term scorer over a
    transformer's states), 'distill-vq' (clusters and codebooks without terms), 'jpq' (codebooks and a linear map of
    queries, against the live index's own errors) or 'ivf' (clusters alone).

    A batch's pool is every document sampled for its queries: ``positives`` by label or, without labels, by the teacher;
    ``hard`` of the teacher's best ``depth``; ``lexical`` of BM25's best ``depth``; each document once. The teacher's
    softmax is made as sharp as ``perplexity`` documents a query. ``layers`` is how many of the transformer's layers are
    used, all by default; fewer score documents that much faster. ``trainable_layers`` are the last of them, which learn
    too; what the layers below say of a document is computed once and kept. Training ends after ``epochs``, or after
    ``patience`` looks at the dev queries without a gain.

    ``adapt``: where there are labels, 'hi2' and 'light' first learn a linear map of queries from them and distil what
    the mapped queries find, if dev is answered better so (up to 30 epochs at 0.3 of ``rate``). Centroids and codec take
    the map up: a search pays nothing for it, but its scores are of mapped queries, on another scale.
    """

    method: str = "light"
    epochs: int = 12
    batch: int = 64
    rate: float = 1e-3
    positives: int = 3
    hard: int = 12
    lexical: int = 7
    depth: int = 200
    perplexity: float = 8.0
    patience: int = 3
    max_queries: int = 12_000
    rotation: bool = False
    adapt: bool = True
    max_tokens: int = 128
    layers: int | None = None
    trainable_layers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise invalid("method", f"one of {', '.join(METHODS)}", repr(self.method))
        normalise_integers(
            self,
            epochs=(1, None),
            batch=(2, None),
            positives=(1, None),
            hard=(0, None),
            lexical=(0, None),
            depth=(1, None),
            patience=(1, None),
            max_queries=(1, None),
            max_tokens=(3, 512),
            layers=(1, None),
            trainable_layers=(0, None),
            seed=(0, 2**31 - 1),
        )
        object.__setattr__(self, "rate", real("rate", self.rate, low=1e-9, high=1.0))
        object.__setattr__(self, "perplexity", real("perplexity", self.perplexity, low=1.0, high=1e6))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as data."""
        return asdict(self)

"""How is it trained? Every setting a run depends on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hi2.arguments import normalise_integers, real
from hi2.errors import invalid
from hi2.selectors.learned import MAX_TOKENS

METHODS = ("hi2", "light", "distill-vq", "jpq", "ivf")


@dataclass(frozen=True)
class Settings:
    """What is trained, on how many queries, and for how long.

    ``method`` is 'light' (a gain for every term on top of BM25, no transformer), 'hi2' (a term scorer over a
    transformer's states), 'distill-vq' (clusters and codebooks, no terms), 'jpq' (codebooks and a linear map of
    queries, trained on the errors of the current index) or 'ivf' (clusters alone).

    The pool of a batch holds every document sampled for its queries, each once. For each query these are up to
    ``positives`` labelled documents, or the teacher's best if there are no labels; ``hard`` of the teacher's best
    ``depth``; and ``lexical`` of BM25's best ``depth``. The temperature is set so that the teacher's softmax has the
    given ``perplexity``. ``rate`` is the learning rate. Training stops after ``epochs``, or when the dev loss has not
    improved for ``patience`` epochs.

    ``layers`` is how many of the transformer's layers are used, all by default; with fewer, documents are scored
    faster. The last ``trainable_layers`` of them are trained too. The states below these are computed once and stored.

    ``adapt``: if there are labels, 'hi2' and 'light' first learn a linear map of queries from them (up to 30 epochs at
    0.3 of ``rate``). If dev queries are answered better with it, the mapped queries become the teacher, and the map is
    folded into the centroids and the codec. A search pays nothing for it, but its scores are those of mapped queries,
    on another scale.
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
            max_tokens=(3, MAX_TOKENS),
            layers=(1, None),
            trainable_layers=(0, None),
            seed=(0, 2**31 - 1),
        )
        object.__setattr__(self, "rate", real("rate", self.rate, low=1e-9, high=1.0))
        object.__setattr__(self, "perplexity", real("perplexity", self.perplexity, low=1.0, high=1e6))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return asdict(self)

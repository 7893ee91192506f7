"""How much of the index does a query look at? Arguments and profiles of a search, resolved to numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hi2 import _native
from hi2.arguments import MAX_K, integer, real
from hi2.errors import described, invalid
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.state.benefit import DEFAULT_BENEFIT, Benefit, log_odds
from hi2.state.index_state import State
from hi2.state.model import Model

#: The refine store rescores this many times k hits unless the search says otherwise.
DEFAULT_REFINE = 4
#: How much words count where documents have bags and the search does not say: chosen on dev questions, see
#: docs/hybrid.md.
DEFAULT_LEXICAL = 0.3
LARGEST_LEXICAL = 1e6
#: The share of the default clusters that are opened where words rank too, and find what lies farther.
CLUSTERS_WITH_WORDS = 0.5
#: The bags of this many candidates are read, or of an eighth more than there are hits: so 10 hits are the first of 100.
WORDS_DEPTH = 112


@dataclass(frozen=True)
class Effort:
    """How much of the index a query looks at, with every default resolved.

    The refine store rescores ``depth`` hits. With ``adaptive`` or ``budget`` a query weighs its lists by ``benefit``,
    and opens at most ``clusters`` clusters whole.
    """

    k: int
    clusters: int
    terms: int
    per_doc: int
    depth: int
    budget: int | None = None
    adaptive: float | None = None
    benefit: Benefit = DEFAULT_BENEFIT
    #: The weight of words, and the spread of dense scores that it is relative to.
    lexical: float = 0.0
    spread: float = 0.0
    #: Whether ``per_doc`` leaves no posting out.
    all_ranks: bool = False
    #: How many candidates are scored by their words; None where this follows from k.
    candidates: int | None = None

    #: The share of the clusters that a query with words opens.
    word_share: float = 1.0
    #: Whether a search that finds fewer than k documents of a larger index opens more.
    widens: bool = False

    @property
    def word_clusters(self) -> int:
        """How many clusters a query opens that ranks by words."""
        return math.ceil(self.clusters * self.word_share) if self.lexical else self.clusters

    @property
    def words_depth(self) -> int:
        """How many candidates are scored by their words."""
        if self.candidates is not None:
            return self.candidates
        return max(WORDS_DEPTH, self.k + self.k // 8)

    @property
    def weighed(self) -> bool:
        """Whether a query weighs its lists; otherwise it opens them whole."""
        return self.budget is not None or self.adaptive is not None

    @property
    def native(self) -> _native.Effort:
        """The effort as the native search takes it. Creating it is cheaper than caching it."""
        return _native.Effort(
            k=self.k,
            clusters=self.clusters,
            terms=self.terms,
            per_doc=2**32 - 1 if self.all_ranks else self.per_doc,
            depth=self.depth,
            benefit=self.benefit.array if self.weighed else None,
            cut=-math.inf if self.adaptive is None else log_odds(self.adaptive),
            budget=self.budget,
            lexical=self.lexical * self.spread,
            words_depth=self.words_depth,
            word_clusters=self.word_clusters,
        )


def resolve_effort(
    model: Model,
    *,
    k: int,
    clusters: int | None = None,
    terms: int | None = None,
    per_doc: int | None = None,
    refine: int | None = None,
    budget: int | None = None,
    adaptive: float | None = None,
    benefit: Benefit | None = None,
    lexical: float | None = None,
    widens: bool = False,
) -> Effort:
    """Return the effort of a search; None takes the default."""

    def count(name: str, value: int | None, default: int) -> int:
        return default if value is None else min(integer(name, value, low=0), 2**31 - 1)

    k = integer("k", k, low=1, high=MAX_K)
    rounds = count("refine", refine, DEFAULT_REFINE)
    if adaptive is not None:
        adaptive = real("adaptive", adaptive, low=0, high=1)
    weighed = budget is not None or adaptive is not None
    n_terms = count("terms", terms, DEFAULT_QUERY_TERMS)
    n_per_doc = count("per_doc", per_doc, model.per_doc)
    weight = _weight_of_words(model, lexical, skipped=0 in (n_terms, n_per_doc))
    default_clusters = model.n_clusters
    if model.clusters is not None and not weighed:
        default_clusters = model.clusters.default_probes
    return Effort(
        k=k,
        clusters=count("clusters", clusters, default_clusters),
        terms=n_terms,
        per_doc=n_per_doc,
        all_ranks=n_per_doc >= model.per_doc > 0,
        depth=k * rounds if model.refine is not None else 0,
        budget=None if budget is None else min(integer("budget", budget, low=1), 2**62),
        adaptive=adaptive,
        benefit=DEFAULT_BENEFIT if benefit is None else benefit,
        lexical=weight,
        word_share=CLUSTERS_WITH_WORDS if clusters is None and default_clusters < model.n_clusters else 1.0,
        spread=0.0 if model.evidence is None else model.evidence.spread,
        widens=widens,
    )


def _weight_of_words(model: Model, lexical: float | None, *, skipped: bool) -> float:
    """Return the weight of words; a search that skips terms does not count them unless it says so."""
    if lexical is None:
        return 0.0 if model.evidence is None or skipped else DEFAULT_LEXICAL
    weight = real("lexical", lexical, low=0.0, high=LARGEST_LEXICAL)
    if weight and model.evidence is None:
        must = "0: the documents of this index have no bags (build with texts and bags=True, or refit() with texts)"
        raise invalid("lexical", must, lexical)
    return weight


def with_profile(state: State, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a profile; those that are given with the search take precedence."""
    profile = state.profiles.get(name) if isinstance(name, str) else None
    if profile is None:
        known = ", ".join(state.profiles) or "there is none: tune() makes them"
        raise invalid("profile", f"one that this index has ({known})", described(name))
    overrides = {key: value for key, value in given.items() if value is not None}
    return {**profile.arguments(), **overrides, "benefit": profile.benefit}

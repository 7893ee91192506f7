"""What is said of one document and one query? The lists that hold it, its scores word by word, its rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from hi2.errors import described
from hi2.types import Id


@dataclass(frozen=True)
class ClusterMatch:
    """A cluster that the document is filed under: its rank for the query, and whether the query opened it.

    A query that weighs its lists ranks clusters by bins of similar score, and by number within a bin.
    """

    cluster: int
    place: int
    opened: bool
    copy: bool


@dataclass(frozen=True)
class TermMatch:
    """A query term that the document is filed under: its rank among the document's terms, and whether it counts.

    ``term`` is the word as the query has it; with ``part`` the document has only a part of it. A term counts if its
    rank is below ``per_doc``. A query that weighs its lists opens each down to some cluster.
    """

    term: str
    rank: int
    counts: bool
    opened: bool
    part: bool = False


@dataclass(frozen=True)
class WordScore:
    """A word of the query, and what it adds to the score of the document: 0 where the document does not have it.

    ``part`` says that the document has only a part of the word, where the tokenizer splits words.
    """

    word: str
    score: float
    part: bool = False

    def shown(self, sign: str = "") -> str:
        """Return word and score as text; ``sign`` is "+" for a difference."""
        return f"{'part of ' if self.part else ''}{self.word!r} {self.score:{sign}.4f}"


@dataclass(frozen=True)
class Comparison:
    """Why one document is ahead of another, ``id``. Differences are what the first has more than the other.

    ``ahead`` is the id of the better one, None if the search ranked neither. ``reason`` is 'score', 'arrival' (equal
    scores, the older document is first), 'not rescored' (only one was among the candidates that were scored to the
    end), 'first scores' (neither was) or 'not ranked' (the search did not score one of them). ``other`` is the whole
    explanation of the other document.
    """

    id: Id
    ahead: Id | None
    reason: str
    score: float | None
    dense: float | None
    words: tuple[WordScore, ...]
    punctuation: float
    other: Explanation

    def lines(self, own: Id) -> list[str]:
        """Return why one is ahead, in sentences; ``own`` is the id of the first document."""
        if self.ahead is None:
            return [f"Neither {described(own)} nor {described(self.id)} was ranked.", *_indented(str(self.other))]
        first, second = (described(id) for id in ((own, self.id) if self.ahead == own else (self.id, own)))
        if self.reason == "not ranked":
            why = [] if self.ahead == self.id else _indented(str(self.other))
            return [f"{first} is ahead of {second}, which was not ranked.", *why]
        if self.reason == "arrival":
            return [f"{first} is ahead of {second} because it arrived first: their scores are equal."]
        sign = 1 if self.ahead == own else -1
        parts = [] if self.dense is None else [f"vectors {sign * self.dense:+.4f}"]
        parts += [replace(word, score=sign * word.score).shown("+") for word in self.words if word.score]
        parts += [f"punctuation {sign * self.punctuation:+.4f}"] if self.punctuation else []
        if self.reason == "score":
            return [f"{first} is ahead of {second} by {sign * (self.score or 0):.4f}: {', '.join(parts)}."]
        if self.reason == "not rescored":
            why_not = f"{second} was not among the best candidates, which are scored to the end"
        else:
            why_not = "its codes and lists score more; neither was among the best candidates"
        return [f"{first} is ahead of {second}: {why_not}.", f"Scored to the end, it would have: {', '.join(parts)}."]


@dataclass(frozen=True)
class Explanation:
    """What a search did with one document. ``str`` says it in words, ``to_dict`` returns plain data.

    ``outcome`` is 'found', 'outscored', 'no shared list', 'no shared word' (for a text alone), 'filtered out' or
    'not in the index'.

    ``score`` is the score that hits have, ``dense`` and ``lexical`` are its parts as in ``Hits``: score = dense +
    ``weight`` · lexical. ``words`` says what each word of the query adds to the score, ``punctuation`` what the rest
    of its text adds. ``codec_score`` is the codec's score, ``refine_score`` that of the refine store, ``exact_score``
    the inner product where full vectors are stored.

    ``rank`` counts from 1. A search may keep only the best ``n_candidates`` of the documents scored, by their codes
    and lists, and score these again by refine store and words. ``rescored`` says whether this document was one of
    them: then it is ranked among them, otherwise among all. A search for the ``larger_k`` best would find it.

    Of the words of the query, ``query_terms`` were opened as lists. ``noted_terms`` are rare words of the document,
    which make it a candidate though it is filed under others. ``unfiled_terms`` are in the document too, which is
    filed under its best terms only. Under ``common_terms`` no document is filed, though some have them;
    ``unmatched_terms`` are in no document. ``skipped_terms`` hold the document, but were not among the best terms of
    the query. ``missing_words`` and ``excluded_words`` are signed words (``syntax=True``) that kept the document out.
    ``asked_clusters``, ``asked_terms``, ``budget`` and ``adaptive`` are the arguments of the search. With ``no_vector``
    the document came without a vector, and ``dense`` is the score of the mean document.
    """

    id: Id
    outcome: str
    k: int
    n_scored: int
    rank: int | None = None
    rescored: bool = False
    n_candidates: int | None = None
    larger_k: int | None = None
    score: float | None = None
    dense: float | None = None
    lexical: float | None = None
    weight: float | None = None
    words: tuple[WordScore, ...] = ()
    punctuation: float = 0.0
    codec_score: float | None = None
    refine_score: float | None = None
    exact_score: float | None = None
    lowest_hit: float | None = None
    clusters: tuple[ClusterMatch, ...] = ()
    terms: tuple[TermMatch, ...] = ()
    query_terms: tuple[str, ...] = ()
    noted_terms: tuple[str, ...] = ()
    unfiled_terms: tuple[str, ...] = ()
    common_terms: tuple[str, ...] = ()
    unmatched_terms: tuple[str, ...] = ()
    skipped_terms: tuple[str, ...] = ()
    no_terms: str | None = None
    missing_words: tuple[str, ...] = ()
    excluded_words: tuple[str, ...] = ()
    asked_clusters: int = 0
    asked_terms: int = 0
    budget: int | None = None
    adaptive: float | None = None
    no_vector: bool = False
    filtered: bool = False
    comparison: Comparison | None = None

    @property
    def weighed(self) -> bool:
        """Whether the query weighed its lists."""
        return self.budget is not None or self.adaptive is not None

    @property
    def words_alone(self) -> bool:
        """Whether the query had no vector."""
        return self.lexical is not None and self.dense is None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        lines = self._outcome_lines()
        if self.outcome != "not in the index":
            lines += self._score_lines()
            if not self.words_alone and self.outcome != "filtered out":
                lines += [*self._cluster_lines(), *self._term_lines()]
            lines += self._named("no document has", self.unmatched_terms)
        return "\n".join(lines if self.comparison is None else [*lines, *self.comparison.lines(self.id)])

    # -- outcome ------------------------------------------------------------------------------------------------------

    def _outcome_lines(self) -> list[str]:
        name = described(self.id)
        if self.outcome == "not in the index":
            return [f"{name} is not in the index."]
        if self.outcome == "found":
            return [f"{name} was found at rank {self.rank} of {self.n_scored} documents scored."]
        if self.outcome == "outscored":
            first = f"{name} was scored but is not among the best {self.k}: rank {self.rank} of {self.n_scored}."
            return [first, self._way_up()]
        if self.outcome == "filtered out":
            return [f"{name} was not scored: {self._kept_out()}."]
        if self.outcome == "no shared word":
            return [f"{name} was not found: it has none of the query's words."]
        unranked = self.no_vector and self.lexical is None
        why = "it has no vector, and this query does not rank by words" if unranked else None
        return [f"{name} was not scored: {why or 'no list the query opened holds it'}.", *self._way_in()]

    def _kept_out(self) -> str:
        reasons = [f"it does not have the required {_quoted(self.missing_words)}"] if self.missing_words else []
        reasons += [f"it has the excluded {_quoted(self.excluded_words)}"] if self.excluded_words else []
        return " and ".join(reasons) or "the filter leaves it out"

    def _way_up(self) -> str:
        """What would have put the document among the best."""
        larger = "ask for a larger k" + ("" if self.larger_k is None else f" (k={self.larger_k} finds it)")
        if self.rescored or self.n_candidates is None:
            return f"The last hit has {self.lowest_hit:.4f}: {larger}."
        if self.lexical is None:
            return "The codec ranks it too low to be rescored: ask for a deeper refine or a finer codec."
        return (
            f"This is its rank by codes and lists, and the words of only the best {self.n_candidates} count: {larger}."
        )

    def _way_in(self) -> list[str]:
        """What would have admitted the document."""
        if self.filtered or self.no_vector:
            return []
        nearest = min((match.place for match in self.clusters), default=None)
        if any(match.opened for match in self.clusters) or any(match.counts and match.opened for match in self.terms):
            return ["The budget ended before it was reached: a larger one would reach it."]
        budget = [] if self.budget is None else ["a larger budget"]
        wider = " and ".join([*budget, *([] if self.adaptive is None else ["a lower adaptive"])])
        if (nearest or self.asked_clusters + 1) <= self.asked_clusters or any(match.counts for match in self.terms):
            return [f"{wider[:1].upper()}{wider[1:]} would reach it."]
        more = f" with {wider}" if wider else ""
        return [] if nearest is None else [f"Opening {nearest} clusters (clusters={nearest}){more} would reach it."]

    # -- scores -------------------------------------------------------------------------------------------------------

    def _score_lines(self) -> list[str]:
        kinds = [("codec", self.codec_score), ("refine", self.refine_score), ("exact", self.exact_score)]
        known = [f"{kind} {value:.4f}" for kind, value in kinds if value is not None]
        if self.lexical is None or self.score is None or self.weight is None:
            return [f"- score: {', '.join(known)}."] if known else []
        final = self.rank is not None and (self.rescored or self.n_candidates is None)
        lines = [f"- {'score' if final else 'it would score'} {self.score:.4f}"]
        if self.dense is None:
            lines[0] += " by words alone."
        else:
            vectors = "the mean document's" if self.no_vector else "vectors"
            lines[0] += f" = {vectors} {self.dense:.4f} + words {self.weight * self.lexical:.4f}."
        adding = [word.shown() for word in self.words if word.score]
        adding += [f"punctuation {self.punctuation:.4f}"] if self.punctuation else []
        lines += [f"- its words of the query add: {', '.join(adding)}."] if adding else []
        absent = [word.word for word in self.words if not word.score]
        lines += self._named("it does not have", absent)
        differ = len({value for _, value in kinds if value is not None}) > 1
        return lines + ([f"- score of its vector: {', '.join(known)}."] if differ else [])

    # -- lists --------------------------------------------------------------------------------------------------------

    def _cluster_lines(self) -> list[str]:
        lines = []
        for cluster in self.clusters:
            how = "a further cluster" if cluster.copy else "its cluster"
            asked = cluster.place <= self.asked_clusters and self.weighed
            state = "opened" if cluster.opened else "too little is expected of it" if asked else "not opened"
            said = "" if self.filtered else f": {state}"
            lines.append(f"- {how} {cluster.cluster} is number {cluster.place} for this query{said}.")
        return lines

    def _term_lines(self) -> list[str]:
        lines = []
        for term in self.terms:
            unopened = "not opened as far as its cluster" if term.counts else "beyond per_doc, not counted"
            state = "opened" if term.counts and term.opened else unopened
            name = f"{'part of ' if term.part else ''}{term.term!r}"
            lines.append(f"- its term {name} (number {term.rank + 1} of the document) is in the query: {state}.")
        if self.no_terms is not None:
            lines.append(f"- the query opened no term: {self.no_terms}.")
        elif not self.terms and not self.noted_terms:
            names = ", ".join(word for word in self.query_terms if word not in self.common_terms)
            lines.append(
                f"- it is filed under none of the terms that the query opened{f' ({names})' if names else ''}."
            )
        lines += self._named("it is a candidate by its rare words", self.noted_terms)
        lines += self._named("it also has these, but is filed under its best terms only", self.unfiled_terms)
        lines += self._named("too common, no document is filed under", self.common_terms)
        skipped = f"filed under, but not among the best {self.asked_terms} terms of the query"
        return lines + self._named(skipped, self.skipped_terms)

    @staticmethod
    def _named(what: str, names: Iterable[str]) -> list[str]:
        shown = ", ".join(names)
        return [f"- {what}: {shown}."] if shown else []


def _quoted(words: tuple[str, ...]) -> str:
    return ("word " if len(words) == 1 else "words ") + ", ".join(repr(word) for word in words)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]

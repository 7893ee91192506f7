"""Why is one document ahead of another? What each part of the score differs by."""

from __future__ import annotations

from hi2.search.explanation import Comparison, Explanation, WordScore


def compare(first: Explanation, second: Explanation) -> Comparison:
    """Return why the first is ahead of the second or behind it."""
    ahead, reason = _ahead(first, second)
    others = {word.word: word for word in second.words}
    words = [
        WordScore(word.word, word.score - others[word.word].score, word.part or others[word.word].part)
        for word in first.words
        if word.word in others
    ]
    return Comparison(
        id=second.id,
        ahead=None if ahead is None else ahead.id,
        reason=reason,
        score=_difference(first.score, second.score),
        dense=_difference(first.dense, second.dense),
        words=tuple(sorted(words, key=lambda word: -abs(word.score))),
        punctuation=first.punctuation - second.punctuation,
        other=second,
    )


def _ahead(first: Explanation, second: Explanation) -> tuple[Explanation | None, str]:
    """The better one, None if neither was ranked, and why."""
    if first.rank is None or second.rank is None:
        return (first if first.rank is not None else second if second.rank is not None else None), "not ranked"
    if first.rescored != second.rescored:
        return (first if first.rescored else second), "not rescored"
    better = first if first.rank < second.rank else second
    if first.n_candidates is not None and not first.rescored:
        return better, "first scores"
    return better, "arrival" if first.score == second.score else "score"


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second

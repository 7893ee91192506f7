"""What if questions are not as a collection has them? Misspelt, cut short, buried in noise, sharing no word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np

from hi2.encoders.encoder import Encoder, encode
from hi2.encoders.static import StaticEncoder
from hi2.errors import invalid
from hi2.evaluation.judgements import Grades
from hi2.evaluation.task import Questions, Task

SEED = 0
#: Words of another document that stand behind a long question; letters of words that carry little.
NOISE, SHORT = 100, 3


@dataclass(frozen=True)
class Question:
    """A question, the texts that answer it, and some text that has nothing to do with it."""

    text: str
    answers: Sequence[str]
    unrelated: str


def typos(question: Question, rng: np.random.Generator) -> str:
    """Swap two neighbouring letters in half of the words of four letters and more."""

    def spoil(match: re.Match[str]) -> str:
        word = match[0]
        if rng.random() < 0.5:
            return word
        at = int(rng.integers(1, len(word) - 2))
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return re.sub(r"[A-Za-z]{4,}", spoil, question.text)


def no_shared_word(question: Question, rng: np.random.Generator) -> str:
    """Say every word that stands in an answering text by its nearest neighbour that does not; leave short ones out."""
    known = {word for text in question.answers for word in _words(text)}
    said = []
    for word in _words(question.text):
        if word not in known:
            said.append(word)
        elif len(word) > SHORT:
            said.append(thesaurus().nearest(word, known))
    return " ".join(said) or "this"


class Thesaurus:
    """Whole words of the static encoder's vocabulary, by the likeness of their vectors."""

    def __init__(self) -> None:
        self._encoder = StaticEncoder()
        tokens = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8").split("\n")
        self._words = [token for token in tokens if token.isascii() and token.isalpha() and len(token) > SHORT]
        self._vectors = self._encoder(self._words)

    def nearest(self, word: str, known: Set[str]) -> str:
        """Return the word most like another that is not known and does not begin alike."""
        for i in np.argsort(-(self._vectors @ self._encoder([word])[0]), kind="stable"):
            found = self._words[int(i)]
            if found not in known and found[:SHORT] != word[:SHORT]:
                return found
        return "this"


@cache
def thesaurus() -> Thesaurus:
    """Return the one of the built-in encoder."""
    return Thesaurus()


def two_words(question: Question, rng: np.random.Generator) -> str:
    """Keep the two longest words, in their order."""
    words = question.text.split()
    longest = sorted(range(len(words)), key=lambda i: (-len(words[i]), i))[:2]
    return " ".join(words[i] for i in sorted(longest))


def long(question: Question, rng: np.random.Generator) -> str:
    """Add a hundred words of an unrelated document."""
    return f"{question.text} {' '.join(question.unrelated.split()[:NOISE])}"


VARIANTS: dict[str, Callable[[Question, np.random.Generator], str]] = {
    "typos": typos,
    "no shared word": no_shared_word,
    "two words": two_words,
    "very long": long,
}


def variants(task: Task, encoder: Encoder | None) -> dict[str, Task]:
    """Return the task with its test questions as they are, and changed in every way; new texts get new vectors."""
    judged = task.test.judged
    if encoder is None:
        raise invalid("--encoder", "given: changed questions need new vectors", "none")
    if not isinstance(judged, Grades):
        raise invalid("--data", "a collection with judged documents", task.name)
    place = {id: row for row, id in enumerate(task.ids)}
    found = {"as asked": task}
    for name, change in VARIANTS.items():
        rng = np.random.default_rng(SEED)
        texts = []
        for id, text in zip(task.test.ids, task.test.texts, strict=True):
            answers = [task.texts[place[document]] for document in judged.relevant(id)]
            unrelated = task.texts[int(rng.integers(0, len(task.texts)))]
            texts.append(change(Question(text, answers, unrelated), rng))
        vectors = encode(encoder, texts, dim=task.vectors.shape[1])
        questions = Questions(f"{task.test.split}, {name}", task.test.ids, texts, vectors, judged)
        found[name] = replace(task, test=questions)
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())

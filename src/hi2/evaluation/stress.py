"""How robust is a search to other questions? Misspelt, shortened, followed by noise, or sharing no word."""

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
#: Words of an unrelated document that are appended to a question.
N_NOISE_WORDS = 100
#: Words of up to this many letters are dropped rather than replaced.
SHORT_WORD_LENGTH = 3


@dataclass(frozen=True)
class Question:
    """A question, the texts that answer it, and an unrelated text."""

    text: str
    answers: Sequence[str]
    unrelated: str


def add_typos(question: Question, rng: np.random.Generator) -> str:
    """Swap two neighbouring letters in half of the words of four or more letters."""

    def swap_letters(match: re.Match[str]) -> str:
        word = match[0]
        if rng.random() < 0.5:
            return word
        at = int(rng.integers(1, len(word) - 2))
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return re.sub(r"[A-Za-z]{4,}", swap_letters, question.text)


def replace_shared_words(question: Question, rng: np.random.Generator) -> str:
    """Replace each word that occurs in an answer by its nearest neighbour that does not; drop short words."""
    known = {word for text in question.answers for word in _words(text)}
    kept = []
    for word in _words(question.text):
        if word not in known:
            kept.append(word)
        elif len(word) > SHORT_WORD_LENGTH:
            kept.append(thesaurus().nearest(word, known))
    return " ".join(kept) or "this"


class Thesaurus:
    """The whole words of the static encoder's vocabulary, compared by their vectors."""

    def __init__(self) -> None:
        self._encoder = StaticEncoder()
        tokens = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8").split("\n")
        self._words = [
            token for token in tokens if token.isascii() and token.isalpha() and len(token) > SHORT_WORD_LENGTH
        ]
        self._vectors = self._encoder(self._words)

    def nearest(self, word: str, known: Set[str]) -> str:
        """Return the word most similar to ``word`` that is not in ``known`` and begins with other letters."""
        for i in np.argsort(-(self._vectors @ self._encoder([word])[0]), kind="stable"):
            found = self._words[int(i)]
            if found not in known and found[:SHORT_WORD_LENGTH] != word[:SHORT_WORD_LENGTH]:
                return found
        return "this"


@cache
def thesaurus() -> Thesaurus:
    """Return the thesaurus of the built-in encoder, made once."""
    return Thesaurus()


def keep_two_words(question: Question, rng: np.random.Generator) -> str:
    """Keep the two longest words in their original order."""
    words = question.text.split()
    longest = sorted(range(len(words)), key=lambda i: (-len(words[i]), i))[:2]
    return " ".join(words[i] for i in sorted(longest))


def append_noise(question: Question, rng: np.random.Generator) -> str:
    """Append a hundred words of an unrelated document."""
    return f"{question.text} {' '.join(question.unrelated.split()[:N_NOISE_WORDS])}"


VARIANTS: dict[str, Callable[[Question, np.random.Generator], str]] = {
    "typos": add_typos,
    "no shared word": replace_shared_words,
    "two words": keep_two_words,
    "very long": append_noise,
}


def variants(task: Task, encoder: Encoder | None) -> dict[str, Task]:
    """Return the task with its original test questions, and once per kind of change. Changed texts get new vectors."""
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

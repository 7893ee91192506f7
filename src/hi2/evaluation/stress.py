"""What if questions are not as a collection has them? Misspelt, cut short, buried in noise, sharing no word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hi2.encoders.encoder import Encoder, encode
from hi2.errors import invalid
from hi2.evaluation.judgements import Grades
from hi2.evaluation.task import Questions, Task

SEED = 0
#: Words of another document that stand behind a long question.
NOISE = 100


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
    """Leave out every word that stands in a text that answers the question; all words if none would be left."""
    known = {word for text in question.answers for word in _words(text)}
    kept = [word for word in question.text.split() if not set(_words(word)) & known]
    return " ".join(kept) if kept else "this"


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

"""How do I answer questions from a folder of files? With passages that cite their file and place.

    python examples/rag.py                          # a folder that comes with the example
    python examples/rag.py notes/ "Who feeds the horse?"

Nothing is downloaded: the encoder comes with hi2, and the answer is the sentence that fits best. A language model is
any callable from a prompt to a text: ``answer(index, question, model=...)``.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hi2

FILES = {
    "horses.md": "# Horses\n\nA horse eats grass, hay and apples. It drinks up to forty litres of water a day.\n\n"
    "Anna feeds the horse every morning before school.",
    "boats.txt": "The boat belongs to the whole family. It is kept in the harbour of Norden from May to October.\n\n"
    "Its engine, type KX-4411, needs new oil every hundred hours.",
    "garden/apples.md": "# Apples\n\nThe apples are picked in September. Half of them are pressed into juice.\n\n"
    "Windfalls are kept for the horse.",
}
QUESTIONS = ["What does the horse eat?", "How often does KX-4411 need oil?", "When are apples harvested?"]


@dataclass(frozen=True)
class Passage:
    """A passage of a file: its text, and the characters where it begins and ends."""

    file: str
    begin: int
    end: int
    text: str
    score: float

    @property
    def citation(self) -> str:
        """The file and the place in it."""
        return f"{self.file}:{self.begin}-{self.end}"


def build(folder: Path) -> hi2.HybridIndex:
    """Return an index of the passages of all text files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".txt"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    names = [path.relative_to(folder).as_posix() for path in files]
    passages = hi2.chunks(texts, ids=names, tokens=25, overlap=0)
    return hi2.HybridIndex.build(
        texts=passages.texts, ids=passages.ids, payload=passages.payload, encoder=hi2.StaticEncoder(), progress=False
    )


def retrieve(index: hi2.HybridIndex, question: str, *, n_files: int = 2, per_file: int = 2) -> dict[str, list[Passage]]:
    """Return the best passages of the best files."""
    best = index.search(question, k=n_files, group_by="document")
    found: dict[str, list[Passage]] = {}
    for name in best.groups.tolist() if best.groups is not None else []:
        hits = index.search(question, k=per_file, filter=hi2.column("document") == name)
        found[name] = [
            Passage(name, hit.payload["begin"], hit.payload["end"], str(hit.text), hit.score) for hit in hits
        ]
    return found


def prompt(question: str, passages: dict[str, list[Passage]]) -> str:
    """Return what a language model would be asked."""
    sources = [f"[{own.citation}] {own.text}" for group in passages.values() for own in group]
    return "Answer from these sources and cite them.\n\n" + "\n\n".join(sources) + f"\n\nQuestion: {question}"


def quoted(question: str, passages: dict[str, list[Passage]]) -> str:
    """Return the sentence that fits the question best, with its citation: an answer without a model."""
    sentences = [
        (match[0], f"{own.file}:{own.begin + match.start()}-{own.begin + match.end()}")
        for group in passages.values()
        for own in group
        for match in re.finditer(r"[^\s.!?][^.!?\n]*[.!?]", own.text)
    ]
    if not sentences:
        return "Nothing was found."
    index = hi2.HybridIndex.build(
        texts=[sentence for sentence, _ in sentences], encoder=hi2.StaticEncoder(), progress=False
    )
    sentence, citation = sentences[index.search(question, k=1)[0].id]
    return f"{sentence} [{citation}]"


def answer(index: hi2.HybridIndex, question: str, *, model: Callable[[str], str] | None = None) -> str:
    """Return the answer of a model to the question and its sources, or the best sentence of them."""
    passages = retrieve(index, question)
    return quoted(question, passages) if model is None else model(prompt(question, passages))


def show(folder: Path, questions: list[str]) -> None:
    """Print the answers to questions, and the passages they come from, by file."""
    index = build(folder)
    for question in questions:
        print(f"{question}\n  {answer(index, question)}")
        for file, passages in retrieve(index, question).items():
            print(f"  {file}")
            for own in passages:
                print(f"    {own.begin:4}-{own.end:<4} {own.score:.2f}  {' '.join(own.text.split())[:70]}")


def main() -> None:
    """Answer from the given folder, or from a small one."""
    if len(sys.argv) > 2:
        show(Path(sys.argv[1]), sys.argv[2:])
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        show(Path(folder), QUESTIONS)


if __name__ == "__main__":
    main()

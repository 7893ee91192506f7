"""How are hits exchanged? As TREC runs: query, Q0, document, rank, score, name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hi2.data.input_files import read_lines
from hi2.errors import InvalidParameter


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the documents of every query, highest score first. A repeated document is refused."""
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for number, line in read_lines(path):
        fields = line.split()
        if not fields:
            continue
        where = f"{path}, line {number}"
        try:
            query, _, document, _, score, _ = fields
            value = float(score)
        except ValueError as error:
            raise InvalidParameter(f"{where}: expected query, Q0, document, rank, score and name.") from error
        own = found.setdefault(query, {})
        if document in own:
            raise InvalidParameter(f"{where}: the document {document!r} is there twice for query {query!r}.")
        own[document] = (value, number)
    if not found:
        raise InvalidParameter(f"{path}: no line of a run.")
    return {query: sorted(own, key=lambda id: (-own[id][0], own[id][1])) for query, own in found.items()}


def write_run(path: Path, name: str, runs: Mapping[str, Sequence[str]]) -> None:
    """Write the documents of every query in order. The score is 1 / rank."""
    lines = (
        f"{query} Q0 {document} {rank} {1 / rank:.9f} {name}\n"
        for query, documents in runs.items()
        for rank, document in enumerate(documents, 1)
    )
    part = path.with_name(path.name + ".part")
    part.write_text("".join(lines), encoding="utf-8")
    part.replace(path)

"""What do some systems need besides the collection? Predicted questions, term weights or trained parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.peers import PEERS, Peer
from hi2.evaluation.peers.learned_sparse import LearnedSparse
from hi2.evaluation.peers.trained import Trained
from hi2.evaluation.task import Task, digest
from hi2.evaluation.term_weights import TermWeights, check_order, make_weights, read_weights
from hi2.progress import Progress
from hi2.store.trained_parts import PARTS


@dataclass(frozen=True)
class Inputs:
    """Paths of what some systems need besides the collection.

    ``expansions`` is a file of predicted questions. ``weights`` maps a system to a folder with documents.jsonl and
    queries.jsonl, or to a model: its folder, its name on the hub, or "hub" for the system's own. Weights that a model
    makes are kept under ``cache``. ``trained`` has one folder of trained parts per method.
    """

    expansions: Path | None = None
    weights: Mapping[str, str] | None = None
    cache: Path = Path("weights")
    trained: Path | None = None
    progress: Progress = field(default_factory=lambda: Progress(False))

    def system(self, name: str, task: Task) -> Peer | None:
        """Return the system, or None if what it needs was not given."""
        kind: Any = PEERS[name]
        if kind.needs is None:
            system: Peer = kind()
            return system
        if issubclass(kind, LearnedSparse):
            source = (self.weights or {}).get(name)
            return None if source is None else self._learned_sparse(kind, source, task)
        if issubclass(kind, Trained):
            parts = None if self.trained is None else self.trained / kind.method
            return None if parts is None or not (parts / PARTS).is_file() else kind(parts)
        return None if self.expansions is None else kind(self.expansions)

    def fingerprint(self, name: str) -> str:
        """Return a text that changes when the files given to a system change."""
        kind: Any = PEERS[name]
        if kind.needs is None:
            return ""
        source: Any = self.expansions
        if issubclass(kind, LearnedSparse):
            source = (self.weights or {}).get(name)
        elif issubclass(kind, Trained):
            source = None if self.trained is None else self.trained / kind.method
        return "" if source is None else _files_fingerprint(Path(source))

    def _learned_sparse(self, kind: type[LearnedSparse], source: str, task: Task) -> Peer:
        texts = dict(zip([*task.tune.ids, *task.test.ids], [*task.tune.texts, *task.test.texts], strict=True))
        folder = Path(source)
        if not (folder / "documents.jsonl").is_file():
            hub = kind.recipe.hub if source == "hub" else source
            if hub is None:
                raise invalid("--weights", f"{kind.name}=PATH of a model: the hub has none", f"'{kind.name}={source}'")
            model = TermWeights(hub, kind.recipe)
            folder = self.cache / f"{task.name}-{kind.name}-{digest(task.manifest, [source, *texts])}"
            for file, ids, own in (
                ("documents.jsonl", task.ids, task.texts),
                ("queries.jsonl", list(texts), list(texts.values())),
            ):
                is_queries = file == "queries.jsonl"
                make_weights(folder / file, ids, own, model, queries=is_queries, progress=self.progress)
        check_order(folder / "documents.jsonl", task.ids)
        query_weights = {texts[id]: own for id, own in read_weights(folder / "queries.jsonl") if id in texts}
        missing = [id for id, text in texts.items() if text not in query_weights]
        if missing:
            raise InvalidParameter(f"{folder / 'queries.jsonl'}: no weights of query {missing[0]!r}.")
        return kind(folder / "documents.jsonl", query_weights)


def _files_fingerprint(path: Path) -> str:
    """Return the names, sizes and times of a file or of a folder's files. A name on the hub is returned as it is."""
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    stated = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return f"{path.name} {stated}" if stated else str(path)

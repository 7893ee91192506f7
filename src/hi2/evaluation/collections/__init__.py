"""Where do documents, questions and judgements come from? One module per distribution format."""

from __future__ import annotations

from pathlib import Path

from hi2.errors import invalid
from hi2.evaluation.collections.beir import Beir
from hi2.evaluation.collections.collection import Collection
from hi2.evaluation.collections.dpr import Dpr
from hi2.evaluation.collections.irdatasets import IrDataset
from hi2.evaluation.collections.msmarco import MsMarco
from hi2.evaluation.collections.trec import Trec


def open_collection(source: str | Path) -> Collection:
    """Return the collection in a folder (BEIR, MS MARCO, DPR's Natural Questions, TREC) or with an ir_datasets id."""
    folder = Path(source)
    if folder.is_dir():
        for kind in (Dpr, MsMarco, Trec, Beir):
            if kind.recognises(folder):
                return kind(folder)
        must = (
            "a folder with corpus.jsonl (BEIR), collection.tsv (MS MARCO), psgs_w100.tsv (DPR) or topics.*.txt (TREC)"
        )
        raise invalid("data", must, f"'{folder}'")
    named = not isinstance(source, Path) and not str(source).startswith(("/", "."))
    if folder.exists() or not named or ("/" not in str(source) and not IrDataset.knows(str(source))):
        raise invalid("data", "a folder, or an id of ir_datasets such as beir/scifact/test", f"'{source}'")
    return IrDataset(str(source))


__all__ = ["Collection", "open_collection"]

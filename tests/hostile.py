"""What do tests of hostile indexes share? A model that leaves a mark when its code runs, and an index that names it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np

from rewriting import write_manifest


def hashed(texts):
    """An encoder that is a plain function: counts of hashed words."""
    rows = np.zeros((len(texts), 32))
    for i, text in enumerate(texts):
        for word in text.split():
            rows[i, sum(map(ord, word)) % 32] += 1
    return rows


class Touch:
    """A pickle of this creates a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def hostile_model(folder: Path, marker: Path, *, modules: bool = True) -> Path:
    """Write a model whose module, configuration and weights all create ``marker`` when they are run."""
    folder.mkdir()
    code = f"from pathlib import Path\nPath({str(marker)!r}).touch()\nclass Evil:\n    pass\n"
    (folder / "beside.py").write_text(code)
    if modules:
        module = {"idx": 0, "name": "0", "path": "", "type": "beside.Evil"}
        (folder / "modules.json").write_text(json.dumps([module]))
    auto_map = {"AutoConfig": "beside.Evil", "AutoModel": "beside.Evil", "AutoTokenizer": ["beside.Evil", None]}
    (folder / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": auto_map}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Evil", "auto_map": auto_map}))
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(marker)))
    return folder


def name_encoder(index: Path, name: str, source: str | None, **changes) -> None:
    """Rewrite which encoder an index names."""
    change_part(index, "encoder", name=name, source=source, **changes)


def change_part(index: Path, part: str, **changes) -> None:
    """Rewrite what an index says about a part, with every checksum corrected."""
    manifest = json.loads((index / "manifest.json").read_text())
    manifest["model"]["parts"][part] |= changes
    write_manifest(index, manifest)

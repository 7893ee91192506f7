"""How is the state of a run kept? As one safetensors file: tensors by name, and plain facts as JSON in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hi2.errors import Error, InvalidParameter

CHECKPOINT = "checkpoint.safetensors"
_FACTS = "hi2"

#: Tensors by name, in as many levels as they have.
Tree = Mapping[str, Any]


def save_checkpoint(path: Path, tensors: Tree, facts: Mapping[str, Any]) -> None:
    """Replace the checkpoint at ``path``. If that fails, the last one stays as it was."""
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Tensors that share memory cannot be saved, so each is copied.
        flat = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in _flatten(tensors).items()}
        save_file(flat, part, metadata={_FACTS: json.dumps(facts)})
        part.replace(path)
    except (OSError, RuntimeError, SafetensorError) as error:
        with suppress(OSError):
            part.unlink()
        raise Error(f"{part} cannot be written: {error}. The last checkpoint is kept; make room and resume.") from error


def load_checkpoint(path: Path, device: torch.device) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the facts that ``save_checkpoint`` wrote."""
    try:
        with safe_open(path, framework="pt", device=str(device)) as file:
            facts = json.loads(file.metadata()[_FACTS])
            # Copied, so that no tensor maps a file that the next checkpoint replaces.
            flat = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise unusable(path, error) from error
    return _nest(flat), dict(facts)


def unusable(path: Path, reason: object) -> InvalidParameter:
    """Return the error for a checkpoint that a run cannot be resumed from."""
    return InvalidParameter(f"{path} cannot be resumed from ({reason}). Remove it to start again.")


def _flatten(tree: Tree, prefix: str = "") -> dict[str, torch.Tensor]:
    flat: dict[str, torch.Tensor] = {}
    for name, value in tree.items():
        flat |= _flatten(value, f"{prefix}{name}/") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def _nest(flat: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, tensor in flat.items():
        *folders, name = path.split("/")
        inner = tree
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[name] = tensor
    return tree

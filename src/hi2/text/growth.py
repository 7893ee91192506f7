"""How much longer can a tokenizer make a text? Rules that replace characters by more of them multiply.

Nine rules that write ten letters for one make a gigabyte of one letter. A definition that allows this is refused before
it sees a text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from math import prod
from typing import Any

from hi2.errors import invalid

#: The rules of a tokenizer may lengthen a text this many times together. Those in use stay below 100.
MAX_GROWTH = 256


def check_growth(definition: Mapping[str, Any]) -> None:
    """Refuse a definition whose rules could lengthen a text beyond all measure."""
    growth = prod(_growth(definition.get(part)) for part in ("normalizer", "pre_tokenizer"))
    if growth > MAX_GROWTH:
        must = f"one that lengthens a text at most {MAX_GROWTH} times"
        raise invalid("tokenizer", must, f"one that may lengthen it {growth:.3g} times")


def _growth(rule: Any) -> float:
    """How many bytes a rule writes for one byte, at most. What Unicode itself lengthens is not counted."""
    if not isinstance(rule, Mapping):
        return 1
    kind = rule.get("type")
    if kind == "Sequence":
        return prod(_growth(inner) for inner in rule.get("normalizers", rule.get("pretokenizers", [])))
    if kind == "Replace":
        pattern, written = rule["pattern"], len(rule["content"].encode())
        return max(1.0, written / max(1, len(pattern["String"].encode())) if pattern.get("String") else 1 + written)
    if kind == "Prepend":  # once for every piece between added tokens
        return 1 + len(rule["prepend"].encode())
    if kind == "Precompiled":
        table = base64.b64decode(rule["precompiled_charsmap"] or "")
        replaced = table[4 + int.from_bytes(table[:4], "little") :]  # after a trie, with its size before it
        return max(1, *map(len, replaced.split(b"\0")))
    return 2 if kind == "ByteLevel" else 1

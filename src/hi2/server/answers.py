"""How do hits become JSON? Bytes that are sent as they are, made in the thread that searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from hi2.types import Hits


@dataclass(frozen=True)
class Wanted:
    """What a hit brings along."""

    text: bool = True
    payload: bool = True
    snippet: bool = False
    explanation: bool = False


def to_json(value: Any) -> bytes:
    """Return JSON; integers beyond 64 bits, which a payload may have, are written by the standard library."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        import json

        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def answers(hits: Hits, wanted: Wanted) -> bytes:
    """Return the answer to one query."""
    return to_json({"hits": rows(hits, wanted), "n_scored": int(hits.n_scored)})


def rows(hits: Hits, wanted: Wanted) -> list[dict[str, Any]]:
    """Return each hit as a mapping; the parts of its score are None where it was not ranked by them."""
    n = len(hits)
    none = [None] * n
    parts = [none if part is None else part.tolist() for part in (hits.dense, hits.lexical)]
    names = zip(hits.ids.tolist(), hits.scores.tolist(), *parts, strict=True)
    found = [{"id": id, "score": score, "dense": dense, "lexical": lexical} for id, score, dense, lexical in names]
    if (wanted.text or wanted.payload) and n and hits.source is not None:
        for row, stored in zip(found, hits.source.documents([row["id"] for row in found]), strict=True):
            if wanted.text:
                row["text"] = stored.get("text")
            if wanted.payload:
                row["payload"] = stored.get("payload", {})
    if hits.groups is not None:
        for row, group in zip(found, hits.groups.tolist(), strict=True):
            row["group"] = group
    if wanted.snippet:
        for row, hit in zip(found, hits, strict=True):
            row["snippet"] = hit.snippet
    if wanted.explanation:
        for row, own in zip(found, hits.explain(), strict=True):
            row["explanation"] = {**own.to_dict(), "text": str(own)}
    return found

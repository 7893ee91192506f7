"""What is kept of a document? One line of JSON: an object with its text and its payload."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

from hi2.errors import FormatError

#: Knows the encoding, which ``json.loads`` finds out for every line.
_PLAIN = json.JSONDecoder()
_KINDS = {"text": (str, "a string"), "payload": (dict, "an object")}


def read_line(line: bytes) -> dict[str, Any]:
    """Return the ``text`` and the ``payload`` of a stored line, those that it has; other keys are left out.

    >>> read_line(b'{"text": "a", "id": 3}')
    {'text': 'a'}
    """
    try:
        value = _PLAIN.decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise _damaged(f"a line that is not JSON ({error})") from error
    return _parts(value)


def check_line(line: bytes) -> dict[str, Any]:
    """Return what ``read_line`` does; refuse what is never written.

    That is other keys, repeated keys, numbers that are not finite, invalid Unicode, and several lines.
    """
    try:
        value = _STRICT.decode(line.decode())
        if b"\\u" in line:  # an escape may be half of a character
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _damaged(f"a line that is not JSON ({error})") from error
    parts = _parts(value)
    if value.keys() != parts.keys():
        raise _damaged(f"a key that is not text or payload: {min(value.keys() - parts.keys())!r}")
    if line.count(b"\n") != 1 or not line.endswith(b"\n"):
        raise _damaged("an object that is not one line")
    return parts


def _parts(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _damaged("a line that is not an object")
    parts = {key: value[key] for key in _KINDS if key in value}
    for key, own in parts.items():
        kind, name = _KINDS[key]
        if not isinstance(own, kind):
            raise _damaged(f"a {key} that is not {name}")
    return parts


def _damaged(what: str) -> FormatError:
    return FormatError(f"The index is damaged: stored.jsonl has {what}.")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"the number {constant}")


def _finite(digits: str) -> float:
    return number if isfinite(number := float(digits)) else _refuse(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(own := dict(pairs)) != len(pairs):
        raise ValueError("an object with a key twice")
    return own


_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_distinct)

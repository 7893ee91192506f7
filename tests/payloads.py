"""Payloads with every kind of column: the documents that tests of filters share."""

from __future__ import annotations

from datetime import date

LANGUAGES = ["de", "en", "fr", None]
#: What an index of these payloads must declare.
FREE = {"mixed": "other"}


def payload_of(i):
    return {
        "year": 2000 + i % 25 if i % 9 else None,
        "lang": LANGUAGES[i % 4],
        "tags": [f"t{i % 5}", f"u{i % 11}"] if i % 3 else [],
        "weight": i / 7,
        "draft": i % 2 == 0,
        "number": i,
        "seen": date(2020 + i % 3, 1 + i % 12, 1 + i % 28),
        "mixed": i if i % 2 else str(i),
    }

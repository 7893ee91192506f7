"""Can these texts be tokenized? They must be strings of valid Unicode."""

from __future__ import annotations

from collections.abc import Sequence

from hi2.errors import invalid


def check_texts(texts: Sequence[str]) -> None:
    """Name the first text that is not a string of valid Unicode."""
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise invalid("texts", "strings", f"a {type(text).__name__} in row {row}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise invalid("texts", "valid Unicode", f"{error.reason} in row {row}") from None

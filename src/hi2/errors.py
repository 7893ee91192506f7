"""What can go wrong, by name. Every exception raised on purpose derives from ``Error``."""

from __future__ import annotations

#: An error shows at most this many characters of a value.
LONGEST_VALUE = 200


class Error(Exception):
    """Anything hi2 refuses or cannot do."""


class InvalidParameter(Error, ValueError):
    """An argument is not what it must be; the message names it, its value and the way out."""


class FormatError(Error):
    """A stored index is damaged, incomplete or not an index."""


class NotFound(FormatError, FileNotFoundError):
    """There is no index at a path."""

    __str__ = Exception.__str__  # that of an OSError shows a number of the system


class UnsupportedVersion(FormatError):
    """A stored index has a format version this release does not read."""


class Locked(Error):
    """Another writer holds the index."""


class ReadOnly(Error):
    """A change was asked of an index that was opened for reading."""


class MissingExtra(Error, ImportError):
    """An optional dependency is not installed; the message names the extra."""


def invalid(name: str, must: str, got: object) -> InvalidParameter:
    """Return the error for a parameter that is not what it must be."""
    try:
        shown = str(got)
    except Exception:  # an integer of thousands of digits has no text
        shown = described(got)
    return InvalidParameter(f"The '{name}' parameter must be {must}. Got {shown.rstrip(',. ')}.")


def described(value: object) -> str:
    """Return a value as an error shows it: its repr, cut short, or its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # such as an integer of thousands of digits, or a class of the caller's
        return f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"

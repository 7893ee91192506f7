"""What can go wrong, by name. Every exception raised on purpose derives from ``Error``."""

from __future__ import annotations


class Error(Exception):
    """Anything hi2 refuses or cannot do."""


class InvalidParameter(Error, ValueError):
    """An argument is not what it must be; the message names it, its value and the way out."""


class FormatError(Error):
    """A stored index is damaged, incomplete or not an index."""


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
    return InvalidParameter(f"The '{name}' parameter must be {must}. Got {got} instead.")

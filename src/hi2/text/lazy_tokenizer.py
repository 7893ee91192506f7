"""How does an index open at once although its tokenizer takes time to parse? The tokenizer is parsed at first use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from hi2.data.lazy import lazy
from hi2.errors import FormatError, InvalidParameter
from hi2.text.dictionary import Dictionary
from hi2.text.library_errors import BrokenTokenizer
from hi2.text.tokenizer import Analyzer, restore_analyzer
from hi2.types import Array


class LazyTokenizer:
    """A stored tokenizer that is parsed when it is first used."""

    def __init__(self, definition: bytes, n_terms: int, dictionary: Dictionary | None = None) -> None:
        """Take a definition and, of a ``WordTokenizer``, the dictionary that is stored next to it."""
        self._bytes = definition
        self._dictionary = dictionary
        self._n_terms = n_terms
        self.fingerprint = hashlib.sha256(definition).hexdigest()

    @property
    def definition(self) -> str:
        """The stored definition, which needs no parsing."""
        try:
            return self._bytes.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"The index is damaged: its tokenizer cannot be read ({error}).") from error

    @property
    def n_terms(self) -> int:
        """Term numbers are below this; it grows with a dictionary."""
        return self._n_terms if self._dictionary is None else len(self._dictionary)

    def arrays(self, n_terms: int) -> dict[str, Array]:
        """Return what is stored next to the definition."""
        return {} if self._dictionary is None else self._dictionary.arrays(n_terms)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._parsed, name)
        return _blaming_the_index(value) if callable(value) else value

    @lazy
    def _parsed(self) -> Analyzer:
        try:
            return restore_analyzer(self._bytes.decode(), self._n_terms, self._dictionary)
        except (KeyError, TypeError, ValueError, InvalidParameter) as error:
            raise FormatError(f"The index is damaged: its tokenizer cannot be read ({error}).") from error


def _blaming_the_index(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of a tokenizer, which is damaged if it fails on a text."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except BrokenTokenizer as error:
            raise FormatError(f"The index is damaged: its tokenizer fails ({error.__cause__}).") from error

    return call

"""How does an index open at once although its tokenizer takes time to parse? The tokenizer is parsed at first use."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

from hi2.errors import FormatError, InvalidParameter
from hi2.text.tokenizer import Analyzer, restore_analyzer


class LazyTokenizer:
    """A stored tokenizer that is parsed when it is first used."""

    def __init__(self, definition: bytes, n_terms: int) -> None:
        self._bytes = definition
        self.n_terms = n_terms
        self.fingerprint = hashlib.sha256(definition).hexdigest()

    @property
    def definition(self) -> str:
        """The stored definition, which needs no parsing."""
        return self._bytes.decode()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._parsed, name)

    @cached_property
    def _parsed(self) -> Analyzer:
        try:
            analyzer = restore_analyzer(self._bytes.decode())
        except (KeyError, TypeError, ValueError, InvalidParameter) as error:
            raise FormatError(f"The index is damaged: its tokenizer cannot be read ({error}).") from error
        if analyzer.n_terms != self.n_terms:
            raise FormatError(f"The index is damaged: its tokenizer has {analyzer.n_terms} terms, not {self.n_terms}.")
        return analyzer

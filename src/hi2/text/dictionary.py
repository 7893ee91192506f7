"""Which number does a word have? Its place among all words, in the order they were added."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, repeat

import numpy as np

from hi2 import _native
from hi2.arguments import MAX_TERMS
from hi2.data.ragged import Ragged
from hi2.data.strings import open_strings, string_arrays, string_column
from hi2.errors import FormatError
from hi2.types import I64, Array

_TYPES = {"lengths": ("|u1", "<u2", "<u4"), "positions": ("<u8",), "characters": ("|u1",), "order": ("|u1",)}


class Dictionary:
    """An exact map from words to numbers: 0, 1, 2, … in the order words are added.

    It has at most ``limit`` words; later ones get no number. Words that were stored stay in their arrays, which may be
    memory maps, and are found by binary search. Threads may find and add words at the same time.

    Stored, it is four arrays: ``word_lengths.npy`` (bytes of each word, uint8, uint16 or uint32),
    ``word_positions.npy`` (uint64, where every ID_BLOCK-th word begins), ``word_characters.npy`` (uint8, the words as
    UTF-8, one after another) and ``word_order.npy`` (uint8, packed: the numbers of the words in the order of their
    bytes).

    >>> words = Dictionary()
    >>> words.add(["one", "two", "one"]).tolist(), words.find(["three", "two"]).tolist(), words.name(1)
    ([0, 1, 0], [-1, 1], 'two')
    """

    def __init__(self, *, limit: int = MAX_TERMS) -> None:
        self.limit = limit
        self._arrays: dict[str, Array] = {}
        self._base: _native.Ids | None = None
        self._n_base = 0
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return self._n_base + len(self._names)

    def lines_after(self, n: int) -> bytes:
        """Return the words with numbers from ``n`` on, one per line. Words that are added later follow at the end."""
        if n < self._n_base:
            raise AssertionError("stored words are not added ones")
        return "".join(f"{word}\n" for word in self._names[n - self._n_base :]).encode()

    def add_lines(self, lines: bytes) -> None:
        """Add what ``lines_after`` returned; FormatError if it is anything else."""
        try:
            words = lines.decode().split("\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"The index is damaged: an added word is not valid UTF-8 ({error.reason}).") from error
        expected = len(self) + np.arange(len(words) - 1)
        if words.pop() != "" or "" in words or not np.array_equal(self.add(words), expected):
            raise FormatError("The index is damaged: its added words are not new words, one per line.")

    def find(self, words: list[str]) -> I64:
        """Return the number of each word, -1 where it has none."""
        if self._base is not None and not self._numbers:
            return self._base.find(words)
        numbers = np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))
        if self._base is not None:
            missing = [i for i, number in enumerate(numbers.tolist()) if number < 0]
            if missing:
                numbers[missing] = self._base.find([words[i] for i in missing])
        return numbers

    def add(self, words: list[str]) -> I64:
        """Return the number of each word, new ones included; -1 where the dictionary is full."""
        if self._base is None:
            return _native.number_words(words, self._numbers, self._names, 0, self.limit)
        numbers = self.find(words)
        missing = np.flatnonzero(numbers < 0).tolist()
        if missing:
            new = [words[i] for i in missing]
            numbers[missing] = _native.number_words(new, self._numbers, self._names, self._n_base, self.limit)
        return numbers

    def forget(self, n: int) -> None:
        """Remove the words with numbers from ``n`` on, which must not be stored ones."""
        if n < self._n_base:
            raise AssertionError("stored words stay")
        for word in self._names[n - self._n_base :]:
            self._numbers.pop(word, None)
        del self._names[n - self._n_base :]

    def name(self, number: int) -> str:
        """Return the word with this number, which must exist."""
        if number >= self._n_base or self._base is None:
            return self._names[number - self._n_base]
        return str(self._base.take(np.array([number], np.uint32))[0])

    def copy(self) -> Dictionary:
        """Return a dictionary of the same words that grows on its own; stored words are shared."""
        copy = Dictionary(limit=self.limit)
        copy._arrays, copy._base, copy._n_base = self._arrays, self._base, self._n_base
        copy._names = list(self._names)
        copy._numbers = {word: copy._n_base + i for i, word in enumerate(copy._names)}
        return copy

    # -- as arrays ----------------------------------------------------------------------------------------------------

    def arrays(self, n: int | None = None) -> dict[str, Array]:
        """Return the first ``n`` words as arrays, to be stored; all of them for None."""
        names = self._names[: None if n is None else n - self._n_base]  # a copy: another thread may add some meanwhile
        if not names and self._arrays:
            return {f"word_{name}.npy": array for name, array in self._arrays.items()}
        column = Ragged.of([word.encode() for word in names])
        if self._arrays:
            column = Ragged.concatenate([_column(self._arrays), column])
        order = _native.pack(_native.sort_strings(column.ends, column.data), _bits(len(column)))
        return {f"word_{name}.npy": array for name, array in {**string_arrays(column), "order": order}.items()}

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> Dictionary:
        """Return the dictionary with these arrays, of which little is read; ``check`` reads all."""
        own = {}
        for name, types in _TYPES.items():
            stored = f"word_{name}.npy"
            if stored not in arrays:
                raise FormatError(f"The index is damaged: it has no array '{stored}'.")
            own[name] = arrays[stored]
            if own[name].dtype.str not in types or own[name].ndim != 1:
                raise FormatError(f"The index is damaged: {stored} is an array of {own[name].dtype}.")
        n = len(own["lengths"])
        if n > MAX_TERMS:
            raise FormatError(f"The index is damaged: its dictionary has {n} words, more than {MAX_TERMS}.")
        dictionary = cls()
        try:
            dictionary._base = open_strings(own, own["order"], None, _bits(n))
        except (ValueError, TypeError) as error:
            raise FormatError(f"The index is damaged: its dictionary cannot be read ({error}).") from error
        last = (n - 1) // _native.ID_BLOCK * _native.ID_BLOCK
        end = int(own["positions"][-1]) + int(own["lengths"][last:].sum(dtype=np.uint64)) if n else 0
        if end != len(own["characters"]):
            files = "word_lengths.npy and word_positions.npy"
            raise FormatError(f"The index is damaged: words by {files} do not add up to word_characters.npy.")
        dictionary._arrays, dictionary._n_base = own, n
        return dictionary

    def check(self) -> None:
        """Raise FormatError if the stored words are damaged. Every array is read."""
        if not self._arrays:
            return
        column = _column(self._arrays)
        if not np.array_equal(string_arrays(column)["positions"], self._arrays["positions"]):
            raise FormatError("The index is damaged: word_positions.npy is not where its words begin.")
        words = column.rows()
        try:
            for word in words:
                word.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"The index is damaged: a word is not valid UTF-8 ({error.reason}).") from error
        if b"" in words:
            raise FormatError("The index is damaged: a word is empty.")
        order = _native.unpack(self._arrays["order"], _bits(len(words)), len(words)).tolist()
        if order and max(order) >= len(words):
            raise FormatError("The index is damaged: word_order.npy names a word that does not exist.")
        for before, after in pairwise(order):
            if words[before] >= words[after]:
                raise FormatError("The index is damaged: its words are not sorted, or one is there twice.")


def _bits(n: int) -> int:
    """Bits of a number below n."""
    return max(1, (n - 1).bit_length())


def _column(arrays: Mapping[str, Array]) -> Ragged:
    column = string_column(arrays)
    if column is None:
        raise FormatError("The index is damaged: its words do not add up to the stored characters.")
    return column

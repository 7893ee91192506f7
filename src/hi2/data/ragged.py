"""Rows of unequal length in two arrays: byte strings by their ends, or any values by their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hi2.types import I64, U64, Array, Bytes


@dataclass(frozen=True)
class Ragged:
    """A column of byte strings: row i is bytes [ends[i-1], ends[i]).

    >>> column = Ragged.of([b"ab", b"", b"c"])
    >>> column.take(np.array([2, 0])).rows()
    [b'c', b'ab']
    """

    ends: U64
    data: Bytes

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> Ragged:
        """Return a column of these rows."""
        ends = np.cumsum([len(row) for row in rows], dtype=np.uint64)
        return cls(ends, np.frombuffer(b"".join(rows), np.uint8))

    @classmethod
    def concatenate(cls, columns: Iterable[Ragged]) -> Ragged:
        """Return the columns one after another."""
        columns = list(columns)
        bases = np.cumsum([0] + [len(column.data) for column in columns], dtype=np.uint64)
        ends = [column.ends + base for column, base in zip(columns, bases, strict=False)]
        if not columns:
            return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint8))
        return cls(np.concatenate(ends), np.concatenate([column.data for column in columns]))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lengths(self) -> U64:
        """Bytes in every row."""
        return np.diff(self.ends, prepend=np.uint64(0))

    def take(self, rows: I64) -> Ragged:
        """Return some rows as a column of their own."""
        rows = np.asarray(rows, np.int64)
        if not len(rows):
            return Ragged(np.zeros(0, np.uint64), np.zeros(0, np.uint8))
        lasts = self.ends[rows]
        lengths = lasts - np.where(rows > 0, self.ends[rows - 1], np.uint64(0))  # not of all rows: few may be taken
        ends = np.cumsum(lengths, dtype=np.uint64)
        # Rows that follow each other are copied as one run.
        starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
        stops = np.append(starts[1:], len(rows)) - 1
        runs = zip((lasts - lengths)[starts].tolist(), lasts[stops].tolist(), strict=True)
        return Ragged(ends, np.concatenate([self.data[begin:end] for begin, end in runs]))

    def rows(self) -> list[bytes]:
        """Return the rows as bytes objects."""
        data = self.data.tobytes()
        ends = self.ends.tolist()
        return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def take_rows(offsets: U64, values: Array, rows: Sequence[int] | Array) -> tuple[U64, Array]:
    """Return some rows, where row i of ``values`` is [offsets[i], offsets[i+1]), as offsets and values of their own.

    >>> take_rows(np.array([0, 2, 2, 3]), np.array([7, 8, 9]), [2, 0])
    (array([0, 1, 3], dtype=uint64), array([9, 7, 8]))
    """
    chosen = np.asarray(rows, np.int64)
    begins = np.asarray(offsets)[chosen].astype(np.int64)
    lengths = np.asarray(offsets)[chosen + 1].astype(np.int64) - begins
    bounds = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    places = np.repeat(begins - bounds[:-1], lengths) + np.arange(bounds[-1])
    return bounds.astype(np.uint64), values[places]

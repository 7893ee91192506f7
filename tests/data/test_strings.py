"""Stored strings are read by row and found by binary search."""

from __future__ import annotations

import numpy as np
import pytest

from hi2 import _native
from hi2.data.ragged import Ragged
from hi2.data.strings import open_strings, string_arrays, string_column

STRINGS = [f"row {i} {'é' * (i % 7)}" for i in range(200)]


def stored(strings):
    column = Ragged.of([text.encode() for text in strings])
    bits = max(1, (len(strings) - 1).bit_length())
    order = _native.pack(_native.sort_strings(column.ends, column.data), bits)
    return string_arrays(column), order, bits


def test_strings_are_read_and_found_without_rows_of_their_own():
    arrays, order, bits = stored(STRINGS)
    table = open_strings(arrays, order, None, bits)
    assert table.find([*STRINGS, "nobody", ""]).tolist() == [*range(200), -1, -1]
    assert table.take(np.array([199, 0, 64], np.uint32)) == [STRINGS[199], STRINGS[0], STRINGS[64]]


def test_a_document_may_have_another_row():
    arrays, order, bits = stored(STRINGS)
    rows = np.random.default_rng(0).permutation(200).astype(np.uint64)
    docs = np.argsort(rows).astype(np.uint64)
    by_id = _native.pack(docs[_native.unpack(order, bits, 200).astype(np.int64)], bits)
    table = open_strings(arrays, by_id, _native.pack(rows, bits), bits)
    assert table.find(STRINGS).tolist() == docs.tolist()


@pytest.mark.parametrize(("longest", "dtype"), [(255, np.uint8), (256, np.uint16), (1 << 16, np.uint32)])
def test_lengths_are_the_narrowest_integers(longest, dtype):
    column = Ragged.of([b"", b"x" * longest, b"y"])
    arrays = string_arrays(column)
    assert arrays["lengths"].dtype == dtype
    assert string_column(arrays).rows() == column.rows()


def test_lengths_that_do_not_add_up_are_no_column():
    arrays, _, _ = stored(STRINGS)
    assert string_column(arrays | {"characters": arrays["characters"][:-1]}) is None
    assert string_column({"lengths": np.zeros(0, np.uint8), "characters": np.ones(1, np.uint8)}) is None

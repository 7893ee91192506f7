"""Vectors are read a block at a time as finite float32, from wherever they come."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.data import spool
from hi2.data.vectors import LARGEST, VectorSpool, open_vectors
from hi2.errors import InvalidParameter

ROWS = np.random.default_rng(0).standard_normal((9, 3))


@pytest.fixture(params=["array", "list", "file", "stream", "transposed"])
def given(request, tmp_path):
    if request.param == "file":
        np.save(tmp_path / "a.npy", ROWS)
    return {
        "array": ROWS,
        "list": ROWS.tolist(),
        "file": tmp_path / "a.npy",
        "stream": iter([ROWS[:4], ROWS[4:4], ROWS[4:]]),
        "transposed": np.asfortranarray(ROWS),
    }[request.param]


def test_every_source_gives_the_same_rows(given):
    vectors = open_vectors(given, metric="inner_product")
    assert (vectors.n, vectors.dim) == (9, 3)
    expected = ROWS.astype(np.float32)
    for rows in (slice(0, 9), slice(2, 5), np.array([7, 0, 7])):
        block = vectors.read(rows)
        np.testing.assert_array_equal(block, expected[rows])
        assert block.dtype == np.float32
        assert block.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u1"])
def test_any_real_dtype_is_read_as_float32(dtype):
    rows = np.arange(6).reshape(2, 3).astype(dtype)
    assert open_vectors(rows, metric="inner_product").read(slice(0, 2)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_cosine_gives_unit_length_and_leaves_zero_vectors():
    rows = np.concatenate([ROWS, np.zeros((1, 3))])
    lengths = np.linalg.norm(open_vectors(rows, metric="cosine").read(slice(0, 10)), axis=1)
    np.testing.assert_allclose(lengths, [1] * 9 + [0], atol=1e-6)


def test_a_value_that_cannot_be_scored_is_refused_with_its_row():
    for bad in (np.nan, np.inf, -2 * LARGEST, 1e300):
        rows = ROWS.copy()
        rows[6, 1] = bad
        vectors = open_vectors(rows, metric="inner_product")
        vectors.read(slice(0, 6))  # blocks are checked as they are read
        for block in (slice(4, 9), np.array([8, 6])):
            with pytest.raises(InvalidParameter, match="row 6"):
                vectors.read(block)
    rows[6, 1] = LARGEST
    open_vectors(rows, metric="inner_product").read(slice(0, 9))


def test_another_dimension_than_the_index_has_is_refused():
    with pytest.raises(InvalidParameter, match=r"'queries'.*dimension 5.*dimension 3"):
        open_vectors(ROWS, metric="inner_product", dim=5, name="queries")


def test_an_archive_of_arrays_is_not_a_file_of_vectors(tmp_path):
    np.savez(tmp_path / "a.npz", ROWS)
    with pytest.raises(InvalidParameter, match=r"a \.npy file"):
        open_vectors(tmp_path / "a.npz", metric="inner_product")


HEADERS = [
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }",
    b"{'descr': [('a', '<f4')] * 3, 'shape': 5",
    b"(" * 100,
]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", b"\x80\x04K\x05.", *(b"\x93NUMPY\x01\0\x76\0" + own.ljust(118) for own in HEADERS)],
)
def test_a_file_that_holds_no_array_is_refused(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content + b"\0" * 64)
    with pytest.raises(InvalidParameter, match=r"'vectors'.*the path of a \.npy file.*a\.npy"):
        open_vectors(tmp_path / "a.npy", metric="inner_product")


def test_paths_that_are_none_are_refused(tmp_path):
    for path in (tmp_path, "a\0b", "\ud800", "x" * 10_000):
        with pytest.raises(InvalidParameter, match=r"the path of a \.npy file"):
            open_vectors(path, metric="inner_product")


def test_arrays_of_absurd_size_are_refused_before_they_are_read():
    for shape in ((1 << 32, 3), (1 << 40, 3), (2, 1 << 40)):
        with pytest.raises(InvalidParameter, match=r"fewer than 2\^32 rows"):
            open_vectors(np.broadcast_to(np.float32(1), shape), metric="inner_product")


def test_batches_may_be_tensors_and_bfloat16():
    torch, ml_dtypes = pytest.importorskip("torch"), pytest.importorskip("ml_dtypes")
    short = ROWS.astype(ml_dtypes.bfloat16)
    tensor = torch.from_numpy(short.astype(np.float32)).bfloat16()
    for given in (short, tensor, iter([short[:4], tensor[4:]])):
        read = open_vectors(given, metric="inner_product").read(slice(0, 9))
        np.testing.assert_array_equal(read, short.astype(np.float32))
    with pytest.raises(InvalidParameter, match="an array of numbers"):
        open_vectors(iter([[[1.0], [1.0, 2.0]]]), metric="inner_product")


def test_batches_that_outgrow_memory_are_collected_in_order(monkeypatch):
    monkeypatch.setattr(spool, "SPILL_BYTES", 50)
    vectors = VectorSpool()
    for row in ROWS:
        vectors.append([row])
    np.testing.assert_array_equal(vectors.finish(), ROWS.astype(np.float32))


def test_a_batch_of_another_width_or_type_is_refused_with_its_number():
    for bad in (np.zeros((1, 4)), np.zeros(3), np.array([["a", "b", "c"]])):
        vectors = VectorSpool()
        vectors.append(ROWS)
        with pytest.raises(InvalidParameter, match="batch 1"):
            vectors.append(bad)

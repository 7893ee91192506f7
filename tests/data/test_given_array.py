"""Whatever callers give as an array becomes one, or is refused with its name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hi2.data.given_array import entries, given_array, is_real
from hi2.errors import InvalidParameter

ROWS = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


@pytest.mark.parametrize("given", [ROWS, ROWS.tolist(), ROWS.astype(">f8"), np.ma.array(ROWS), memoryview(ROWS)])
def test_what_numpy_reads_is_an_array(given):
    array = given_array(given, name="vectors")
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(array, ROWS)


def test_masked_values_are_refused():
    with pytest.raises(InvalidParameter, match=r"'vectors'.*without masked values.*Got 2 of them"):
        given_array(np.ma.array(ROWS, mask=np.arange(15).reshape(5, 3) < 2), name="vectors")


class Refuses:
    def __array__(self, *_, **__):
        raise RuntimeError("not today")


def inside_itself():
    given = []
    given.append(given)
    return given


@pytest.mark.parametrize("given", [[[1], [1, 2]], Refuses(), [Refuses()], inside_itself()])
def test_what_makes_no_array_is_refused(given):
    with pytest.raises(InvalidParameter, match=r"'queries'.*an array of numbers.*that makes none"):
        given_array(given, name="queries")


@pytest.mark.parametrize("given", [object(), "abc", b"abc", None, {}, {1}, iter([1])])
def test_other_objects_make_arrays_that_are_not_of_numbers(given):
    assert not is_real(given_array(given, name="vectors").dtype) or np.ndim(given) == 0


def test_tensors_are_read_from_any_type_and_layout():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(ROWS)
    for given in (tensor, tensor.clone().requires_grad_(), torch.nn.Parameter(tensor), tensor.to_sparse()):
        np.testing.assert_array_equal(given_array(given, name="vectors"), ROWS)
    for kind in (torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn):
        array = given_array(tensor.to(kind), name="vectors")
        np.testing.assert_array_equal(array, tensor.to(kind).float().numpy())
        assert is_real(array.dtype)
    assert given_array(tensor.int(), name="vectors").dtype == np.int32
    assert not is_real(given_array(tensor.to(torch.complex64), name="vectors").dtype)
    with pytest.raises(InvalidParameter, match=r"'vectors'.*meta device has no values"):
        given_array(tensor.to("meta"), name="vectors")


def test_bfloat16_of_ml_dtypes_is_real():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    short = ROWS.astype(ml_dtypes.bfloat16)
    assert is_real(given_array(short, name="vectors").dtype)
    assert not is_real(np.dtype([("a", ml_dtypes.bfloat16)]))


@pytest.mark.parametrize("dtype", ["?", "c8", "U3", "S3", "O", "M8[s]", "m8[s]", "V4", [("a", "f4")]])
def test_other_types_are_not_real(dtype):
    assert not is_real(np.dtype(dtype))


def test_torch_is_not_imported_for_this():
    code = (
        "import sys; from hi2.data.given_array import given_array; given_array([1], name='x'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entries_are_those_of_anything_that_has_some():
    for given in ([1, 2], (1, 2), iter([1, 2]), np.array([1, 2]), {1: 0, 2: 0}, (i for i in (1, 2))):
        assert list(entries(given, name="ids", must="ids")) == [1, 2]
    for bad in (5, None, object(), np.array(3), "12", b"12", 10**5000):
        with pytest.raises(InvalidParameter, match="'ids' parameter must be a list"):
            entries(bad, name="ids", must="a list")


def test_an_error_of_the_callers_own_is_not_hidden():
    def failing():
        yield 1
        raise TypeError("the caller's")

    with pytest.raises(TypeError, match="the caller's"):
        list(entries(failing(), name="ids", must="a list"))

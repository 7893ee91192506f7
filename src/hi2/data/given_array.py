"""What arrays do callers give? Anything numpy reads, tensors of torch, and bfloat16 of ``ml_dtypes``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from hi2.errors import described, invalid
from hi2.types import Array


def given_array(data: Any, *, name: str) -> Array:
    """Return what a caller gives as an array; refuse what makes none. Tensors of torch come from any device.

    >>> given_array([[1, 2]], name="vectors").shape
    (1, 2)
    """
    torch = sys.modules.get("torch")  # not imported for this: without it there are no tensors
    try:
        array = _of_tensor(torch, data) if torch is not None and isinstance(data, torch.Tensor) else np.asanyarray(data)
    except MemoryError:
        raise
    except Exception as error:  # objects convert themselves, and raise what they like
        raise invalid(name, "an array of numbers", f"a {type(data).__name__} that makes none ({error})") from error
    if isinstance(array, np.ma.MaskedArray):
        if n_masked := int(np.ma.getmaskarray(array).sum()):
            must = "an array without masked values (fill them, or leave those rows out)"
            raise invalid(name, must, f"{n_masked} of them")
        array = array.data
    return np.asarray(array)


def is_real(dtype: np.dtype[Any]) -> bool:
    """Return whether values of a type are real numbers: numpy's own, or those of ``ml_dtypes``."""
    return dtype.kind in "fiu" or (dtype.type.__module__.startswith("ml_dtypes") and dtype.names is None)


def entries(data: Any, *, name: str, must: str) -> Iterator[Any]:
    """Return an iterator over what a caller gives; refuse a single string, and what has no entries."""
    if isinstance(data, (str, bytes)):
        raise invalid(name, must, f"a single string, {described(data)},")
    try:
        return iter(data)
    except TypeError:
        raise invalid(name, must, described(data)) from None


def _of_tensor(torch: Any, tensor: Any) -> Array:
    if tensor.is_meta:
        raise ValueError("a tensor on the meta device has no values")
    dense = tensor.detach()
    dense = dense.dequantize() if dense.is_quantized else dense.to_dense() if dense.layout != torch.strided else dense
    dense = dense.cpu().resolve_conj().resolve_neg()
    if dense.is_floating_point() and dense.dtype not in (torch.float16, torch.float32, torch.float64):
        dense = dense.float()  # bfloat16 and shorter, which numpy does not know
    array: Array = dense.numpy()
    return array

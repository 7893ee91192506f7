"""A stream of arrays is returned whole, from memory or from a temporary file."""

from __future__ import annotations

import numpy as np

from hi2.data import spool


def test_a_spool_that_spills_to_disk_returns_everything(monkeypatch):
    monkeypatch.setattr(spool, "SPILL_BYTES", 100)
    parts = [np.arange(n, dtype=np.float32).reshape(-1, 2) for n in (2, 60, 4, 80, 2)]
    store = spool.Spool(np.float32, width=2)
    for part in parts:
        store.append(part)
    np.testing.assert_array_equal(store.finish(), np.concatenate(parts))
    spool.Spool(np.float32).append(np.zeros(1000))  # a spool that is garbage collected closes its file


def test_a_small_spool_stays_in_memory_and_converts_types():
    store = spool.Spool(np.uint32)
    store.append(np.array([1.0, 2.0]))
    store.append(np.array([], np.int64))
    store.append(np.array([3], np.uint8))
    found = store.finish()
    assert found.dtype == np.uint32
    assert found.tolist() == [1, 2, 3]
    assert not isinstance(found.base, np.memmap)


def test_an_empty_spool_keeps_its_type_and_width():
    assert spool.Spool(np.float32, width=5).finish().shape == (0, 5)
    assert spool.Spool(np.uint8).finish().dtype == np.uint8


def test_a_spilled_array_is_mapped_and_outlives_its_spool(monkeypatch):
    monkeypatch.setattr(spool, "SPILL_BYTES", 8)
    store = spool.Spool(np.int64)
    store.append(np.arange(100))
    found = store.finish()
    del store
    assert found.tolist() == list(range(100))
    assert not found.flags.writeable

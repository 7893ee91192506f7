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

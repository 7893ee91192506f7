"""A stream of arrays is returned whole, from memory or from a temporary file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from hi2.data import spool
from hi2.errors import Error


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


FULL = """
import resource
import numpy as np
import hi2
from hi2.data import spool

spool.SPILL_BYTES = 10_000
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
batches = [np.ones((1000, 8), np.float32)] * 9
try:
    hi2.HybridIndex.build(iter(batches), terms=None)
except hi2.Error as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
for values in (np.ones(20_000, np.uint8), np.ones(10_001, np.uint8)):
    try:
        store = spool.Spool(np.uint8)
        store.append(values)
        store.finish()
    except hi2.Error as error:
        print(error)
"""


def test_a_full_disk_is_named_with_the_way_out(tmp_path):
    pytest.importorskip("resource")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=True, env=environment)
    said = run.stdout.splitlines()
    assert len(said) == 3
    for line in said:
        assert f"could not be written to {tmp_path}: [Errno" in line
        assert "set TMPDIR to a folder on a larger disk" in line
    assert run.stderr == ""
    assert not list(tmp_path.iterdir())


def test_without_a_place_for_temporary_files_the_way_out_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(spool, "SPILL_BYTES", 8)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(Error, match=r"could not be written to .*nowhere.*TMPDIR"):
        spool.Spool(np.int64).append(np.arange(9))

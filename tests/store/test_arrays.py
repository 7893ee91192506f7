"""Arrays are written as plain ``.npy`` files that numpy alone can read."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hi2
from hi2.errors import FormatError
from hi2.store import arrays
from hi2.store.arrays import FileEntry, map_file, npy_header, write_file
from hi2.store.folder import Folder


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.dtype(t) for t in ("u1", "<u2", "<u4", "<u8", "<i8", "<f4")]),
        hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9),
    )
)
def test_numpy_reads_what_is_written(tmp_path_factory, array):
    folder = Folder.open(tmp_path_factory.mktemp("arrays"))
    path = folder.path / "a.npy"
    entry = write_file(folder, "a.npy", array.dtype, array.shape, [array])
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), array)
    assert path.stat().st_size == entry.bytes
    for mmap in (True, False):
        np.testing.assert_array_equal(map_file(folder, "a.npy", entry, mmap=mmap), array)


def test_data_begins_at_a_multiple_of_64_bytes():
    for shape in [(1,), (10**9, 384), (7, 3)]:
        assert len(npy_header(np.float32, shape)) % 64 == 0


def test_every_array_of_an_index_opens_with_numpy_alone(corpus, tmp_path):
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, keep_text=True).save(tmp_path / "a")
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    for part in (manifest["model"], *manifest["segments"]):
        for name, entry in part["files"].items():
            path = tmp_path / "a" / part["folder"] / name
            if path.suffix == ".npy":
                array = np.load(path, mmap_mode="r", allow_pickle=False)
                assert list(array.shape) == entry["shape"]
                assert array.dtype.str == entry["dtype"]


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system reports no holes")
def test_a_large_file_of_holes_is_refused_at_once(tmp_path):
    """It claims 4 · 10⁹ rows and takes four kilobytes."""
    shape = (4_000_000_000,)
    header = npy_header(np.uint8, shape)
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(header)
        file.truncate(len(header) + shape[0])
    entry = FileEntry("|u1", shape, len(header) + shape[0], "")
    for mmap in (True, False):
        with pytest.raises(FormatError, match="holes"):
            map_file(Folder.open(tmp_path), "a.npy", entry, mmap=mmap)


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system reports no holes")
def test_holes_between_many_bytes_are_holes_too(tmp_path):
    shape = (64_000_000_000,)
    header = npy_header(np.uint8, shape)
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(header)
        for number in range(1, 1100):
            file.seek(number << 20)
            file.write(b"x")
        file.truncate(len(header) + shape[0])
    entry = FileEntry("|u1", shape, len(header) + shape[0], "")
    with pytest.raises(FormatError, match="holes"):
        map_file(Folder.open(tmp_path), "a.npy", entry)


def test_a_file_with_some_holes_is_read(tmp_path, monkeypatch):
    """As copies of a file with many zeros may have them."""
    monkeypatch.setattr(arrays, "_MAX_HOLLOW_BYTES", 1000)
    values = np.zeros(1 << 20, np.uint8)
    values[:: 1 << 16] = 7
    entry = write_file(Folder.open(tmp_path), "whole.npy", values.dtype, values.shape, [values])
    with (tmp_path / "whole.npy").open("rb") as whole, (tmp_path / "a.npy").open("wb") as sparse:
        while block := whole.read(4096):
            if any(block):
                sparse.write(block)
            else:
                sparse.seek(4096, os.SEEK_CUR)
        sparse.truncate(entry.bytes)
    np.testing.assert_array_equal(map_file(Folder.open(tmp_path), "a.npy", entry), values)


@pytest.mark.parametrize(
    ("said", "lie"),
    [
        ("no array", {"dtype": "nonsense"}),
        ("of objects", {"dtype": "|O"}),
        ("bytes where the manifest says", {"shape": (2**40,)}),
        ("bytes where the manifest says", {"shape": (2**40, 2**40), "dtype": "<f4"}),
        ("bytes where the manifest says", {"bytes": 5}),
        ("header", {"dtype": "|i1"}),
    ],
)
def test_a_description_that_does_not_fit_the_file_is_refused_before_anything_is_read(tmp_path, said, lie):
    entry = write_file(Folder.open(tmp_path), "a.npy", np.uint8, (9,), [np.arange(9, dtype=np.uint8)])
    for mmap in (True, False):
        with pytest.raises(FormatError, match=said):
            map_file(Folder.open(tmp_path), "a.npy", dataclasses.replace(entry, **lie), mmap=mmap)


@pytest.mark.parametrize(
    "lie",
    [{"shape": [2.0]}, {"shape": [True]}, {"shape": [-1]}, {"shape": 3}, {"bytes": "9"}, {"bytes": None}, {"dtype": 1}],
)
def test_an_entry_of_wrong_types_is_refused(lie):
    data = {"dtype": "|u1", "shape": [9], "bytes": 137, "sha256": "0" * 64}
    assert FileEntry.from_json(data).to_json() == data
    with pytest.raises((ValueError, TypeError)):
        FileEntry.from_json({**data, **lie})


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list its descriptors")
def test_a_map_holds_no_descriptor_and_outlives_its_file(tmp_path):
    folder = Folder.open(tmp_path)
    values = np.arange(5000, dtype=np.uint32).reshape(50, 100)
    entry = write_file(folder, "a.npy", values.dtype, values.shape, [values])
    before = len(list(Path("/proc/self/fd").iterdir()))
    mapped = [map_file(folder, "a.npy", entry) for _ in range(20)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    folder.unlink("a.npy")
    for array in mapped:
        np.testing.assert_array_equal(array, values)
        assert not array.flags.writeable

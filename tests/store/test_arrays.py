"""Arrays are written as plain ``.npy`` files that numpy alone can read."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hi2
from hi2.store.arrays import map_file, npy_header, write_file
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

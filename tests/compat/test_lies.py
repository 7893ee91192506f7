"""Lies that fit: arrays and manifests are changed with purpose, and every size and checksum is corrected.

Nothing is left to notice by its checksum. Whatever the index then says, it raises hi2's errors only, reads nothing out
of bounds, and ends.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from compat.damage import entries, rewrite, use
from compat.make_index import small_index, word_level
from rewriting import write_manifest

#: Which lies are told by default; the slow run tells some 1,700 of them.
SHARE = 12


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "index"
    small_index(folder, packed=False).close()
    return folder


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("packed") / "index"
    small_index(folder).close()
    return folder


def lies_about(array: np.ndarray):
    """Yield arrays of other values, lengths, shapes and types."""
    flat = array.reshape(-1)
    last = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else np.inf
    first = np.iinfo(array.dtype).min if array.dtype.kind in "iu" else -np.inf
    for value in (0, 1, last, first, *([np.nan, 1e38] if array.dtype.kind == "f" else [last // 2])):
        yield np.full_like(array, value)
        for place in (0, len(flat) // 2, len(flat) - 1):
            changed = flat.copy()
            if len(flat):
                changed[place] = value
            yield changed.reshape(array.shape)
    yield array[::-1].copy()
    yield np.sort(flat).reshape(array.shape)
    yield np.roll(array, 1, axis=0)
    with np.errstate(over="ignore"):
        yield (array + array.dtype.type(1)).astype(array.dtype)
    for rows in (0, 1, max(len(array) - 1, 0)):
        yield array[:rows].copy()
    yield np.concatenate([array, array[-1:]])
    yield np.concatenate([array, array])
    yield array[..., None]
    yield array.reshape(1, *array.shape)
    yield flat
    for dtype in (np.uint8, np.int32, np.uint64, np.float32, np.float64, ">u4", "<U3", "S5", "<M8[s]", "?"):
        yield np.zeros(array.shape, dtype)
    yield array.astype(np.float16)


def lies_about_text(data: bytes):
    """Yield other contents of a file of JSON or of stored lines."""
    yield from (
        b"",
        b"\0",
        b"{}",
        b"[]",
        b"null",
        b"3",
        b'"x"',
        b"\xff\xfe",
        b"[" * 10_000,
        data[:-1],
        data + b"\n",
        data * 2,
    )
    for old, new in (
        (b":", b" "),
        (b"{", b"["),
        (b"0", b"-1"),
        (b"1", b"1e999"),
        (b'"', b""),
        (b"n", b"\xc3"),
        (b",", b",,"),
    ):
        yield data.replace(old, new)
        yield data.replace(old, new, 1)
    yield data.replace(b'"payload": {"n"', b'"payload": [{"n"')
    yield data.replace(b'"text"', b'"id"')


VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    1.5,
    1e308,
    "",
    "x",
    "../x",
    "a" * 9999,
    [],
    [1],
    {},
    {"a": 1},
]


def leaves(node, path=()):
    """Yield the path of every value of a manifest, inner ones included."""
    for key in sorted(node) if isinstance(node, dict) else range(len(node)):
        yield (*path, key)
        if isinstance(node[key], (dict, list)):
            yield from leaves(node[key], (*path, key))


def changed(manifest, path, value):
    """Return a copy of a manifest with one value replaced; ``...`` removes it."""
    copy = json.loads(json.dumps(manifest))
    node = copy
    for key in path[:-1]:
        node = node[key]
    if value is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return copy


def array_lies(folder: Path):
    """Yield every lie about an array as its place and the array."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for place, entry in entries(manifest).items():
        data = (folder / place[0] / place[1]).read_bytes()
        array = np.frombuffer(data, np.uint8)
        if place[1].endswith(".npy"):
            array = np.load(folder / place[0] / place[1])
            for lie in lies_about(array):
                yield place, lie
        else:
            for text in lies_about_text(data):
                yield place, np.frombuffer(text, np.uint8)
        assert entry["dtype"] == array.dtype.str


def manifest_lies(folder: Path):
    """Yield every lie that a manifest can tell with one value."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for path in leaves(manifest):
        if path[0] in ("checksum", "format") or path[-1] == "sha256":
            continue
        for value in (..., *VALUES):
            yield path, value


def attempt(folder: Path, number: int, lie: str, *, write: bool = False) -> list[str]:
    """Use an index that lies; return what went wrong in a way that is not hi2's own."""
    try:
        use(folder, mmap=number % 2 == 0, write=write)
    except Exception as error:
        return [f"{lie[:200]}: {error!r}"[:400]]
    return []


def tell_array_lies(whole: Path, folder: Path, *, share: int) -> int:
    shutil.copytree(whole, folder)
    original = (whole / "manifest.json").read_bytes()
    told, harm = 0, []
    for number, (place, lie) in enumerate(array_lies(whole)):
        if number % share:
            continue
        rewrite(folder, place, lie)
        harm += attempt(folder, number // share, f"{place}: {lie!r}")
        (folder / place[0] / place[1]).write_bytes((whole / place[0] / place[1]).read_bytes())
        (folder / "manifest.json").write_bytes(original)
        told += 1
    assert harm == []
    assert not use(folder)
    return told


def tell_manifest_lies(whole: Path, folder: Path, *, share: int) -> int:
    shutil.copytree(whole, folder)
    manifest = json.loads((whole / "manifest.json").read_text())
    told, harm = 0, []
    for number, (path, value) in enumerate(manifest_lies(whole)):
        if number % share:
            continue
        write_manifest(folder, changed(manifest, path, value))
        harm += attempt(folder, number // share, f"{path} = {value!r}")
        told += 1
    write_manifest(folder, manifest)
    assert harm == []
    assert not use(folder)
    return told


def test_some_lies_about_arrays_do_no_harm(whole, tmp_path):
    assert tell_array_lies(whole, tmp_path / "a", share=SHARE) > 100


def test_some_lies_of_a_manifest_do_no_harm(packed, tmp_path):
    assert tell_manifest_lies(packed, tmp_path / "a", share=10 * SHARE) > 50


def test_lies_about_a_tokenizer_of_the_library_do_no_harm(tmp_path):
    small_index(tmp_path / "whole", word_level(), packed=False).close()
    shutil.copytree(tmp_path / "whole", tmp_path / "a")
    original = (tmp_path / "whole" / "manifest.json").read_bytes()
    harm = []
    for number, (place, lie) in enumerate(array_lies(tmp_path / "whole")):
        if place[1] == "tokenizer.json":
            rewrite(tmp_path / "a", place, lie)
            harm += attempt(tmp_path / "a", number, f"{lie!r}")
            (tmp_path / "a" / "manifest.json").write_bytes(original)
    assert harm == []


@pytest.mark.slow
def test_hundreds_of_lies_about_arrays_do_no_harm(whole, tmp_path):
    assert tell_array_lies(whole, tmp_path / "a", share=2) > 900


@pytest.mark.slow
def test_hundreds_of_lies_of_a_manifest_do_no_harm(packed, tmp_path):
    assert tell_manifest_lies(packed, tmp_path / "a", share=9) > 600


@pytest.mark.slow
def test_a_writer_of_an_index_that_lies_raises_errors_only(whole, tmp_path):
    """It may refuse to open, change or commit, but nothing else happens."""
    told, harm = 0, []
    for number, (place, lie) in enumerate(array_lies(whole)):
        if number % 16:
            continue
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        rewrite(folder, place, lie)
        harm += attempt(folder, number // 16, f"{place}: {lie!r}", write=True)
        shutil.rmtree(folder)
        told += 1
    assert harm == []
    assert told > 100

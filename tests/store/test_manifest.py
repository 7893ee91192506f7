"""A manifest reads back as it was written, notices every change, and is replaced in one step."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.errors import FormatError, UnsupportedVersion
from hi2.store.folder import Folder
from hi2.store.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    PREVIOUS,
    new_manifest,
    read_manifest,
    serialise,
    write_manifest,
)

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(content=st.dictionaries(st.sampled_from(["segments", "model", "next_id", "ü"]), DATA))
def test_a_manifest_reads_back_as_it_was_written(tmp_path_factory, content):
    folder = Folder.open(tmp_path_factory.mktemp("index"))
    written = new_manifest(content)
    write_manifest(folder, written)
    assert read_manifest(folder) == written
    assert {key: written[key] for key in content} == content


def test_the_manifest_before_is_kept_as_the_previous_one(tmp_path):
    for generation in (1, 2, 3):
        write_manifest(Folder.open(tmp_path), new_manifest({"generation": generation}))
    assert read_manifest(Folder.open(tmp_path))["generation"] == 3
    assert read_manifest(Folder.open(tmp_path), PREVIOUS)["generation"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, PREVIOUS]


def test_any_change_of_one_byte_is_noticed(tmp_path):
    write_manifest(Folder.open(tmp_path), new_manifest({"generation": 1, "name": "tree"}))
    data = (tmp_path / MANIFEST).read_bytes()
    for place in range(len(data)):
        (tmp_path / MANIFEST).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(FormatError):
            read_manifest(Folder.open(tmp_path))


def test_content_in_another_layout_is_refused_although_its_checksum_is_right(tmp_path):
    content = json.loads(serialise({"format": "hi2", "version": FORMAT_VERSION}))
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(FormatError, match="altered"):
        read_manifest(Folder.open(tmp_path))


@pytest.mark.parametrize(("version", "way_out"), [(FORMAT_VERSION + 1, "newer hi2"), (0, "older hi2")])
def test_a_version_that_is_not_read_names_the_way_out(tmp_path, version, way_out):
    (tmp_path / MANIFEST).write_bytes(serialise({"format": "hi2", "version": version}))
    with pytest.raises(UnsupportedVersion, match=way_out):
        read_manifest(Folder.open(tmp_path))


@pytest.mark.parametrize(
    ("content", "said"), [(None, "has no manifest"), (b"[1, 2]", "not the manifest"), (b"{", "not JSON")]
)
def test_a_folder_that_is_not_an_index_is_refused(tmp_path, content, said):
    if content is not None:
        (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(FormatError, match=said):
        read_manifest(Folder.open(tmp_path))


@pytest.mark.parametrize("version", [2.0, "2", None, True, [2], 1.0, "1"])
def test_a_version_that_is_not_a_whole_number_is_refused(tmp_path, version):
    (tmp_path / MANIFEST).write_bytes(serialise({"format": "hi2", "version": version}))
    with pytest.raises(FormatError, match="no format version"):
        read_manifest(Folder.open(tmp_path))


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "NaN", "1e999", "9" * 5000, "[" * 100_000])
def test_numbers_that_are_none_and_endless_nesting_are_refused(tmp_path, value):
    """JSON knows no such numbers; Python's reader would take some of them."""
    text = f'{{"format": "hi2", "next_id": {value}, "version": {FORMAT_VERSION}}}'
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(FormatError):
        read_manifest(Folder.open(tmp_path))


def test_a_manifest_of_absurd_size_is_refused_unread(tmp_path):
    with (tmp_path / MANIFEST).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FormatError, match="larger than"):
        read_manifest(Folder.open(tmp_path))

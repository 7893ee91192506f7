"""Parts are saved whole, read back with every checksum, and fit only the index that they were trained for."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hi2
from hi2.errors import FormatError, InvalidParameter
from hi2.store.arrays import npy_header
from hi2.store.trained_parts import PARTS, checksum, text_checksum
from hi2.text.bags import Bags


@pytest.fixture
def parts(small):
    weights = Bags(
        np.array([0, 2, 3], np.uint64), np.array([4, 9, 1], np.uint32), np.float32([1, 2, 3]), np.array([7, 8])
    )
    return hi2.Parts(small.model, {"method": "light", "α": [1.5]}, weights)


def test_parts_read_back_as_they_were_saved(parts, corpus, tmp_path):
    parts.save(tmp_path / "deep" / "parts")
    loaded = hi2.Parts.load(tmp_path / "deep" / "parts")
    assert loaded.model.fingerprint == parts.model.fingerprint
    assert loaded.record == parts.record
    assert loaded.term_weights.indptr.tolist() == [0, 2, 3]
    assert loaded.term_weights.indices.tolist() == [4, 9, 1]
    assert loaded.term_weights.data.tolist() == [1.0, 2.0, 3.0]
    assert hi2.Parts(parts.model).term_weights is None
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["parts"]


def test_parts_are_not_saved_over_others(parts, tmp_path):
    parts.save(tmp_path / "parts")
    with pytest.raises(InvalidParameter, match="without trained parts"):
        parts.save(tmp_path / "parts")


def test_damaged_and_missing_parts_are_refused(parts, tmp_path):
    parts.save(tmp_path / "parts")
    path = tmp_path / "parts" / "anchors.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(FormatError, match=r"anchors\.npy"):
        hi2.Parts.load(tmp_path / "parts")
    path.write_bytes(data)
    listed = json.loads((tmp_path / "parts" / PARTS).read_text())
    (tmp_path / "parts" / PARTS).write_text(json.dumps({**listed, "files": {}}))
    with pytest.raises(FormatError, match="cannot be read"):
        hi2.Parts.load(tmp_path / "parts")
    with pytest.raises(InvalidParameter, match="hi2 train"):
        hi2.Parts.load(tmp_path / "nothing")


def test_a_folder_keeps_what_it_holds(parts, tmp_path):
    mine = tmp_path / "keep.part"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "notes.txt").write_text("kept")
    parts.save(tmp_path / "keep")
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "keep" / "notes.txt").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep", "keep.part"]
    assert hi2.Parts.load(tmp_path / "keep").record == parts.record


def test_a_file_of_the_same_name_is_not_replaced(parts, tmp_path):
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "anchors.npy").write_text("mine")
    with pytest.raises(InvalidParameter, match=r"files of the same names.*'anchors\.npy'; remove it or choose another"):
        parts.save(tmp_path / "keep")
    assert (tmp_path / "keep" / "anchors.npy").read_text() == "mine"
    assert [path.name for path in tmp_path.rglob("*")] == ["keep", "anchors.npy"]


def test_a_save_that_fails_leaves_nothing(parts, tmp_path, monkeypatch):
    bad = hi2.Parts(parts.model, {"x": object()})
    with pytest.raises(InvalidParameter, match=r"'record'.*JSON"):
        bad.save(tmp_path / "a")
    (tmp_path / "file").write_text("x")
    with pytest.raises(hi2.Error, match="cannot be written"):
        parts.save(tmp_path / "file" / "a")
    with pytest.raises(hi2.Error, match="cannot be written"):
        parts.save(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    monkeypatch.chdir(tmp_path)
    for odd in ("/", 5, None, "a\0b"):
        for call in (parts.save, hi2.Parts.load):
            with pytest.raises(InvalidParameter, match="the path of a folder"):
                call(odd)
    parts.save("relative")
    assert hi2.Parts.load("relative").record == parts.record


@pytest.fixture
def saved(parts, tmp_path):
    parts.save(tmp_path / "parts")
    return tmp_path / "parts"


def rewrite(folder, change):
    listed = json.loads((folder / PARTS).read_text())
    (folder / PARTS).write_text(json.dumps(change(listed) or listed))


@pytest.mark.parametrize("name", ["../outside.npy", "sub/inside.npy", "/etc/hostname", "..", ".", ""])
def test_parts_do_not_name_files_outside_their_folder(saved, name):
    outside = saved.parent / "outside.npy"
    outside.write_bytes((saved / "anchors.npy").read_bytes())
    (saved / "sub").mkdir()
    (saved / "sub" / "inside.npy").write_bytes(outside.read_bytes())
    rewrite(saved, lambda listed: listed["files"].update({name: listed["files"]["anchors.npy"]}))
    with pytest.raises(FormatError, match="names a file outside its folder"):
        hi2.Parts.load(saved)


def test_a_list_of_files_that_is_no_file_is_refused(saved):
    (saved / PARTS).rename(saved.parent / "elsewhere.json")
    (saved / PARTS).symlink_to(saved.parent / "elsewhere.json")
    with pytest.raises(FormatError, match="is a link, a pipe"):
        hi2.Parts.load(saved)
    (saved / PARTS).unlink()
    (saved / PARTS).mkdir()
    with pytest.raises(FormatError, match="is a link, a pipe"):
        hi2.Parts.load(saved)
    (saved / PARTS).rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(saved / PARTS)
        with pytest.raises(FormatError, match="is a link, a pipe"):
            hi2.Parts.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda listed: [listed],
        lambda listed: "text",
        lambda listed: {"files": {}},
        lambda listed: {**listed, "files": list(listed["files"])},
        lambda listed: {**listed, "model": [1]},
        lambda listed: {**listed, "model": None},
        lambda listed: {**listed, "record": [1]},
        lambda listed: {**listed, "record": {"data": [1]}},
        lambda listed: listed["files"]["anchors.npy"].update(bytes=float("inf")),
        lambda listed: listed["files"]["anchors.npy"].update(shape=[float("inf")]),
        lambda listed: listed["files"]["anchors.npy"].update(shape=3),
        lambda listed: listed["files"]["anchors.npy"].update(dtype="|O"),
        lambda listed: listed["files"].update({"anchors.npy": 5}),
        lambda listed: listed["files"].pop("weights_offsets.npy") and None,
        lambda listed: listed["files"].update({"missing.npy": listed["files"]["anchors.npy"]}),
        lambda listed: listed["model"].update(dim=float("inf")),
        lambda listed: listed["model"]["terms"].update(n_docs=float("inf")),
    ],
)
def test_a_list_of_files_that_describes_no_parts_is_refused(saved, change):
    hi2.Parts.load(saved)
    rewrite(saved, change)
    with pytest.raises(FormatError):
        hi2.Parts.load(saved)


def replace_array(folder, name, array):
    """Write another array with a checksum that is right."""
    data = npy_header(array.dtype, array.shape) + array.tobytes()
    (folder / name).write_bytes(data)
    entry = {"dtype": array.dtype.str, "shape": array.shape, "bytes": len(data)}
    entry["sha256"] = hashlib.sha256(data).hexdigest()
    rewrite(folder, lambda listed: listed["files"].update({name: entry}))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("weights_offsets.npy", np.array([0, 2, 9], np.uint64)),
        ("weights_offsets.npy", np.array([1, 2, 3], np.uint64)),
        ("weights_offsets.npy", np.array([0, 2**63, 3], np.uint64)),
        ("weights_offsets.npy", np.array([], np.uint64)),
        ("weights_terms.npy", np.array([4, 9, 30522], np.uint32)),
        ("weights_terms.npy", np.array([4, 9], np.uint32)),
        ("weights_values.npy", np.float32([1, np.nan, 3])),
        ("weights_values.npy", np.float32([[1, 2, 3]])),
        ("weights_lengths.npy", np.array([7])),
        ("term_mean_scores.npy", np.full(30522, np.nan, np.float32)),
    ],
)
def test_arrays_that_are_no_parts_are_refused_whatever_their_checksum(saved, name, array):
    replace_array(saved, name, array)
    with pytest.raises(FormatError, match=r"damaged|cannot be read"):
        hi2.Parts.load(saved)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_other_list_of_files_is_refused_or_harmless(saved, data):
    original = (saved / PARTS).read_text()
    listed = node = json.loads(original)
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], (dict, list)) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(VALUES)
            break
        node = node[key]
    (saved / PARTS).write_text(json.dumps(listed))
    try:
        hi2.Parts.load(saved)
    except hi2.Error as error:
        said = type(error)
    else:
        said = FormatError
    (saved / PARTS).write_text(original)
    assert said is FormatError


def test_parts_of_another_index_are_refused(parts, corpus):
    vectors, texts = corpus.vectors[:60], corpus.texts[:60]
    parts.check(parts.model)
    own = {"clusters": parts.model.clusters}
    for said, other in [
        ("dimension 8", hi2.HybridIndex.build(vectors[:, :8], texts)),
        ("cosine", hi2.HybridIndex.build(vectors, texts, metric="cosine")),
        ("with clusters", hi2.HybridIndex.build(vectors, texts, clusters=None)),
        ("clustering", hi2.HybridIndex.build(vectors[::-1], texts, clusters=hi2.KMeans(3))),
        ("tokenizer", hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(tokenizer=hi2.WordTokenizer()), **own)),
    ]:
        with pytest.raises(InvalidParameter, match=said):
            parts.check(other.model)


def test_a_checksum_of_arrays_depends_on_values_type_and_shape():
    array = np.arange(6, dtype=np.int32)
    others = [array.astype(np.uint32), array.reshape(2, 3), array[::-1], array[:5]]
    assert len({checksum(other) for other in [array, *others]}) == 5
    assert checksum(array) == checksum(np.arange(0, 12, 2, dtype=np.int32) // 2)


@given(one=st.lists(st.text(max_size=4), max_size=4), other=st.lists(st.text(max_size=4), max_size=4))
def test_a_checksum_of_texts_depends_on_every_text_and_its_place(one, other):
    assert (text_checksum(one) == text_checksum(other)) == (one == other)
    assert text_checksum(["ab", "c"]) != text_checksum(["a", "bc"])

"""Parts are saved whole, read back with every checksum, and fit only the index that they were trained for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.errors import FormatError, InvalidParameter
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

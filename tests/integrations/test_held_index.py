"""A store has an index: given, in memory or in a folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hi2
from hi2.integrations.held_index import HeldIndex


def put(held, *rows):
    """File (id, text, vector) rows."""
    ids, texts, vectors = zip(*rows, strict=True)
    held.upsert(list(vectors), list(texts), ids=ids, metadata=[{"id": id} for id in ids])


def test_an_index_comes_to_be_with_its_first_documents_and_takes_their_dimension():
    held = HeldIndex()
    assert held.index is None
    assert len(held) == 0
    assert held.known(["a"]) == set()
    assert held.delete(["a"]) == held.update(None, {}) == 0
    held.clear()
    held.upsert([], [], ids=[], metadata=[])
    assert held.index is None
    put(held, ("a", "red", [1.0, 0.0, 0.0]))
    assert held.index.dim == 3
    assert held.known(["a", "b"]) == {"a"}


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_first_vector_decides_the_dimension_even_after_documents_without(tmp_path, on_disk):
    held = HeldIndex(path=tmp_path / "a" if on_disk else None)
    put(held, ("a", "red apple", None), ("b", "green pear", None))
    held.delete(["b"])
    with pytest.raises(hi2.InvalidParameter):  # changes nothing
        put(held, ("c", "blue", [1.0, float("nan")]))
    assert held.index.ids() == ["a"]
    put(held, ("c", "fast car", [1.0, 0.0]), ("a", "red apple", None), ("d", "slow train", None))
    assert held.index.dim == 2
    assert held.index.ids() == ["c", "a", "d"]
    assert held.index.search(None, "apple train", k=5).counts == 2
    assert held.index.get("a")["payload"] == {"id": "a"}
    with pytest.raises(hi2.InvalidParameter, match="dim"):
        put(held, ("e", "x", [1.0, 0.0, 0.0]))
    for at in range(0, 600, 100):  # it grows like any other
        put(held, *((str(i), f"word{i}", [float(i), 1.0]) for i in range(at, at + 100)))
    assert len(held) == 603
    held.close()
    if on_disk:
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 603


def test_a_declared_dimension_stays():
    held = HeldIndex(dim=2)
    put(held, ("a", "red", None))
    with pytest.raises(hi2.InvalidParameter, match="dim"):
        put(held, ("b", "red", [1.0, 0.0, 0.0]))


def test_changes_are_committed_before_the_call_returns(tmp_path):
    held = HeldIndex(path=tmp_path / "a")
    put(held, ("a", "red", [1.0, 0.0]), ("b", "green", [0.0, 1.0]))
    reader = hi2.HybridIndex.open(tmp_path / "a")
    assert reader.ids() == ["a", "b"]
    held.delete(["a", "no such"])
    held.update("id == 'b'", {"colour": "green"})
    assert reader.refresh()
    assert reader.get("b")["payload"] == {"id": "b", "colour": "green"}
    assert len(reader) == 1
    held.clear()
    assert reader.refresh()
    assert len(reader) == 0
    put(held, ("c", "red", [1.0, 0.0, 0.0]))  # no document has a vector any more
    held.clear(anew=True)
    assert held.index.dim == 3
    assert len(held) == 0


def test_one_store_writes_and_others_read(tmp_path):
    held = HeldIndex(path=tmp_path / "a")
    put(held, ("a", "red", [1.0, 0.0]))
    with pytest.raises(hi2.Locked):
        HeldIndex(path=tmp_path / "a")
    reading = HeldIndex(path=tmp_path / "a", mode="r")
    with pytest.raises(hi2.ReadOnly):
        put(reading, ("b", "red", [1.0, 0.0]))
    held.close()
    with pytest.raises(hi2.ReadOnly):
        put(held, ("b", "red", [1.0, 0.0]))
    assert len(HeldIndex(path=tmp_path / "a")) == 1
    with pytest.raises(hi2.NotFound):
        HeldIndex(path=tmp_path / "none", mode="r")


def test_a_given_index_is_used_as_it_is(tmp_path):
    memory = hi2.HybridIndex.create(dim=2)
    held = HeldIndex(memory)
    put(held, ("a", "red", [1.0, 0.0]))
    held.clear(anew=True)
    held.close()
    assert held.index is memory
    assert len(memory) == 0
    stored = hi2.HybridIndex.create(dim=2, path=tmp_path / "a")
    put(HeldIndex(stored), ("a", "red", [1.0, 0.0]))
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 1


def test_an_encoder_makes_the_vectors(tmp_path):
    held = HeldIndex(path=tmp_path / "a", encoder=hi2.StaticEncoder())
    held.upsert(None, ["bake bread at home"], ids=["a"], metadata=[{}])
    held.clear(anew=True)
    held.upsert(None, ["bake bread at home"], ids=["a"], metadata=[{}])
    assert held.index.search("sourdough recipe", k=1)[0].id == "a"
    assert np.isfinite(held.index.vectors("a")).all()


def test_of_several_documents_with_one_id_the_last_counts():
    held = HeldIndex()
    put(held, ("a", "red", [1.0, 0.0]), ("b", "blue", [1.0, 1.0]), ("a", "green", [0.0, 1.0]))
    assert [own["text"] for own in held.index.get(["a", "b"])] == ["green", "blue"]


def test_threads_may_write_at_once(tmp_path):
    held = HeldIndex(path=tmp_path / "a")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: put(held, (str(i), f"word{i}", [float(i), 1.0])), range(40)))
    assert len(held) == 40


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"index": "a"}, "'index' parameter must be a HybridIndex. Got 'a'"),
        ({"mode": "x"}, "'mode' parameter must be 'w'.*Got 'x'"),
        ({"mode": "r"}, "'mode' parameter must be 'w' where no path is given"),
    ],
)
def test_bad_arguments_are_refused(given, said):
    with pytest.raises(hi2.InvalidParameter, match=said):
        HeldIndex(**given)


def test_an_index_and_a_path_are_not_given_together():
    with pytest.raises(hi2.InvalidParameter, match="'path' parameter must be left out"):
        HeldIndex(hi2.HybridIndex.create(dim=2), "a")

"""Documents are counted, listed, deleted and read by filter, and their vectors given back."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import hi2
from payloads import payload_of

N = 200


@pytest.fixture
def grown():
    """Two segments, some documents deleted."""
    vectors = np.random.default_rng(6).standard_normal((N, 8)).astype(np.float32)
    payload = [{**payload_of(i), "mixed": None, "marks": [i % 3, 0.5]} for i in range(N)]
    index = hi2.HybridIndex.build(vectors[:150], terms=None, payload=payload[:150], codec=hi2.Flat())
    index.add(vectors[150:], payload=payload[150:])
    index.delete(list(range(0, N, 10)))
    alive = [i for i in range(N) if i % 10]
    return index, vectors, [(i, payload[i]) for i in alive]


def test_filters_count_and_list_in_order_of_arrival(grown):
    index, _, documents = grown
    wanted = [i for i, own in documents if own["lang"] == "de" and own["number"] >= 20]
    assert index.ids(filter="lang == 'de' and number >= 20") == wanted
    assert index.count(filter="lang == 'de' and number >= 20") == len(wanted)
    assert (index.count(), index.ids()) == (len(documents), [i for i, _ in documents])
    assert index.ids(filter=[7, 3, 161]) == [3, 7, 161]


def test_documents_are_deleted_by_filter(grown):
    index, _, documents = grown
    doomed = [i for i, own in documents if own["draft"]]
    assert index.delete(filter="draft") == len(doomed)
    assert index.ids() == [i for i, own in documents if not own["draft"]]
    assert index.delete(filter="draft") == 0
    for given in ({}, {"ids": 3, "filter": "draft"}):
        with pytest.raises(hi2.InvalidParameter, match="Either the 'ids' or the 'filter'"):
            index.delete(**given)


def test_documents_are_read_in_batches_as_they_were(grown):
    index, _, documents = grown
    batches = index.iterate(batch_size=30, filter="not draft")
    index.delete(filter="number >= 0")
    found = list(batches)
    assert [len(own) for own in found[:-1]] == [30] * (len(found) - 1)
    kept = [(i, own) for i, own in documents if not own["draft"]]
    assert [own["id"] for batch in found for own in batch] == [i for i, _ in kept]
    assert found[0][0]["payload"]["number"] == kept[0][1]["number"]
    with pytest.raises(hi2.InvalidParameter, match="'batch_size'"):
        index.iterate(batch_size=0)


@pytest.mark.parametrize("name", ["lang", "year", "draft", "weight", "tags", "marks"])
@pytest.mark.parametrize("filter", [None, "number >= 60"])
def test_facets_count_documents_by_value(grown, name, filter):
    index, _, documents = grown
    kept = [own for _, own in documents if filter is None or own["number"] >= 60]
    counts = Counter()
    for own in kept:
        value = own[name]
        counts.update(set(value) if isinstance(value, list) else [] if value is None else [value])
    found = index.facet(name, filter=filter)
    assert found == counts
    assert list(found.values()) == sorted(counts.values(), reverse=True)
    assert list(index.facet(name, filter=filter, limit=2)) == list(found)[:2]


def test_facets_of_paths_and_of_nothing():
    index = hi2.HybridIndex.build(np.eye(3), terms=None, payload=[{"a": {"b": "x"}}, {"a": {"b": "x"}}, {"a.b": "y"}])
    assert index.facet("a.b") == {"x": 2}
    for name in ("nobody", 3):
        with pytest.raises(hi2.InvalidParameter, match="'name'"):
            index.facet(name)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"codec": hi2.Flat()}, 0),
        ({"codec": hi2.Half()}, 2e-3),
        ({"codec": hi2.SQ8()}, 0.03),
        ({"codec": hi2.RaBitQ(), "refine": hi2.SQ8()}, 0.03),
        ({"codec": hi2.SQ8(residual=True)}, 0.03),
    ],
)
def test_vectors_come_back_as_the_finest_store_has_them(given, error):
    vectors = np.random.default_rng(1).standard_normal((300, 16)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors[:200], terms=None, **given)
    index.add(vectors[200:])
    back = index.vectors([250, 3, 3, 120])
    assert back.dtype == np.float32
    assert np.abs(back - vectors[[250, 3, 3, 120]]).max() <= error
    assert np.array_equal(index.vectors(3), back[1])
    with pytest.raises(hi2.InvalidParameter, match="in the index"):
        index.vectors([999])


def test_vectors_that_were_not_kept_are_not_made_up():
    vectors = np.random.default_rng(1).standard_normal((300, 16)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, terms=None, codec=hi2.RaBitQ())
    with pytest.raises(hi2.Error, match=r"refine=SQ8\(\)"):
        index.vectors(3)


def test_a_default_stands_for_a_document_that_is_not_there(grown):
    index, _, _ = grown
    assert index.get(0, None) is None
    assert [own and own["id"] for own in index.get([0, 1], None)] == [None, 1]
    with pytest.raises(hi2.InvalidParameter, match="in the index"):
        index.get(0)
    with pytest.raises(hi2.InvalidParameter, match="integers"):
        index.get("1", None)

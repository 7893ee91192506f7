"""A draft files every document under its terms; lists that are too long lose their lowest scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2.ingest import draft
from hi2.ingest.draft import Postings, draft_of, prune, term_postings


def test_gamma_prunes_the_longest_lists_by_score(corpus):
    plain = hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    pruned = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, clusters=plain.model.clusters, terms=hi2.BM25(gamma=0.9)
    )
    before, after = plain.info()["terms"], pruned.info()["terms"]
    (live,) = plain._index.state.snapshot.segments
    keys, lengths = live.segment.native.term_lengths()
    threshold = int(np.sort(lengths)[int(0.9 * len(lengths))])
    assert after["longest"] == threshold
    assert after["pruned_lists"] == int((lengths > threshold).sum()) > 0
    assert (
        after["pruned_postings"]
        == before["n_postings"] - after["n_postings"]
        == int((lengths - threshold)[lengths > threshold].sum())
    )
    selector = plain.model.terms
    bags = selector.spec.bags(selector.tokenizer, corpus.texts)
    scores = selector.scores(bags)
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.offsets).astype(np.int64))
    term = int(keys[np.argmax(lengths)])
    by_row = {int(r): float(s) for r, s, t in zip(rows, scores, bags.terms, strict=True) if t == term}
    full, kept = (
        sorted(
            i._index.state.snapshot.segments[0]
            .segment.rows[i._index.state.snapshot.segments[0].segment.native.term_list(term)[0]]
            .tolist()
        )
        for i in (plain, pruned)
    )
    assert kept == sorted(sorted(full, key=lambda r: (-by_row[r], r))[:threshold])


def test_without_gamma_nothing_is_pruned(corpus):
    info = hi2.HybridIndex.build(corpus.vectors, corpus.texts).info()["terms"]
    assert info["pruned_lists"] == info["pruned_postings"] == 0


def slow_prune(keys, rows, scores, gamma):
    """Return the (key, row) pairs that are left, in plain Python."""
    lists: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        lists.setdefault(key, []).append(place)
    lengths = sorted(map(len, lists.values()))
    limit = lengths[min(len(lengths) - 1, int(gamma * len(lengths)))]
    kept = set()
    for places in lists.values():
        kept.update(sorted(places, key=lambda place: (-scores[place], rows[place]))[:limit])
    removed = [len(places) - limit for places in lists.values() if len(places) > limit]
    return sorted((keys[place], rows[place]) for place in kept), len(removed), sum(removed)


@settings(max_examples=150, deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 30)), min_size=1, max_size=80),
    st.sampled_from([0.0, 0.3, 0.5, 0.9, 0.996, 1.0]),
    st.data(),
)
def test_pruning_equals_plain_python(pairs, gamma, data):
    pairs = data.draw(st.permutations(sorted(pairs)))
    scores = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    keys, rows = (np.array([pair[i] for pair in pairs], np.uint32) for i in (0, 1))
    ranks = np.arange(len(pairs), dtype=np.uint32)
    postings, pruned = prune(Postings(keys, rows, ranks), np.array(scores, np.float32), gamma)
    kept, n_lists, n_postings = slow_prune(keys.tolist(), rows.tolist(), scores, gamma)
    found = list(zip(postings.keys.tolist(), postings.rows.tolist(), strict=True))
    assert sorted(found) == kept
    assert (pruned.lists, pruned.postings) == (n_lists, n_postings)
    assert [pairs[rank] for rank in postings.ranks] == found  # ranks stay with their postings


def test_pruning_nothing_gives_nothing():
    empty = Postings(*(np.zeros(0, np.uint32) for _ in range(3)))
    postings, pruned = prune(empty, np.zeros(0, np.float32), 0.5)
    assert len(postings.keys) == pruned.lists == pruned.postings == 0


def test_a_posting_has_the_rank_of_its_term_in_the_document(corpus):
    selector = filing.model_of(corpus).terms
    bags = selector.spec.bags(selector.tokenizer, [*corpus.texts[:20], ""])
    postings, _ = term_postings(selector, bags)
    selection = selector.select(bags)
    for row in range(21):
        own = postings.rows == row
        begin, end = int(selection.offsets[row]), int(selection.offsets[row + 1])
        order = np.argsort(postings.ranks[own])
        assert postings.keys[own][order].tolist() == selection.terms[begin:end].tolist()
        assert postings.ranks[own][order].tolist() == list(range(end - begin))


def test_a_draft_holds_the_cluster_the_codes_and_the_copies_of_every_row(corpus, monkeypatch):
    model = filing.model_of(corpus, terms=None, clusters=hi2.KMeans(30, copies=2, copy_margin=0.3), refine=hi2.Half())
    monkeypatch.setattr(draft, "_VECTORS_PER_BLOCK", 64)  # several blocks, as in a large build
    made = draft_of(model, filing.read(corpus.vectors), threads=1, progress=filing.SILENT)
    labels, pairs = model.clusters.assign(corpus.vectors)
    np.testing.assert_array_equal(made.labels, labels)
    assert len(pairs) > 0
    assert sorted(zip(made.copies.rows, made.copies.keys, strict=True)) == sorted(map(tuple, pairs))
    rows = np.array([5, 0, 5])
    np.testing.assert_array_equal(made.codes(rows).view(np.float32), corpus.vectors[rows])
    np.testing.assert_array_equal(made.refine_codes(rows).view(np.float16), corpus.vectors[rows].astype(np.float16))
    assert made.terms is made.stored is None


def test_residual_codes_are_relative_to_the_cluster_of_each_row(corpus):
    model = filing.model_of(corpus, terms=None, codec=hi2.SQ8(residual=True))
    made = draft_of(model, filing.read(corpus.vectors), threads=1, progress=filing.SILENT)
    rows = np.array([40, 3])
    expected = model.codec.encode(corpus.vectors[rows] - model.clusters.anchors[made.labels[rows]])
    np.testing.assert_array_equal(made.codes(rows), expected)


def test_bad_vectors_are_refused_before_anything_is_written(corpus):
    model = filing.model_of(corpus, clusters=None)
    vectors = corpus.vectors[:9].copy()
    vectors[7, 2] = np.nan
    documents = filing.read(vectors, corpus.texts[:9], terms=model.terms)
    with pytest.raises(hi2.InvalidParameter, match="row 7"):
        draft_of(model, documents, threads=1, progress=filing.SILENT)

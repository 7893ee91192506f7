"""The index as a system: its candidates are the lists it opens, and its size is what it reports."""

from __future__ import annotations

from hi2.evaluation.peers.hybrid import ClustersOnly, Hybrid, HybridCompact, HybridFlat, HybridOPQ, TermsOnly


def test_candidates_are_the_union_of_both_sides(things):
    peer = things.build(HybridFlat())
    setting = {"clusters": 2, "per_doc": 3}
    vector, text = things.vectors[0], things.texts[0]
    clusters, terms = (set(side.tolist()) for side in peer.candidates(vector, text, setting))
    found = peer.index.search(vector, text, k=len(things.texts), **setting)
    assert clusters | terms == set(found.ids.tolist())
    assert peer.count_scored(vector, text, 5, setting) == len(clusters | terms)
    assert 0 < len(terms) < len(things.texts)
    assert peer.search(vector, text, 5, setting).tolist() == found.ids[:5].tolist()


def test_every_variant_sweeps_what_it_has():
    assert {setting["refine"] for setting in Hybrid().sweep()} == {2, 3, 4, 6, 10}
    for peer in (HybridOPQ, HybridFlat, HybridCompact):
        assert {setting["refine"] for setting in peer().sweep()} == {0}  # there is no refine store
    assert {setting["clusters"] for setting in TermsOnly().sweep()} == {0}
    assert {setting["terms"] for setting in ClustersOnly().sweep()} == {0}


def test_the_parts_add_up_to_the_size(things):
    peer = things.build(Hybrid())
    parts = peer.bytes_by_part
    assert parts["refine"] == 16 * len(things.texts)  # one byte a dimension
    assert sum(size for part, size in parts.items() if part != "total") == parts["total"] == peer.n_bytes

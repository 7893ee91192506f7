"""Rank fusion sums reciprocal ranks of both searches."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.rank_fusion import RankFusionFlat, RankFusionHNSW

pytest.importorskip("bm25s", reason="needs the extra 'lab'")
pytest.importorskip("Stemmer", reason="needs the extra 'lab'")


@pytest.mark.parametrize("kind", [RankFusionFlat, RankFusionHNSW])
@pytest.mark.parametrize(("depth", "constant"), [(100, 60), (100, 10), (20, 100), (1000, 20)])
def test_documents_are_ordered_by_the_sum_of_reciprocal_ranks(things, kind, depth, constant):
    peer = things.build(kind())
    setting = {**peer.sweep()[-1], "depth": depth, "constant": constant}
    for vector, text in ((things.vectors[3], "bread number11 engine"), (things.vectors[9], "zebra")):
        words = peer._words.top_rows(text, depth).tolist()
        near = peer._dense.search(vector, text, min(depth, 400), setting).tolist()
        scores = {
            row: sum(1 / (constant + own.index(row) + 1) for own in (words, near) if row in own)
            for row in {*words, *near} - {-1}
        }
        expected = sorted(scores, key=lambda row: (-scores[row], row))[:20]
        for _ in range(2):  # the second search begins with clean sums
            assert peer.search(vector, text, 20, setting).tolist() == expected


def test_depths_and_constants_are_swept(things):
    settings = things.build(RankFusionFlat()).sweep()
    assert {(one["depth"], one["constant"]) for one in settings} == {
        (depth, constant) for depth in (100, 200, 1000) for constant in (10, 20, 60, 100)
    }

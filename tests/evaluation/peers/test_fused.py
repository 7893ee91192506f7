"""A fused system has the bytes of both indexes, and takes over the setting of a part that was tuned by itself."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers import PEERS

pytest.importorskip("bm25s", reason="needs the extra 'lab'")
pytest.importorskip("Stemmer", reason="needs the extra 'lab'")


@pytest.mark.parametrize("kind", ["RRF", "convex"])
def test_a_graph_is_tuned_by_itself_and_brute_force_is_not(things, kind):
    flat, graph = (things.build(PEERS[f"{kind} (BM25 + {dense})"]()) for dense in ("Flat", "HNSW32"))
    assert flat.part is None
    assert graph.part.peer.name == "faiss HNSW32"
    assert flat.n_bytes == flat._words.n_bytes + flat._dense.n_bytes
    assert graph.n_bytes > flat.n_bytes
    most = graph.part.peer.sweep()[-1]
    assert {setting["efSearch"] for setting in graph.sweep()} == {most["efSearch"]}
    graph.part.use({"efSearch": 128})
    assert {setting["efSearch"] for setting in graph.sweep()} == {128}
    assert not any("efSearch" in setting for setting in flat.sweep())

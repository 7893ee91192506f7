"""hi2 ranks by words too: the default index, weights that are tried, and text alone."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.peers import PEERS
from hi2.evaluation.peers.words import WEIGHTS, HybridWords, HybridWordsTuned, WordsAlone


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, keep_text=False)


@pytest.mark.parametrize("kind", [HybridWords, HybridWordsTuned, WordsAlone])
def test_each_setting_is_that_of_a_default_index(corpus, index, kind):
    peer = kind()
    peer.build(corpus.vectors, corpus.texts, threads=1)
    assert PEERS[kind.name] is kind
    settings = peer.sweep()
    assert [setting.get("lexical") for setting in settings] == list(WEIGHTS if kind is HybridWordsTuned else [None])
    alone = kind is WordsAlone
    for setting in (settings[0], settings[-1]):
        for vector, text in zip(corpus.query_vectors[:9], corpus.query_texts[:9], strict=True):
            expected = index.search(None if alone else vector, text, k=7, **setting)
            assert peer.search(vector, text, 7, setting).tolist() == expected.ids.tolist()
            assert peer.count_scored(vector, text, 7, setting) == expected.n_scored
            assert (peer.candidates(vector, text, setting) is None) == alone
        assert peer.search_batch(corpus.query_vectors[:9], corpus.query_texts[:9], 7, setting, threads=2)
    assert peer.n_bytes == index.info()["bytes"]["total"]


def test_words_change_the_ranking(corpus):
    peer = HybridWordsTuned()
    peer.build(corpus.vectors, corpus.texts, threads=1)
    found = [
        np.stack(
            [
                peer.search(v, t, 10, {"lexical": weight})
                for v, t in zip(corpus.query_vectors, corpus.query_texts, strict=True)
            ]
        )
        for weight in (0.0, 2.0)
    ]
    assert (found[0] != found[1]).any()

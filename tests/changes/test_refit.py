"""An index takes parts that were fitted elsewhere, and then answers as an index built with them."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.state.profile import Profile
from hi2.store.trained_parts import Parts


@pytest.fixture
def index(corpus):
    return hi2.HybridIndex.build(
        corpus.vectors[:200], corpus.texts[:200], ids=corpus.ids[:200], clusters=hi2.KMeans(8), keep_text=True
    )


def same_answers(one, other, corpus):
    ours, theirs = (each.search(corpus.query_vectors, corpus.query_texts, k=20) for each in (one, other))
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    np.testing.assert_array_equal(ours.n_scored, theirs.n_scored)


def built_with(index, corpus, **parts):
    given = {"clusters": index.model.clusters, "terms": index.model.terms, "codec": index.model.codec, **parts}
    return hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200], ids=corpus.ids[:200], **given)


def test_other_codes_are_made_from_the_vectors(index, corpus):
    other = built_with(index, corpus, codec=hi2.PQ(5))
    parts = Parts(other.model)
    with pytest.raises(hi2.InvalidParameter, match="encode the documents anew"):
        index.refit(parts)
    with pytest.raises(hi2.InvalidParameter, match="each of the 200 documents"):
        index.refit(parts, vectors=corpus.vectors[:199])
    before = index._index.state
    refitted = index.refit(parts, vectors=corpus.vectors[:200])
    same_answers(refitted, other, corpus)
    refitted.verify()
    assert index._index.state is before


def test_term_lists_are_filed_again_from_the_stored_texts(index, corpus, tmp_path):
    other = built_with(index, corpus, terms=hi2.BM25(per_doc=3))
    Parts(other.model).save(tmp_path / "parts")
    refitted = index.refit(tmp_path / "parts")
    same_answers(refitted, other, corpus)
    assert refitted.model.per_doc == 3


def test_texts_that_are_not_stored_must_be_given(index, corpus):
    parts = Parts(built_with(index, corpus, terms=hi2.BM25(per_doc=3)).model)
    bare = built_with(index, corpus, keep_text=False)
    with pytest.raises(hi2.InvalidParameter, match="keep_text=True"):
        bare.refit(parts)
    same_answers(bare.refit(parts, texts=corpus.texts[:200]), index.refit(parts), corpus)


def test_living_documents_are_refitted_in_their_order_and_profiles_are_dropped(index, corpus):
    parts = Parts(built_with(index, corpus, terms=hi2.BM25(per_doc=3)).model)
    index.add_profile("mine", Profile(clusters=2, model=index.model.fingerprint))
    index.add(corpus.vectors[200:210], corpus.texts[200:210], ids=corpus.ids[200:210])
    index.delete(corpus.ids[10:20])
    refitted = index.refit(parts)
    assert refitted.ids() == [*corpus.ids[:10], *corpus.ids[20:210]]
    assert refitted.texts() == [*corpus.texts[:10], *corpus.texts[20:210]]
    assert not refitted.profiles
    assert refitted.info()["drift"] == {"added": 0}
    assert index.profiles


def test_parts_of_another_clustering_and_an_empty_index_are_refused(index, corpus):
    own = Parts(index.model)
    with pytest.raises(hi2.InvalidParameter, match="clustering"):
        index.refit(Parts(built_with(index, corpus, clusters=hi2.KMeans(5)).model))
    index.delete(index.ids())
    with pytest.raises(hi2.Error, match="nothing to refit"):
        index.refit(own)


def test_the_spread_of_dense_scores_is_that_of_the_documents_there_are(corpus):
    """An index that began with one document knows nothing of it."""
    kept = {"keep_text": True, "codec": hi2.Flat()}
    index = hi2.HybridIndex.build(corpus.vectors[:1], corpus.texts[:1], ids=corpus.ids[:1], **kept)
    assert index.model.evidence.spread == pytest.approx(0.1 * np.linalg.norm(corpus.vectors[0]), rel=1e-5)
    index.add(corpus.vectors[1:300], corpus.texts[1:300], ids=corpus.ids[1:300])
    at_once = hi2.HybridIndex.build(corpus.vectors[:300], corpus.texts[:300], ids=corpus.ids[:300], **kept)
    refitted = index.refit().model.evidence
    assert refitted.spread == pytest.approx(at_once.model.evidence.spread, rel=0.02)
    np.testing.assert_allclose(refitted.center, at_once.model.evidence.center, atol=1e-4)
    again = at_once.refit().model.evidence
    assert again.spread == at_once.model.evidence.spread  # nothing came since: not a bit changes

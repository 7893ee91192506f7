"""Arguments and profiles become numbers; what is given takes precedence over what is stored."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import hi2
from hi2.arguments import MAX_K
from hi2.errors import InvalidParameter
from hi2.search.effort import DEFAULT_LEXICAL, DEFAULT_REFINE, LARGEST_LEXICAL, resolve_effort, with_profile
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.state.benefit import DEFAULT_BENEFIT, Benefit
from hi2.state.profile import Profile


@pytest.fixture(scope="module")
def refined(documents):
    return hi2.HybridIndex.build(documents[0], documents[1], codec=hi2.PQ(3), refine=hi2.Flat(), progress=False)


def test_what_is_not_given_takes_the_defaults_of_the_model(index, refined):
    model = index.model
    effort = resolve_effort(model, k=7)
    assert (effort.k, effort.terms, effort.per_doc) == (7, DEFAULT_QUERY_TERMS, model.per_doc)
    assert effort.clusters == model.clusters.default_probes < model.n_clusters
    assert effort.depth == 0  # there is no refine store
    assert resolve_effort(refined.model, k=7).depth == 7 * DEFAULT_REFINE
    assert resolve_effort(refined.model, k=7, refine=0).depth == 0
    assert not effort.weighed


@pytest.mark.parametrize("given", [{"adaptive": 0.1}, {"budget": 30}])
def test_a_query_that_weighs_its_lists_may_open_every_cluster(index, given):
    effort = resolve_effort(index.model, k=7, **given)
    assert effort.weighed
    assert effort.clusters == index.model.n_clusters
    assert effort.benefit is DEFAULT_BENEFIT
    assert resolve_effort(index.model, k=7, clusters=2, **given).clusters == 2


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"k": 0}, "k"),
        ({"k": MAX_K + 1}, "k"),
        ({"k": True}, "k"),
        ({"clusters": -1}, "clusters"),
        ({"terms": 1.5}, "terms"),
        ({"per_doc": "all"}, "per_doc"),
        ({"refine": -1}, "refine"),
        ({"budget": 0}, "budget"),
        ({"adaptive": 1.1}, "adaptive"),
        *(({"lexical": bad}, "lexical") for bad in (-0.1, -1, math.nan, math.inf, -math.inf, 1e7, 10**5000)),
        *(
            ({"lexical": bad}, "lexical")
            for bad in ("0.2", "", True, False, [0.2], np.array([0.2]), np.True_, 1j, b"1")
        ),
    ],
)
def test_a_number_out_of_range_is_refused_by_its_name(index, given, name):
    with pytest.raises(InvalidParameter, match=f"'{name}'"):
        resolve_effort(index.model, **{"k": 1, **given})


def test_words_count_by_default_where_there_are_bags_and_terms_are_opened(index, documents):
    model = index.model
    assert resolve_effort(model, k=1).lexical == DEFAULT_LEXICAL > 0
    assert resolve_effort(model, k=1).spread == model.evidence.spread > 0
    for given in ({"terms": 0}, {"per_doc": 0}, {"lexical": 0}):
        assert resolve_effort(model, k=1, **given).lexical == 0
    assert resolve_effort(model, k=1, terms=0, lexical=0.5).lexical == 0.5
    bare = hi2.HybridIndex.build(documents[0], documents[1], bags=False, progress=False).model
    assert (resolve_effort(bare, k=1).lexical, resolve_effort(bare, k=1, lexical=0).lexical) == (0, 0)
    assert resolve_effort(bare, k=1).spread == 0


@pytest.mark.parametrize("weight", [1, 0.3, np.float32(0.3), np.int64(2), LARGEST_LEXICAL, 1e-300, 0])
def test_a_weight_is_any_number_from_zero(index, weight):
    assert resolve_effort(index.model, k=1, lexical=weight).lexical == weight


def test_a_weight_without_bags_is_refused_with_the_way_out(documents):
    bare = hi2.HybridIndex.build(documents[0], documents[1], bags=False, progress=False)
    clusters = hi2.HybridIndex.build(documents[0], terms=None, progress=False)
    for own in (bare, clusters):
        with pytest.raises(InvalidParameter, match=r"'lexical'.*no bags.*bags=True.*refit\(\).*0\.2"):
            own.search(documents[0][0], documents[1][0], lexical=0.2)
        assert own.search(documents[0][0], documents[1][0], lexical=0).lexical is None


def test_bags_of_some_more_candidates_than_hits_are_read(index):
    depths = [resolve_effort(index.model, k=k).words_depth for k in (1, 99, 100, 101, 1000)]
    assert depths == [112, 112, 112, 113, 1125]


def test_arguments_take_precedence_over_a_profile(index):
    benefit = Benefit(base=-1.0)
    profile = Profile(clusters=3, per_doc=2, adaptive=0.1, benefit=benefit)
    state = dataclasses.replace(index._index.state, profiles={"mine": profile})
    asked = with_profile(state, "mine", {"clusters": 9, "per_doc": None, "terms": None})
    assert asked == {"clusters": 9, "per_doc": 2, "adaptive": 0.1, "benefit": benefit}
    assert resolve_effort(state.model, k=5, **asked).benefit is benefit


def test_an_unknown_profile_is_refused_with_the_known_ones(index):
    state = dataclasses.replace(index._index.state, profiles={"fast": Profile(), "exact": Profile()})
    with pytest.raises(InvalidParameter, match=r"fast, exact.*'slow'"):
        with_profile(state, "slow", {})
    with pytest.raises(InvalidParameter, match=r"tune\(\) makes them"):
        with_profile(index._index.state, "slow", {})

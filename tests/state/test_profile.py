"""A profile is JSON and back, and belongs to one model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2.state.benefit import Benefit
from hi2.state.profile import Profile, check_profile_name

COUNTS = st.none() | st.integers(0, 10**9)
PROFILES = st.builds(
    Profile,
    clusters=COUNTS,
    terms=COUNTS,
    per_doc=COUNTS,
    refine=COUNTS,
    adaptive=st.none() | st.floats(0, 1),
    lexical=st.none() | st.floats(0, 1e6),
    benefit=st.builds(Benefit, *[st.floats(-50, 50)] * 7),
    promise=st.dictionaries(st.text(max_size=5), st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
    model=st.text(max_size=5),
)


@settings(max_examples=100, deadline=None)
@given(PROFILES)
def test_a_profile_returns_from_json_as_it_was(profile):
    again = Profile.from_json(json.loads(json.dumps(profile.to_json())))
    assert again == profile
    assert again.arguments() == profile.arguments()


def test_only_what_is_set_is_an_argument():
    profile = Profile(clusters=0, adaptive=0.5, lexical=0.0, promise={"recall": 0.9}, model="x")
    assert profile.arguments() == {"clusters": 0, "adaptive": 0.5, "lexical": 0.0}
    assert Profile().arguments() == {}


@pytest.mark.parametrize(
    "change",
    [
        *({"terms": value} for value in (1.5, True, float("inf"))),
        *({"benefit": value} for value in ([0.0] * 8, "words", [10**309] * 7)),
        *({"adaptive": value} for value in ("x", "0.5", True, float("nan"))),
        *({"lexical": value} for value in ("x", "0.5", True, -0.1, float("nan"), float("inf"), 10**309, [0.2])),
        *({"promise": value} for value in (3, {"index_documents": "x"})),
    ],
)
def test_json_that_is_no_profile_is_refused(change):
    with pytest.raises(hi2.FormatError, match="A stored profile cannot be read"):
        Profile.from_json({**Profile().to_json(), **change})


def test_a_profile_without_a_weight_of_words_ranks_by_vectors_alone():
    stored = Profile(clusters=3).to_json()
    del stored["lexical"]
    assert Profile.from_json(stored).arguments() == {"clusters": 3, "lexical": 0.0}


@pytest.mark.parametrize("name", sorted({*Profile().to_json()} - {"lexical"}))
def test_json_without_a_part_of_a_profile_is_refused(name):
    stored = Profile().to_json()
    del stored[name]
    with pytest.raises(hi2.FormatError, match=name):
        Profile.from_json(stored)


def test_a_profile_of_another_model_is_refused(corpus):
    model, other = (filing.model_of(corpus, terms=None, clusters=hi2.KMeans(n)) for n in (3, 4))
    profile = Profile(model=model.fingerprint)
    profile.check(model)
    with pytest.raises(hi2.InvalidParameter, match="another model"):
        profile.check(other)


def test_a_profile_has_a_name():
    check_profile_name("fast")
    for bad in ("", None, 3):
        with pytest.raises(hi2.InvalidParameter, match="'name'"):
            check_profile_name(bad)

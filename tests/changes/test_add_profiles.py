"""Profiles are stored, and belong to the model that they were tuned for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hi2
from hi2.changes.add_profiles import add_profiles
from hi2.errors import FormatError, InvalidParameter, ReadOnly
from hi2.state.profile import Profile
from tuning_sample import K, agreement, fresh, half


def test_profiles_are_stored_and_belong_to_their_model(made, tmp_path):
    _, vectors, queries, _ = made
    made[0].save(tmp_path / "a.hi2")
    with hi2.HybridIndex.open(tmp_path / "a.hi2", "w") as index:
        index.tune(*half(queries, 0), target=0.9, k=K, name="mine", progress=False)
        index.commit()
    opened = hi2.HybridIndex.open(tmp_path / "a.hi2")
    opened.verify()
    assert opened.profiles == index.profiles
    profile = opened.profiles["mine"]
    assert Profile.from_json(profile.to_json()) == profile
    expected = agreement(index, vectors, queries, profile="mine")[1]
    np.testing.assert_array_equal(agreement(opened, vectors, queries, profile="mine")[1].ids, expected.ids)
    with pytest.raises(ReadOnly):
        opened.tune(*half(queries, 0), target=0.9, k=K, progress=False)

    same = fresh(made)
    same.add_profile("given", profile)
    np.testing.assert_array_equal(agreement(same, vectors, queries, profile="given")[1].ids, expected.ids)
    other = hi2.HybridIndex.build(vectors[:500], terms=None, clusters=hi2.KMeans(7), progress=False)
    with pytest.raises(InvalidParameter, match="another model"):
        other.add_profile("given", profile)
    assert not other.profiles


@pytest.fixture
def with_profile(made, tmp_path):
    index = fresh(made)
    index.add_profile("mine", Profile(clusters=3, model=index.model.fingerprint))
    index.save(tmp_path / "a")
    return tmp_path / "a"


def test_a_search_with_a_profile_does_not_read_the_model(made, with_profile):
    """A profile is checked against the model when it is added, and by verify(); a query pays for neither."""
    opened = hi2.HybridIndex.open(with_profile)
    assert opened.search(made[1][0], profile="mine").n_scored < len(opened)
    assert "fingerprint" not in vars(opened.model)
    opened.verify()


@pytest.mark.parametrize(
    "change", [{"clusters": -1}, {"adaptive": 3}, {"benefit": [float("inf")] * 7}, {"model": None}]
)
def test_a_damaged_profile_is_rejected(change):
    stored = {**dataclasses.asdict(Profile(clusters=3)), "benefit": [0.0] * 7}
    assert Profile.from_json(stored).clusters == 3
    with pytest.raises(FormatError, match="profile"):
        Profile.from_json({key: value for key, value in {**stored, **change}.items() if value is not None})


def test_a_profile_of_the_same_name_is_replaced_and_a_bad_one_adds_nothing(small):
    own = small.model.fingerprint
    small.add_profile("mine", Profile(clusters=1, model=own))
    small.add_profile("other", Profile(clusters=2, model=own))
    small.add_profile("mine", Profile(clusters=3, model=own))
    assert {name: profile.clusters for name, profile in small.profiles.items()} == {"mine": 3, "other": 2}
    for name, profile in (("", Profile(model=own)), (3, Profile(model=own)), ("new", Profile(model="0" * 64))):
        with pytest.raises(InvalidParameter):
            add_profiles(small._index, {"good": Profile(model=own), name: profile})
    assert set(small.profiles) == {"mine", "other"}

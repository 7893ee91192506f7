"""How does an index get a profile? It must be tuned for the model that the index has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hi2.changes.open_index import OpenIndex
from hi2.errors import described, invalid
from hi2.state.profile import Profile, check_profile_name


def add_profile(index: OpenIndex, name: str, profile: Profile) -> None:
    """Add one profile by name."""
    check_profile_name(name)
    add_profiles(index, {name: profile})


def add_profiles(index: OpenIndex, profiles: Mapping[str, Profile]) -> None:
    """Add profiles by name; a profile of the same name is replaced."""
    with index.changing() as state:
        for name, profile in profiles.items():
            check_profile_name(name)
            if not isinstance(profile, Profile):
                raise invalid("profile", "a hi2 profile, as tune makes them", described(profile))
            profile.check(state.model)
        index.state = replace(state, profiles={**state.profiles, **profiles})

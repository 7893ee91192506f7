"""How does an index get a profile? It must be tuned for the model that the index has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hi2.changes.open_index import OpenIndex
from hi2.state.profile import Profile, check_profile_name


def add_profiles(index: OpenIndex, profiles: Mapping[str, Profile]) -> None:
    """Add profiles by name; a profile of the same name is replaced."""
    with index.changing() as state:
        for name, profile in profiles.items():
            check_profile_name(name)
            profile.check(state.model)
        index.state = replace(state, profiles={**state.profiles, **profiles})

"""``verify`` names what is damaged, in files and in what they mean."""

from __future__ import annotations

import json

import pytest

import hi2
from hi2.errors import FormatError
from hi2.state.profile import Profile
from hi2.store.manifest import serialise


def test_verify_finds_a_profile_of_another_model(small, tmp_path):
    small.add_profile("mine", Profile(clusters=3, model=small.model.fingerprint))
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["profiles"]["mine"]["model"] = "0" * 64
    path.write_bytes(serialise(manifest))
    with pytest.raises(FormatError, match="another model"):
        hi2.HybridIndex.open(tmp_path / "a").verify()

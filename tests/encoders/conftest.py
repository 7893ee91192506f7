"""Tiny models on disk, and the static encoder."""

from __future__ import annotations

import pytest

import hi2
from tiny_models import make_tiny


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return make_tiny(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def static():
    return hi2.StaticEncoder()

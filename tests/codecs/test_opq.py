"""OPQ rotates before it quantises, and the rotation lowers the error."""

from __future__ import annotations

import pytest

import hi2


@pytest.mark.parametrize(
    ("match", "spec", "keywords"),
    [
        (r"'subspaces'", hi2.OPQ, {"subspaces": 0}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)

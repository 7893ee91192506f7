"""Limits that would refuse every request are refused themselves."""

from __future__ import annotations

import pytest

import hi2
from hi2.server.limits import Limits


@pytest.mark.parametrize("given", [{"body": -1}, {"seconds": float("nan")}, {"batch": True}, {"searches": "1"}])
def test_bad_limits_are_refused(given):
    with pytest.raises(hi2.InvalidParameter, match=f"limits.{next(iter(given))}"):
        Limits(**given)

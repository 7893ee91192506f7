"""Settings out of range are refused by name."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2
from hi2.training import Settings


@pytest.mark.parametrize("bad", [{"method": "magic"}, {"batch": 1}, {"rate": 0.0}, {"epochs": 0}, {"perplexity": 0.5}])
def test_the_bad_setting_is_named(bad):
    with pytest.raises(hi2.InvalidParameter, match=next(iter(bad))):
        Settings(**bad)

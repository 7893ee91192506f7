"""``hi2 info``: the same numbers as JSON and as a table."""

from __future__ import annotations

import json

import hi2
from commands import run
from hi2.cli.info import _format


def test_json_is_what_the_library_reports(index):
    shown = json.loads(run("info", index, "--json").stdout)
    assert shown == json.loads(json.dumps(hi2.HybridIndex.open(index).info()))


def test_numbers_are_formatted_for_people():
    assert _format(1234567) == "1,234,567"
    assert _format(0.12345) == "0.123"
    assert _format(None) == "None"
    assert _format({"n": 1000, "inner": {"share": 0.5}}) == "n: 1,000\ninner: share: 0.500"

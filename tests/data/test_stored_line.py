"""A stored line is text and payload; what else it holds is left out, and refused where lines are checked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.data.stored_line import check_line, read_line
from hi2.errors import FormatError

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.none() | st.text(), st.none() | st.dictionaries(st.text(), VALUES | st.lists(VALUES)))
def test_text_and_payload_are_read_as_they_were_written(text, payload):
    stored = {key: own for key, own in (("text", text), ("payload", payload)) if own is not None}
    for escaped in (True, False):
        line = json.dumps(stored, ensure_ascii=escaped).encode() + b"\n"
        assert read_line(line) == check_line(line) == stored


def test_other_keys_are_left_out_and_refused_by_a_check():
    line = b'{"text": "a", "id": 3, "score": 1}\n'
    assert read_line(line) == {"text": "a"}
    with pytest.raises(FormatError, match="a key that is not text or payload: 'id'"):
        check_line(line)


@pytest.mark.parametrize(
    "line",
    [b"", b"no JSON", b"[1]", b"3", b'{"payload": [1]}', b'{"text": 1}', b'{"text": null}', b"[" * 100_000, b"\xff"],
)
def test_a_line_that_is_no_object_of_text_and_payload_is_refused(line):
    for read in (read_line, check_line):
        with pytest.raises(FormatError, match=r"stored\.jsonl"):
            read(line + b"\n")


@pytest.mark.parametrize("line", [b'{"payload": {"a": NaN}}\n', b'{"text": "\\udc00"}\n', b'{"text":\n"a"}\n', b"{}"])
def test_what_is_never_written_is_refused_by_a_check_only(line):
    read_line(line)
    with pytest.raises(FormatError, match=r"stored\.jsonl"):
        check_line(line)


@pytest.mark.parametrize("line", [b'{"payload": {"a": [1e999]}}\n', b'{"text": "a", "text": "b"}\n'])
def test_infinite_numbers_and_repeated_keys_are_refused_by_a_check_only(line):
    read_line(line)
    with pytest.raises(FormatError, match=r"the number 1e999|a key twice"):
        check_line(line)

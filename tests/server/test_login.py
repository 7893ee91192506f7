"""The form for a token shows problems as text."""

from __future__ import annotations

from hi2.server.login import login_page


def test_a_problem_is_escaped():
    assert b"&lt;b&gt;" in login_page("<b>")
    assert b"{problem}" not in login_page()

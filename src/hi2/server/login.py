"""How does a person give a token to the page? By a form, which stands alone: no file is served without a token."""

from __future__ import annotations

from html import escape
from pathlib import Path

COOKIE = "hi2_token"
#: Where a browser sends the token.
LOGIN = "/login"
STATIC = Path(__file__).parent / "static"


#: Nothing is loaded from another host, and no script that stands in a document runs.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-cache"}


def login_page(problem: str = "") -> bytes:
    """Return the form that asks for a token."""
    text = (STATIC / "login.html").read_text(encoding="utf-8")
    return text.replace("{problem}", escape(problem)).encode()

"""The page is served with a policy that lets nothing in from elsewhere; a token opens it."""

from __future__ import annotations

import pytest

from hi2.server.tokens import Tokens

TOKEN = "a-token-of-a-person"


def test_the_page_and_its_files(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("name", ["nope.js", "index.html", "login.html", "..%2Fapp.py", "%2e%2e/app.py", ".hidden.css"])
def test_other_files_are_not_served(client, name):
    assert client.get(f"/static/{name}").status_code == 404


def test_a_person_logs_in_with_a_token(make_client, index_path):
    client = make_client(index_path, tokens=Tokens([("read", TOKEN)]))
    asked = client.get("/")
    assert asked.status_code == 401
    assert "<form" in asked.text
    assert "default-src 'none'" in asked.headers["content-security-policy"]
    wrong = client.post("/login", data={"token": "guess"})
    assert (wrong.status_code, "not known" in wrong.text) == (401, True)
    right = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
    assert right.status_code == 303
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/").status_code == 200
    assert client.get("/v1/collections").status_code == 200

"""Rights, sizes, hosts and time are checked for every request; unforeseen errors tell nothing of the machine."""

from __future__ import annotations

import asyncio
import time

import pytest

from hi2.server.collection import Collection
from hi2.server.limits import Limits
from hi2.server.tokens import Tokens

READER, WRITER = "reader-token-0123", "writer-token-0123"
TOKENS = Tokens([("read", READER), ("write", WRITER)])
SEARCH = "/v1/collections/fruit/search"
DOCUMENT = "/v1/collections/fruit/documents/new"


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def guarded(make_client, index_path):
    return make_client(index_path, tokens=TOKENS)


@pytest.mark.parametrize("path", ["/v1/collections", "/metrics", "/ready", "/openapi.json", "/static/page.js", "/nope"])
def test_every_request_but_health_needs_a_token(guarded, path):
    for headers in ({}, bearer("wrong"), {"authorization": READER}, bearer(""), {"authorization": "Basic abc"}):
        answer = guarded.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get("/health").status_code == 200


def test_a_reader_reads_and_a_writer_writes(guarded):
    for token in (READER, WRITER):
        assert guarded.post(SEARCH, json={"text": "fruit"}, headers=bearer(token)).status_code == 200
    body = {"text": "a"}
    assert guarded.put(DOCUMENT, json=body, headers=bearer(READER)).status_code == 403
    assert guarded.delete("/v1/collections/fruit", headers=bearer(READER)).status_code == 403
    assert guarded.put(DOCUMENT, json=body, headers=bearer(WRITER)).status_code == 202


def test_a_large_body_is_refused_however_it_comes(make_client, index_path):
    client = make_client(index_path, limits=Limits(body=1000))
    assert client.post(SEARCH, json={"text": "x" * 2000}).status_code == 413

    def pieces():
        yield b'{"text": "'
        for _ in range(100):
            yield b"x" * 100
        yield b'"}'

    headers = {"content-type": "application/json"}
    assert client.post(SEARCH, content=pieces(), headers=headers).status_code == 413
    lines = {"content-type": "application/x-ndjson"}  # only bulk requests are streams
    assert client.post(SEARCH, content=b"x" * 5000, headers=lines).status_code == 415
    assert client.post("/login", content=b"token=" + b"x" * 5000).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_a_foreign_page_could_send_is_refused(client, kind):
    assert client.post(SEARCH, content=b'{"text": "a"}', headers={"content-type": kind}).status_code == 415


def test_only_known_names_reach_a_server_on_a_loopback_address(make_client, index_path):
    client = make_client(index_path, hosts=frozenset({"localhost", "::1"}))
    for host, status in (("localhost:8000", 200), ("[::1]:80", 200), ("evil.example", 421), ("", 421)):
        assert client.get("/v1/collections", headers={"host": host}).status_code == status


def test_an_unforeseen_error_tells_nothing(client, monkeypatch, index_path, caplog):
    def fail(self):
        raise ZeroDivisionError(f"secret at {index_path}")

    monkeypatch.setattr(Collection, "describe", fail)
    answer = client.get("/v1/collections/fruit")
    assert (answer.status_code, answer.json()) == (500, {"detail": "The server failed to answer; its log says why."})
    assert "secret" in caplog.text


def test_an_answer_that_takes_too_long_is_given_up(make_client, index_path, monkeypatch):
    client = make_client(index_path, limits=Limits(seconds=0.3))
    monkeypatch.setattr(Collection, "describe", lambda self: time.sleep(1))
    begin = time.perf_counter()
    assert client.get("/v1/collections/fruit").status_code == 503
    assert time.perf_counter() - begin < 0.9


def test_answers_carry_headers_that_keep_browsers_safe(client):
    headers = client.get("/health").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in headers


def test_pages_of_other_origins_are_let_in_only_if_asked_for(make_client, index_path):
    client = make_client(index_path, origins=("https://a.example",))
    for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
        assert client.get("/health", headers={"origin": origin}).headers.get("access-control-allow-origin") == allowed


def test_a_request_whose_body_never_comes_is_given_up():
    from hi2.server.admission import Admission
    from hi2.server.guard import Guard
    from hi2.server.metrics import Metrics

    async def app(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    async def run():
        sent = []

        async def receive():
            await asyncio.sleep(10)

        async def send(message):
            sent.append(message)

        guard = Guard(
            app,
            limits=Limits(seconds=0.1),
            metrics=Metrics(),
            tokens=None,
            hosts=None,
            admission=Admission(1),
        )
        await guard({"type": "http", "method": "GET", "path": "/x", "headers": []}, receive, send)
        return sent[0]["status"]

    assert asyncio.run(run()) == 408

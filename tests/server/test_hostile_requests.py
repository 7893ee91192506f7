"""Ten thousand bad requests are refused, tell nothing, and hold up nobody."""

from __future__ import annotations

import http.client
import json
import random
import threading
from pathlib import Path

import httpx
import pytest

WRITER, READER = "a-writer-of-the-tests", "a-reader-of-the-tests"
SECRETS = ("Traceback", "site-packages", "/tmp", 'File "', WRITER, READER, ".hi2")


@pytest.fixture
def server(start_server, index_path, tmp_path):
    (tmp_path / "tokens").write_text(f"write {WRITER}\nread {READER}\n")
    return start_server(
        index_path, "--token-file", tmp_path / "tokens", "--max-body", "20000", "--max-searches", "1000"
    )


def bad_requests(rng):
    """Yield (method, path, headers, body) without end: tokens, sizes, encodings, paths and forms that are wrong."""
    good = {"Authorization": f"Bearer {WRITER}", "Content-Type": "application/json"}
    search = "/v1/collections/fruit/search"
    while True:
        noise = bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
        token = "".join(chr(rng.randrange(33, 126)) for _ in range(rng.randrange(60)))
        yield "POST", search, {**good, "Authorization": f"Bearer {token}"}, b'{"text": "a"}'
        yield "POST", search, {"Content-Type": "application/json", "Authorization": token}, b'{"text": "a"}'
        yield "POST", search, {**good, "Authorization": f"Bearer {WRITER[: rng.randrange(20)]}"}, b'{"text": "a"}'
        yield (
            "PUT",
            "/v1/collections/fruit/documents/x",
            {**good, "Authorization": f"Bearer {READER}"},
            b'{"text": "a"}',
        )
        yield "POST", search, good, noise
        yield "POST", search, good, b'{"text": "' + b"x" * rng.choice([19_990, 25_000, 60_000]) + b'", "k": 0}'
        yield (
            "POST",
            search,
            {**good, "Content-Type": rng.choice(["text/plain", "", "application/xml"])},
            b'{"text": "a"}',
        )
        yield "POST", search, {**good, "Content-Encoding": "gzip"}, noise
        yield "POST", search, good, json.dumps({"text": "a", "filter": "(" * rng.randrange(1, 4000)}).encode()
        yield "POST", search, good, json.dumps({"vector": [1e300] * rng.randrange(1, 400)}).encode()
        yield "POST", search, good, b"[" * rng.randrange(1, 15_000)
        yield "GET", "/" + "%2e%2e/" * rng.randrange(1, 8) + "etc/passwd", good, None
        yield "GET", f"/static/{'../' * rng.randrange(1, 5)}app.py", good, None
        yield "GET", f"/v1/collections/{'%00' * rng.randrange(1, 5)}", good, None
        yield "GET", f"/v1/collections/{'x' * rng.randrange(101, 4000)}/info", good, None
        yield "GET", "/v1/collections/fruit/documents/" + "%ff" * rng.randrange(1, 9), good, None
        yield rng.choice(["TRACE", "PATCH", "DELETE", "PROPFIND"]), search, good, b""
        yield "PUT", f"/v1/collections/n{rng.randrange(10**6)}", good, b'{"dim": 3}'
        yield "GET", "/v1/collections/fruit/facets/" + "a" * rng.randrange(1, 3000), good, None


@pytest.mark.parametrize("n", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_bad_requests_are_refused_and_others_answered(server, n):
    rng = random.Random(0)
    done, failed, answered = threading.Event(), [], []

    def others():
        with httpx.Client(headers={"authorization": f"Bearer {READER}"}) as client:
            while not done.is_set():
                answer = client.post(f"{server.url}/v1/collections/fruit/search", json={"text": "a fruit"})
                answered.append(answer.status_code)

    thread = threading.Thread(target=others)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for (method, path, headers, body), _ in zip(bad_requests(rng), range(n), strict=False):
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read().decode("utf-8", "replace")
        except (http.client.HTTPException, OSError):  # the server closed the connection
            connection.close()
            continue
        if not 400 <= status < 500 or any(secret in text for secret in SECRETS):
            failed.append((method, path[:80], status, text[:200]))
    connection.close()
    done.set()
    thread.join()
    assert failed == []
    assert len(answered) > 10
    assert set(answered) == {200}
    assert server.process.poll() is None
    anonymous = int(
        next(
            line for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines() if "RssAnon" in line
        ).split()[1]
    )
    assert anonymous < 400_000  # kB

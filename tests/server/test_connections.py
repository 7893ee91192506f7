"""Slow and silent clients are closed, and hold nobody up."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import httpx
import pytest


@pytest.fixture
def server(start_server, index_path):
    return start_server(index_path, "--timeout", "2")


@pytest.fixture
def connect(server):
    """Return a function that opens a connection; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))


def test_half_a_request_holds_nobody_up_and_is_closed(server, connect):
    slow = [connect() for _ in range(200)]
    for own in slow[:100]:
        own.sendall(b"POST /v1/collections/fruit/search HTTP/1.1\r\nHost: localhost\r\n")
    head = b"POST /v1/collections/fruit/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for own in slow[100:]:
        own.sendall(head + b'Content-Length: 100\r\n\r\n{"text"')
    begin = time.perf_counter()
    for _ in range(20):
        answer = httpx.post(f"{server.url}/v1/collections/fruit/search", json={"text": "fruit"})
        assert answer.status_code == 200
    assert time.perf_counter() - begin < 5
    own = slow[130]
    assert b"408" in own.recv(1000)  # the body did not come within two seconds
    begin = time.perf_counter()
    assert slow[0].recv(1000) == b""  # nor the headers within ten
    assert time.perf_counter() - begin < 15


def test_headers_have_a_largest_size(connect):
    own = connect()
    own.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
    got = b""
    try:
        for _ in range(200):
            own.sendall(b"X-Long: " + b"x" * 1000 + b"\r\n")
            time.sleep(0.001)
        got = own.recv(1000)
    except OSError:
        got = b"closed"
    assert b"400" in got or got in (b"", b"closed")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/../app.py HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused(server, connect, raw):
    own = connect()
    own.sendall(raw)
    own.settimeout(15)
    got = own.recv(4000)
    assert b"200 OK" not in got
    assert b"Traceback" not in got
    assert httpx.get(f"{server.url}/health").status_code == 200

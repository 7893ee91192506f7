"""A server says that it lives and that it is ready."""

from __future__ import annotations


def test_health_and_ready(client):
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready"}

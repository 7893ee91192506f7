"""The application is ASGI: any server can run it."""

from __future__ import annotations

import asyncio

from hi2.server.app import Service, make_app


def test_the_application_answers_plain_asgi(index_path):
    app = make_app(Service(indexes=(index_path,), hosts=None))
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/health", "raw_path": b"/health", "headers": []}
    asyncio.run(app({**scope, "query_string": b"", "root_path": "", "http_version": "1.1"}, receive, send))
    assert sent[0]["status"] == 200

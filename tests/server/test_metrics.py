"""The server counts requests, times, documents scored, and says what its indexes hold."""

from __future__ import annotations

import re


def value(text, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def test_searches_are_counted(client):
    for _ in range(3):
        client.post("/v1/collections/fruit/search", json={"text": "fruit"})
    client.post("/v1/collections/fruit/search", json={"text": ""})
    client.get("/nope")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    route = "/v1/collections/{name}/search"
    assert value(answer.text, f'hi2_requests_total{{route="{route}",status="200"}}') == 3
    assert value(answer.text, f'hi2_requests_total{{route="{route}",status="400"}}') == 1
    assert value(answer.text, f'hi2_request_seconds_count{{route="{route}"}}') == 4
    assert value(answer.text, "hi2_documents_scored_total") == 18
    assert value(answer.text, "hi2_queries_total") == 3
    assert value(answer.text, 'hi2_segments{collection="fruit"}') == 1
    assert value(answer.text, 'hi2_documents{collection="fruit"}') == 6
    assert value(answer.text, "hi2_queries_waiting") == 0
    assert value(answer.text, "hi2_errors_total") == 0

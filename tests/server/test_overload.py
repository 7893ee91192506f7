"""Twice as many searches as the server answers: it goes on, memory stays flat, and the rest are refused with 429."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import httpx
import pytest

import hi2

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "serve.py"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="needs Debian's package wrk")
def test_a_minute_of_too_much(start_server, corpus, encoder, tmp_path):
    spec = importlib.util.spec_from_file_location("serve", BENCHMARK)
    serve = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(serve)
    hi2.HybridIndex.build(texts=corpus.texts, ids=corpus.ids, encoder=encoder, path=tmp_path / "docs.hi2").close()
    bodies = tmp_path / "bodies"
    bodies.write_text("".join(json.dumps({"text": text, "k": 10}) + "\n" for text in corpus.query_texts))
    server = start_server(tmp_path / "docs.hi2")
    url = f"{server.url}/v1/collections/docs/search"
    capacity = serve.load(url, bodies, 5)["per second"]
    serve.load(url, bodies, 5, connections=256, pause=1000 * 256 / (2 * capacity))
    before = serve.memory(server.process)
    found = serve.load(url, bodies, 50, connections=256, pause=1000 * 256 / (3 * capacity))
    assert server.process.poll() is None
    assert serve.memory(server.process) < before + 60
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'status="200"' in metrics
    assert 'status="5' not in metrics
    assert found["refused"] > 0
    assert 'status="429"' in metrics
    assert httpx.post(url, json={"text": "a list"}).status_code == 200

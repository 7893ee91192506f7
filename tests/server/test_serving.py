"""A real server answers, ends what is running when it is told to stop, and loses nothing that it acknowledged."""

from __future__ import annotations

import json
import os
import threading
import time

import httpx
import pytest

import hi2

SEARCH = "/v1/collections/fruit/search"


def test_a_server_answers_and_stops(start_server, index_path):
    server = start_server(index_path)
    assert httpx.post(server.url + SEARCH, json={"text": "fruit"}).json()["hits"][0]["id"] in ("apple", "pear")
    server.stop()
    assert server.process.returncode in (0, -15, 143)
    hi2.HybridIndex.open(index_path, "w").close()  # the lock is free


def test_what_is_running_is_finished_at_the_end(start_server, index_path):
    server = start_server(index_path)
    answers = []

    def write():
        rows = "".join(json.dumps({"id": f"d{i}", "text": f"number{i}"}) + "\n" for i in range(3000))
        url = f"{server.url}/v1/collections/fruit/documents/bulk?wait=commit"
        answers.append(httpx.post(url, content=rows, headers={"content-type": "application/x-ndjson"}, timeout=60))

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.3)
    server.stop()
    thread.join()
    assert answers[0].json()["n"] == 3000
    assert len(hi2.HybridIndex.open(index_path)) == 3006


def test_a_full_disk_is_507_and_the_last_commit_stands(start_server, index_path):
    server = start_server(index_path, largest_file=200_000)
    url = f"{server.url}/v1/collections/fruit/documents"
    assert httpx.put(f"{url}/small?wait=commit", json={"text": "a small one"}).status_code == 200
    large = httpx.put(f"{url}/large?wait=commit", json={"text": "a large one " + "x" * 500_000})
    assert large.status_code == 507
    assert "disk is full" in large.json()["detail"]
    assert httpx.get(f"{url}/large").status_code == 404
    assert httpx.get(f"{url}/small").json()["text"] == "a small one"
    assert httpx.put(f"{url}/later?wait=commit", json={"text": "a later one"}).status_code == 200
    server.stop()
    index = hi2.HybridIndex.open(index_path)
    index.verify()
    assert {"small", "later"} <= set(index.ids())
    assert "large" not in index


def crash(start_server, path, rounds, seed):
    """Kill a server during bulk writes ``rounds`` times; return the ids that were acknowledged."""
    acknowledged: list[str] = []
    for number in range(rounds):
        server = start_server(path)
        stop = threading.Event()

        def write(server=server, stop=stop, number=number):
            at = 0
            while not stop.is_set():
                ids = [f"r{number}-{at + i}" for i in range(20)]
                rows = "".join(json.dumps({"id": id, "text": f"document {id}"}) + "\n" for id in ids)
                url = f"{server.url}/v1/collections/fruit/documents/bulk?wait=commit"
                try:
                    answer = httpx.post(url, content=rows, headers={"content-type": "application/x-ndjson"}, timeout=30)
                except httpx.HTTPError:
                    return
                if answer.status_code == 200:
                    acknowledged.extend(ids)
                at += 20

        threads = [threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        time.sleep(0.15 + (number * seed % 7) * 0.05)
        server.kill()
        stop.set()
        for thread in threads:
            thread.join()
    return acknowledged


#: HI2_KILLS=100 kills a server that often in the slow run.
KILLS = int(os.environ.get("HI2_KILLS", "20"))


@pytest.mark.parametrize("rounds", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_no_acknowledged_document_is_lost_by_a_kill(start_server, index_path, rounds):
    acknowledged = crash(start_server, index_path, rounds, seed=3)
    index = hi2.HybridIndex.open(index_path)
    index.verify()
    ids = index.ids()
    assert len(acknowledged) >= rounds
    assert set(acknowledged) <= set(ids)
    assert len(set(ids)) == len(ids)
    assert len(index.search(None, "document", k=5)) == 5

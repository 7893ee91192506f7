"""A bulk request streams lines: good ones are stored in batches, bad ones are counted with their reasons."""

from __future__ import annotations

import json

import hi2
from hi2.server import bulk as bulk_module

URL = "/v1/collections/fruit/documents/bulk"
NDJSON = {"content-type": "application/x-ndjson"}


def lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_many_documents_are_stored_durably(client, index_path, monkeypatch):
    monkeypatch.setattr(bulk_module, "BATCH", 70)
    rows = [{"id": f"d{i}", "text": f"number{i}", "payload": {"n": i}} for i in range(500)]
    answer = client.post(f"{URL}?wait=commit", content=lines(rows), headers=NDJSON)
    assert (answer.status_code, answer.json()) == (200, {"n": 500, "durable": True, "n_refused": 0, "refused": []})
    opened = hi2.HybridIndex.open(index_path)
    assert len(opened) == 506
    assert opened.get("d499")["text"] == "number499"


def test_a_body_may_come_in_pieces_of_any_size(client):
    whole = lines([{"id": f"d{i}", "text": "pièce"} for i in range(50)])

    def pieces():
        for at in range(0, len(whole), 7):
            yield whole[at : at + 7]

    assert client.post(URL, content=pieces(), headers=NDJSON).json()["n"] == 50


def test_bad_lines_are_refused_with_their_numbers_and_the_others_stored(client):
    rows = [
        {"id": "a", "text": "a", "payload": {"n": 1}},
        {"id": "b", "text": "b", "payload": {"n": "x"}},
        {"text": "c"},
    ]
    body = lines(rows) + b"not json\n\n" + lines([{"id": "d", "text": "d"}, {"id": "d", "text": "the later stands"}])
    answer = client.post(f"{URL}?wait=commit", content=body, headers=NDJSON).json()
    assert (answer["n"], answer["n_refused"]) == (3, 3)
    assert sorted(said.split(":")[0] for said in answer["refused"]) == ["line 2", "line 3", "line 4"]
    assert client.get("/v1/collections/fruit/documents/d").json()["text"] == "the later stands"
    assert client.get("/v1/collections/fruit/documents/b").status_code == 404


def test_a_line_has_a_largest_length(make_client, index_path):
    from hi2.server.limits import Limits

    client = make_client(index_path, limits=Limits(body=1000))
    assert client.post(URL, content=lines([{"id": "a", "text": "x" * 2000}]), headers=NDJSON).status_code == 413
    assert (
        client.post(URL, content=lines([{"id": str(i), "text": "x" * 500} for i in range(9)]), headers=NDJSON).json()[
            "n"
        ]
        == 9
    )


def test_an_empty_body_stores_nothing(client):
    assert client.post(URL, content=b"", headers=NDJSON).json()["n"] == 0

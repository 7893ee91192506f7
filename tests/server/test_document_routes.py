"""Documents come in and out over HTTP; what was acknowledged with wait=commit is durable and searchable."""

from __future__ import annotations

import pytest

import hi2

URL = "/v1/collections/fruit/documents"


def test_a_document_is_read(client):
    assert client.get(f"{URL}/apple").json() == {
        "id": "apple",
        "text": "A red apple is a fruit",
        "payload": {"kind": "food", "n": 0, "author": {"name": "a0"}},
    }
    assert client.get(f"{URL}/plum").status_code == 404


def test_a_document_that_is_put_is_durable_and_found(client, index_path):
    answer = client.put(f"{URL}/plum?wait=commit", json={"text": "A blue plum", "payload": {"n": 7}})
    assert (answer.status_code, answer.json()) == (200, {"n": 1, "durable": True})
    assert hi2.HybridIndex.open(index_path).get("plum")["text"] == "A blue plum"
    found = client.post("/v1/collections/fruit/search", json={"text": "blue plum", "k": 1}).json()["hits"]
    assert found[0]["id"] == "plum"


def test_without_waiting_nothing_is_promised(client):
    answer = client.put(f"{URL}/plum", json={"text": "A blue plum"})
    assert (answer.status_code, answer.json()) == (202, {"n": 1, "durable": False})


def test_an_id_may_have_any_characters(client):
    for id in ("a/b", "a b", "ü", "100%", "a?b", "a#b"):
        path = f"{URL}/{__import__('urllib.parse').parse.quote(id, safe='')}"
        assert client.put(f"{path}?wait=commit", json={"text": "odd"}).status_code == 200
        assert client.get(path).json()["id"] == id
        assert client.delete(f"{path}?wait=commit").json() == {"n": 1, "durable": True}


def test_several_documents_at_once(client):
    documents = [{"id": f"d{i}", "text": f"document number{i}", "payload": {"n": i}} for i in range(20)]
    assert client.post(f"{URL}?wait=commit", json={"documents": documents}).json()["n"] == 20
    assert client.get("/v1/collections/fruit").json()["documents"] == 26
    assert client.post(URL, json={"documents": documents * 20}).status_code == 400


def test_a_vector_may_be_given_or_missing(client, encoder):
    vector = encoder(["a boat"])[0].tolist()
    assert client.put(f"{URL}/boat?wait=commit", json={"vector": vector, "text": "xyzzy"}).status_code == 200
    found = client.post("/v1/collections/fruit/search", json={"text": "ship", "k": 1}).json()["hits"]
    assert found[0]["id"] == "boat"
    assert client.put(f"{URL}/bad", json={"vector": [1.0], "text": "x"}).status_code == 400


def test_a_patch_changes_some_keys_of_a_payload(client):
    assert client.patch(f"{URL}/apple?wait=commit", json={"payload": {"n": 9}}).status_code == 200
    assert client.get(f"{URL}/apple").json()["payload"] == {"kind": "food", "n": 9, "author": {"name": "a0"}}
    assert client.get(f"{URL}/apple").json()["text"] == "A red apple is a fruit"
    assert client.patch(f"{URL}/plum", json={"payload": {"n": 9}}).status_code == 404
    refused = client.patch(f"{URL}/apple", json={"payload": {"n": "nine"}})
    assert refused.status_code == 400
    assert "'n' is a string" in refused.json()["detail"]


def test_documents_are_deleted_by_id_or_by_filter(client):
    assert client.delete(f"{URL}/apple?wait=commit").json()["n"] == 1
    assert client.delete(f"{URL}/apple").status_code == 404
    assert client.delete(URL, params={"filter": "kind == 'food'", "wait": "commit"}).json()["n"] == 2
    assert client.get("/v1/collections/fruit").json()["documents"] == 3
    assert client.delete(URL).status_code == 422
    assert client.delete(URL, params={"filter": "nope == 1"}).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("put", "/a", {"text": 3}),
        ("put", "/a", {"unknown": 1}),
        ("put", "/a?wait=forever", {"text": "a"}),
        ("post", "", {"documents": []}),
        ("post", "", {"documents": [{"text": "no id"}]}),
        ("post", "", {"documents": [{"id": True, "text": "a"}]}),
        ("post", "", {"documents": [{"id": -1, "text": "a"}]}),
        ("patch", "/apple", {"payload": {}}),
    ],
)
def test_bad_changes_are_refused(client, method, path, body):
    assert getattr(client, method)(f"{URL}{path}", json=body).status_code == 422


def test_a_server_that_is_read_only_changes_nothing(make_client, index_path):
    client = make_client(index_path, read_only=True)
    assert client.put(f"{URL}/a", json={"text": "a"}).status_code == 403
    assert (
        client.post(f"{URL}/bulk", content=b"{}", headers={"content-type": "application/x-ndjson"}).status_code == 403
    )
    assert client.get("/v1/collections/fruit").json()["writable"] is False


def test_another_writer_is_named_as_the_reason(client, index_path):
    with hi2.HybridIndex.open(index_path, "w"):
        answer = client.put(f"{URL}/a", json={"text": "a"})
    assert answer.status_code == 409
    assert "Another process writes" in answer.json()["detail"]
    assert client.put(f"{URL}/a", json={"text": "a"}).status_code == 202

"""Collections are listed, made, described and dropped; those given by path cannot be dropped over HTTP."""

from __future__ import annotations

import pytest

import hi2


def test_collections_are_listed(client):
    (own,) = client.get("/v1/collections").json()["collections"]
    assert (own["name"], own["documents"], own["dim"], own["encoder"]) == ("fruit", 6, 256, "StaticEncoder")
    assert own["columns"] == {"kind": "str", "n": "int", "author.name": "str"}


def test_a_collection_begins_empty_grows_and_is_dropped(client, tmp_path):
    assert client.put("/v1/collections/notes", json={"encoder": "static"}).status_code == 201
    assert client.post("/v1/collections/notes/search", json={"text": "anything"}).json() == {"hits": [], "n_scored": 0}
    client.put("/v1/collections/notes/documents/1?wait=commit", json={"text": "the first note"})
    assert client.post("/v1/collections/notes/search", json={"text": "note"}).json()["hits"][0]["id"] == "1"
    assert (tmp_path / "made" / "notes.hi2").is_dir()
    assert client.delete("/v1/collections/notes").status_code == 204
    assert not list((tmp_path / "made").iterdir())
    assert client.get("/v1/collections/notes").status_code == 404


def test_collections_of_the_folder_are_served_after_a_restart(make_client, tmp_path):
    first = make_client(folder=tmp_path / "made")
    first.put("/v1/collections/v", json={"dim": 3, "metric": "cosine", "columns": {"x": "other"}})
    second = make_client(folder=tmp_path / "made")
    assert [own["name"] for own in second.get("/v1/collections").json()["collections"]] == ["v"]
    assert second.get("/v1/collections/v").json()["columns"] == {"x": "other"}


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("fruit", {"dim": 3}, 409),
        ("new", {}, 400),
        ("new", {"dim": 3, "encoder": "static"}, 400),
        ("new", {"encoder": "nope"}, 400),
        ("new", {"dim": 0}, 422),
        ("new", {"dim": 3, "metric": "l2"}, 422),
        ("new", {"dim": 3, "columns": {"a": "nope"}}, 400),
        (".hidden", {"dim": 3}, 400),
        ("a%2Fb", {"dim": 3}, 404),
        ("..", {"dim": 3}, 404),
        ("x" * 200, {"dim": 3}, 422),
    ],
)
def test_bad_collections_are_refused(client, name, body, status, tmp_path):
    answer = client.put(f"/v1/collections/{name}", json=body)
    assert answer.status_code in ((status, 405) if status == 404 else (status,))
    assert not list((tmp_path / "made").iterdir())


def test_what_was_given_by_its_path_is_not_dropped(client, index_path):
    answer = client.delete("/v1/collections/fruit")
    assert answer.status_code == 409
    assert str(index_path) not in answer.text
    assert index_path.is_dir()


def test_without_a_folder_none_are_made(make_client, index_path):
    assert make_client(index_path).put("/v1/collections/a", json={"dim": 3}).status_code == 409


def test_info_says_what_is_in_a_collection_but_not_where_it_is(client):
    found = client.get("/v1/collections/fruit/info").json()
    assert (found["n_docs"], found["health"]["segments"]) == (6, 1)
    assert found["bytes"]["total"] > 0
    assert "path" not in found
    assert found["parts"]["encoder"] == "StaticEncoder"


def test_facets_count_values(client):
    url = "/v1/collections/fruit/facets"
    assert client.get(f"{url}/kind").json() == {"values": [["food", 3], ["other", 3]]}
    assert client.get(f"{url}/kind", params={"filter": "n < 2"}).json() == {"values": [["food", 2]]}
    assert client.get(f"{url}/author.name", params={"limit": 1}).json() == {"values": [["a0", 3]]}
    assert client.get(f"{url}/nope").status_code == 400


def test_a_column_may_have_any_name(client):
    body = {"text": "x", "payload": {"a/b": 1, "c.d": 2}}
    client.put("/v1/collections/fruit/documents/x?wait=commit", json=body)
    assert client.get("/v1/collections/fruit/facets/a%2Fb").json() == {"values": [[1, 1]]}
    assert client.get("/v1/collections/fruit/facets/c.d").json() == {"values": [[2, 1]]}


def test_a_commit_of_another_process_is_seen(client, index_path):
    with hi2.HybridIndex.open(index_path, "w") as index:
        index.delete("apple")
        index.commit()
    import time

    for _ in range(40):
        if client.get("/v1/collections/fruit").json()["documents"] == 5:
            return
        time.sleep(0.1)
    pytest.fail("the reader did not follow")

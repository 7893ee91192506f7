"""A search over HTTP is the search of the index: one query or many, with its options, its limits and its reasons."""

from __future__ import annotations

import pytest

import hi2

URL = "/v1/collections/fruit"


def search(client, **body):
    return client.post(f"{URL}/search", json=body)


def test_a_text_is_answered_as_the_index_answers_it(client, index_path):
    answer = search(client, text="a quick automobile", k=3)
    assert answer.status_code == 200
    hits = hi2.HybridIndex.open(index_path).search("a quick automobile", k=3)
    found = answer.json()
    assert found["n_scored"] == hits.n_scored
    assert [hit["id"] for hit in found["hits"]] == hits.ids.tolist()
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(hits.scores.tolist())
    assert [hit["dense"] for hit in found["hits"]] == pytest.approx(hits.dense.tolist())
    first = found["hits"][0]
    assert (first["id"], first["text"], first["payload"]["n"]) == ("car", "The fast car drives on the road", 2)


def test_vectors_texts_and_both(client, index_path, encoder):
    index = hi2.HybridIndex.open(index_path)
    vector = encoder(["a fruit"])[0]
    for body, asked in (
        ({"vector": vector.tolist()}, (vector,)),
        ({"vector": vector.tolist(), "text": "pear"}, (vector, "pear")),
        ({"text": "pear", "words": True}, (None, "pear")),
    ):
        found = search(client, **body).json()["hits"]
        assert [hit["id"] for hit in found] == index.search(*asked).ids.tolist()


def test_several_queries_have_an_answer_each_in_their_order(client, encoder):
    queries = [
        {"text": "fast car"},
        {"vector": encoder(["bread"])[0].tolist()},
        {"text": "a fruit", "filter": "n == 1"},
        {"text": "train"},
    ]
    results = search(client, queries=queries, k=1).json()["results"]
    assert [found["hits"][0]["id"] for found in results] == ["car", "bread", "pear", "train"]
    shared = search(client, queries=[{"text": "fruit"}, {"text": "car"}], filter="kind == 'other'", k=1).json()
    assert [found["hits"][0]["payload"]["kind"] for found in shared["results"]] == ["other", "other"]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"filter": "kind == 'food'"}, {"apple", "pear", "bread"}),
        ({"group_by": "kind"}, None),
        ({"lexical": 0.0}, None),
        ({"clusters": 1}, None),
        ({"offset": 2, "k": 2}, None),
        ({"min_score": 0.2}, None),
        ({"syntax": True}, None),
    ],
)
def test_options_are_those_of_the_index(client, index_path, options, ids):
    found = search(client, text="a fruit", **options).json()["hits"]
    hits = hi2.HybridIndex.open(index_path).search("a fruit", **options)
    assert [hit["id"] for hit in found] == hits.ids.tolist()
    assert ids is None or {hit["id"] for hit in found} <= ids
    if "group_by" in options:
        assert [hit["group"] for hit in found] == hits.groups.tolist()


def test_a_profile_is_used(tmp_path, make_client, index_path):
    assert search(make_client(index_path), text="a fruit", profile="nope").status_code == 400


def test_hits_bring_what_is_asked_for(client):
    (hit,) = search(client, text="fruit", k=1, include=["snippet"], explain=True).json()["hits"]
    assert "text" not in hit
    assert "payload" not in hit
    assert "**fruit**" in hit["snippet"]
    assert "was found at rank 1" in hit["explanation"]["text"]
    assert hit["explanation"]["outcome"] == "found"


def test_a_document_is_explained(client):
    answer = client.post(f"{URL}/explain", json={"text": "fast car", "id": "train", "against": "car", "k": 1}).json()
    assert "car" in answer["text"]
    assert answer["explanation"]["outcome"] in ("outscored", "no shared list", "found")
    assert client.post(f"{URL}/explain", json={"text": "a", "id": 3}).status_code == 400
    assert client.post(f"{URL}/explain", json={"text": "a", "id": "car", "filter": "n == 1"}).status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 400, "'text'"),
        ({"text": "   "}, 400, "'text'"),
        ({"text": "a", "k": 0}, 422, "k"),
        ({"text": "a", "k": 100_000}, 400, "at most 1000"),
        ({"text": "a", "k": 900, "offset": 200}, 400, "at most 1000"),
        ({"text": "a", "filter": "x" * 5000}, 400, "at most 4096"),
        ({"text": "a", "filter": "nope == 1"}, 400, "nope"),
        ({"text": "a", "filter": "n =="}, 400, "filter"),
        ({"text": "a", "unknown": 1}, 422, "unknown"),
        ({"text": 3}, 422, "text"),
        ({"vector": [1.0, 2.0]}, 400, "dimension"),
        ({"vector": ["a"]}, 422, "vector"),
        ({"text": "a", "lexical": -1}, 400, "lexical"),
        ({"text": "a", "queries": [{"text": "b"}]}, 400, "not both"),
        ({"queries": []}, 422, "queries"),
        ({"queries": [{"text": "a"}] * 300}, 400, "at most 256"),
        ({"text": "a", "group_by": "nope"}, 400, "group_by"),
    ],
)
def test_bad_requests_say_what_is_wrong(client, body, status, said):
    answer = search(client, **body)
    assert answer.status_code == status
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"text": "\\ud800"}'])
def test_what_is_no_json_object_is_refused(client, body):
    answer = client.post(f"{URL}/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)


def test_a_collection_that_is_not_there(client):
    assert client.post("/v1/collections/nope/search", json={"text": "a"}).status_code == 404


def test_an_infinite_number_is_refused(client):
    text = '{"vector": [' + ",".join(["1e999"] * 256) + "]}"
    answer = client.post(f"{URL}/search", content=text, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)

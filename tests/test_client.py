"""A client has the search of an index: the same hits from the same arguments, one query or many, sync and async."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from typing import ClassVar

import numpy as np
import pytest

import hi2
from served import Server

pytest.importorskip("fastapi", reason="needs the extra 'server'")
pytest.importorskip("httpx", reason="needs the extra 'server'")

TEXTS = ["a red apple", "a green pear", "the fast car", "the slow train"]
IDS = ["apple", "pear", "car", "train"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    payload = [{"n": i, "kind": "food" if i < 2 else "other"} for i in range(4)]
    encoder = hi2.StaticEncoder()
    for name in ("fruit", "other"):
        own = {"texts": TEXTS, "ids": IDS, "payload": payload, "encoder": encoder, "path": folder / f"{name}.hi2"}
        hi2.HybridIndex.build(**own).close()
    server = Server(folder / "fruit.hi2", folder / "other.hi2")
    yield server.url, folder / "fruit.hi2"
    server.kill()


@pytest.fixture
def client(served):
    with hi2.Client(f"{served[0]}/v1/collections/fruit") as own:
        yield own


@pytest.fixture
def index(served):
    return hi2.HybridIndex.open(served[1])


def same(ours, theirs):
    assert ours.ids.tolist() == theirs.ids.tolist()
    assert np.allclose(ours.scores, theirs.scores)
    assert np.array_equal(np.asarray(ours.n_scored), np.asarray(theirs.n_scored))
    for name in ("dense", "lexical", "groups"):
        own, other = getattr(ours, name), getattr(theirs, name)
        assert (own is None) == (other is None), name
        if own is not None:
            assert own.tolist() == other.tolist() if name == "groups" else np.allclose(own, other)


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        (("a quick automobile",), {}),
        (("fruit", None), {"k": 2, "filter": "kind == 'food'"}),
        ((None, "pear"), {}),
        ((["a car", "a pear"],), {"k": 3}),
        ((None, ["car", "pear"]), {"k": 3}),
        ((["a car", "a pear"],), {"k": 4, "filters": [None, "n == 1"]}),
        (("fruit",), {"group_by": "kind"}),
        (("fruit",), {"offset": 1, "k": 2, "lexical": 0.0}),
        (("+fast car",), {"syntax": True}),
        (("car",), {"min_score": 0.3}),
        (("car",), {"clusters": 1, "terms": 1, "per_doc": 2, "refine": 2}),
        (("car",), {"budget": 2}),
        (("car",), {"adaptive": 0.1}),
    ],
)
def test_hits_are_those_of_the_index(client, index, asked, options):
    same(client.search(*asked, **options), index.search(*asked, **options))
    same(asyncio.run(client.asearch(*asked, **options)), index.search(*asked, **options))


def test_connections_are_kept_inside_a_block(served, index):
    async def ask():
        async with hi2.Client(served[0], "fruit") as client:
            return await asyncio.gather(*(client.asearch("a car", k=2) for _ in range(20)))

    for hits in asyncio.run(ask()):
        same(hits, index.search("a car", k=2))


def test_vectors_alone_and_with_texts(client, index):
    vectors = hi2.StaticEncoder()(["a boat", "a pear"])
    for asked in ((vectors[0],), (vectors[0], "pear"), (vectors,), (vectors, ["car", None])):
        same(client.search(*asked, k=3), index.search(*asked, k=3))


def test_hits_are_documents(client, index):
    hit = client.search("fast car", k=1)[0]
    own = index.search("fast car", k=1)[0]
    assert (hit.id, hit.text, hit.payload, hit.snippet) == (own.id, own.text, own.payload, own.snippet)
    assert "**fast**" in hit.snippet
    assert "rank 1" in str(client.search("fast car", k=1).explain(0))
    assert "car" in str(client.explain("fast car", id="train", against="car"))
    narrow = {"clusters": 1, "terms": 0, "k": 1}
    assert str(client.search("fast car", **narrow).explain(0)) == str(index.search("fast car", **narrow).explain(0))
    assert str(client.explain("fast car", id="train", **narrow)) == str(index.explain("fast car", id="train", **narrow))


def test_documents_are_changed(served):
    with hi2.Client(served[0], "other") as client:
        assert client.upsert(texts=["a blue plum"], ids=["plum"], payload=[{"n": 9}]) == 1
        assert client.search("plum", k=1)[0].id == "plum"
        client.update("plum", payload={"n": 10})
        assert client.get("plum")["payload"] == {"n": 10}
        assert client.facet("kind") == {"food": 2, "other": 2}
        assert client.delete("plum") == 1
        assert client.get("plum", None) is None
        with pytest.raises(KeyError, match="no document"):
            client.get("plum")
        assert client.delete(filter="n == 3") == 1
        assert client.info()["n_docs"] == 3
        with pytest.raises(hi2.InvalidParameter, match="1 documents were refused"):
            client.upsert(texts=["x"], ids=["x"], payload=[{"n": "text"}])


@pytest.mark.parametrize("url", ["", "fruit", "ftp://a", 3, "http://"])
def test_bad_addresses_are_refused(url):
    with pytest.raises(hi2.InvalidParameter, match="'url'"):
        hi2.Client(url)


def test_a_server_with_several_collections_wants_a_name(served):
    with pytest.raises(hi2.InvalidParameter, match="one of fruit, other"):
        hi2.Client(served[0])


def test_bad_arguments_are_refused_as_by_an_index(client):
    for call, said in (
        (lambda: client.search("a", k=0), "k"),
        (lambda: client.search("a", filter="nope == 1"), "nope"),
        (lambda: client.search("a", filter=["apple"]), "'filter'"),
        (lambda: client.search([1.0, 2.0]), "dimension"),
        (lambda: client.search(["a", "b"], ["c", "d"]), "'vectors'"),
    ):
        with pytest.raises(hi2.InvalidParameter, match=said):
            call()


class Busy(http.server.BaseHTTPRequestHandler):
    """Refuses the first requests, breaks one connection, then answers."""

    answers: ClassVar[list[int]] = []

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        status = self.answers.pop(0) if self.answers else 200
        if status == 0:
            self.close_connection = True
            self.connection.close()
            return
        body = json.dumps({"hits": [], "n_scored": 7} if status == 200 else {"detail": "busy"}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def busy(monkeypatch):
    monkeypatch.setattr("hi2.client._FIRST_PAUSE", 0.001)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_busy_server_is_asked_again(busy, capsys):
    with hi2.Client(busy, "a") as client:
        Busy.answers = [429, 503, 429]
        assert client.search("x").n_scored == 7
        Busy.answers = [429, 503]
        assert asyncio.run(client.asearch("x")).n_scored == 7
        Busy.answers = [429] * 20
        with pytest.raises(hi2.Error, match="busy"):
            client.search("x")
        Busy.answers = [400, 200]
        with pytest.raises(hi2.InvalidParameter):
            client.search("x")
        Busy.answers = []


def test_a_server_that_is_gone_is_named(monkeypatch):
    monkeypatch.setattr("hi2.client._FIRST_PAUSE", 0.001)
    with hi2.Client("http://127.0.0.1:9", "a", retries=2) as client, pytest.raises(hi2.Error, match="does not answer"):
        client.search("x")

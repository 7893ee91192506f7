"""A small index behind the application of the server, without a socket; and real servers in processes of their own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import hi2
from served import Server

#: Without the extra 'server' nothing here can be imported; tests/cli/test_serve.py says so.
collect_ignore_glob = [] if all(find_spec(name) for name in ("fastapi", "httpx")) else ["test_*.py"]

TEXTS = [
    "A red apple is a fruit",
    "A green pear is a fruit too",
    "The fast car drives on the road",
    "The slow train leaves the station",
    "Invoice KX-4411 is unpaid",
    "Bread is baked with flour and water",
]
IDS = ["apple", "pear", "car", "train", "invoice", "bread"]
PAYLOAD = [{"kind": "food" if i in (0, 1, 5) else "other", "n": i, "author": {"name": f"a{i % 2}"}} for i in range(6)]


@pytest.fixture(scope="session")
def encoder():
    return hi2.StaticEncoder()


@pytest.fixture
def index_path(tmp_path, encoder):
    path = tmp_path / "fruit.hi2"
    hi2.HybridIndex.build(texts=TEXTS, ids=IDS, payload=PAYLOAD, encoder=encoder, path=path).close()
    return path


@pytest.fixture
def make_client(encoder):
    """Return a function that makes a client of an application; what it opened is closed at the end."""
    from contextlib import ExitStack

    from starlette.testclient import TestClient

    from hi2.server.app import Service, make_app

    with ExitStack() as stack:

        def make(*indexes, raise_errors=False, **options):
            options.setdefault("hosts", None)
            service = Service(indexes=tuple(indexes), encoders={"static": encoder}, **options)
            return stack.enter_context(TestClient(make_app(service), raise_server_exceptions=raise_errors))

        yield make


@pytest.fixture
def client(make_client, index_path, tmp_path):
    return make_client(index_path, folder=tmp_path / "made")


@pytest.fixture
def start_server():
    started = []

    def start(*arguments, **options):
        started.append(Server(*arguments, **options))
        return started[-1]

    yield start
    for server in started:
        server.kill()

"""A small index behind the application of the server, without a socket; and real servers in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

import hi2

pytest.importorskip("fastapi", reason="needs the extra 'server'")
pytest.importorskip("httpx", reason="needs the extra 'server'")

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


class Server:
    """A server in a process of its own."""

    def __init__(self, *arguments, port=0, environment=None):
        command = [sys.executable, "-m", "hi2.cli", "serve", *map(str, arguments), "--port", str(port)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"hi2 serves (http://\S+)/", line):
                self.url = found[1]
                self.port = int(self.url.rsplit(":", 1)[1])
                return
        raise AssertionError("".join(self.said))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self.process.stderr.closed:
            self.process.stderr.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture
def start_server():
    started = []

    def start(*arguments, **options):
        started.append(Server(*arguments, **options))
        return started[-1]

    yield start
    for server in started:
        server.kill()

"""The OpenAPI document describes every route, and no input that fits it makes the server fail."""

from __future__ import annotations

import pytest


def test_the_document_names_all_routes(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {(path, method) for path, own in paths.items() for method in own} == {
        ("/health", "get"),
        ("/ready", "get"),
        ("/metrics", "get"),
        ("/v1/collections", "get"),
        ("/v1/collections/{name}", "get"),
        ("/v1/collections/{name}", "put"),
        ("/v1/collections/{name}", "delete"),
        ("/v1/collections/{name}/info", "get"),
        ("/v1/collections/{name}/facets/{column}", "get"),
        ("/v1/collections/{name}/search", "post"),
        ("/v1/collections/{name}/explain", "post"),
        ("/v1/collections/{name}/documents", "post"),
        ("/v1/collections/{name}/documents", "delete"),
        ("/v1/collections/{name}/documents/bulk", "post"),
        ("/v1/collections/{name}/documents/{id}", "get"),
        ("/v1/collections/{name}/documents/{id}", "put"),
        ("/v1/collections/{name}/documents/{id}", "patch"),
        ("/v1/collections/{name}/documents/{id}", "delete"),
    }


def test_the_search_of_the_document_can_be_read(client):
    document = client.get("/openapi.json").json()
    body = document["paths"]["/v1/collections/{name}/search"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert {"text", "vector", "queries", "k", "filter", "explain"} <= set(schema["properties"])
    assert "$defs" not in str(schema)


@pytest.mark.slow
def test_no_input_that_fits_the_document_makes_the_server_fail(start_server, index_path, tmp_path):
    """Schemathesis makes requests from the document."""
    import subprocess
    import sys

    pytest.importorskip("schemathesis", reason="needs the extra 'dev'")
    server = start_server(index_path, "--folder", tmp_path / "made", "--max-searches", "1000")
    command = ["run", f"{server.url}/openapi.json", "--checks", "not_a_server_error", "--max-examples", "40"]
    command += ["--phases", "examples,fuzzing", "--seed", "1", "--request-timeout", "20"]
    script = (
        "import schemathesis\n"
        "from schemathesis.cli import schemathesis as run\n"
        "@schemathesis.serializer('application/x-ndjson')\n"
        "def lines(context, value):\n"
        "    return str(value).encode('utf-8', 'replace')\n"
        "run()\n"
    )
    whole = [sys.executable, "-c", script, *command]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]

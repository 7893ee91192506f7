"""An MCP server over an index: its tools, their limits, and a real process."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest

pytest.importorskip("mcp", reason="needs the extra 'mcp'")

from mcp import Client, StdioServerParameters

import hi2
from hi2.integrations.mcp import MAX_CHARACTERS, MAX_RESULTS, make_server

TEXTS = {"apple": "a red apple", "pear": "a green pear", "car": "the fast car"}


@pytest.fixture(scope="module")
def index():
    return hi2.HybridIndex.build(
        texts=list(TEXTS.values()),
        ids=list(TEXTS),
        payload=[{"n": i} for i in range(3)],
        encoder=hi2.StaticEncoder(),
    )


def called(server, *calls):
    """The results of tool calls over one session."""

    async def session():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def answer(server, name, arguments):
    (result,) = called(server, (name, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def test_the_tools_are_described_with_their_limits(index):
    async def listed():
        async with Client(make_server(index, "fruits")) as client:
            return client.server_info, (await client.list_tools()).tools

    info, tools = asyncio.run(listed())
    assert (info.name, info.version) == ("fruits", hi2.__version__)
    assert [tool.name for tool in tools] == ["search", "get", "explain"]
    for tool in tools:
        assert tool.description
        assert tool.output_schema
        assert tool.annotations.read_only_hint
    k = tools[0].input_schema["properties"]["k"]
    assert (k["minimum"], k["maximum"], k["default"]) == (1, MAX_RESULTS, 10)


def test_search_finds_documents_with_snippets(index):
    found = answer(make_server(index), "search", {"query": "an apple", "k": 2})
    assert found["n_documents"] == 3
    assert found["hits"][0] | {"score": 0} == {
        "id": "apple",
        "score": 0,
        "snippet": "a red **apple**",
        "payload": {"n": 0},
    }
    filtered = answer(make_server(index), "search", {"query": "an apple", "filter": "n >= 1"})
    assert [hit["id"] for hit in filtered["hits"]] == ["pear", "car"]


def test_get_returns_documents_in_the_order_of_the_ids(index):
    documents = answer(make_server(index), "get", {"ids": ["car", "plum", "apple"]})["documents"]
    assert [(own["id"], own["found"], own["text"]) for own in documents] == [
        ("car", True, "the fast car"),
        ("plum", False, None),
        ("apple", True, "a red apple"),
    ]
    assert documents[0]["payload"] == {"n": 2}
    assert documents[0]["n_characters"] == 12


def test_long_texts_come_in_parts():
    text = "word " * MAX_CHARACTERS
    server = make_server(hi2.HybridIndex.build(texts=[text], encoder=hi2.StaticEncoder()))
    (first,) = answer(server, "get", {"ids": ["0"]})["documents"]
    (second,) = answer(server, "get", {"ids": ["0"], "start": MAX_CHARACTERS})["documents"]
    assert first["n_characters"] == len(text)
    assert first["text"] + second["text"] == text[: 2 * MAX_CHARACTERS]


def test_explain_says_why(index):
    why = answer(make_server(index), "explain", {"query": "an apple", "id": "pear"})
    assert "'pear' was found at rank 2" in why["explanation"]
    assert why["details"]["outcome"] == "found"
    missing = answer(make_server(index), "explain", {"query": "an apple", "id": "plum"})
    assert "'plum' is not in the index" in missing["explanation"]


def test_an_index_without_an_encoder_is_searched_by_words():
    index = hi2.HybridIndex.create(dim=2)
    index.add(None, list(TEXTS.values()), ids=[1, 2, 3])
    server = make_server(index)
    assert [hit["id"] for hit in answer(server, "search", {"query": "car"})["hits"]] == ["3"]
    assert "'car'" in answer(server, "explain", {"query": "car", "id": "3"})["explanation"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "a", "k": MAX_RESULTS + 1}, "less than or equal to 50"),
        ("search", {"query": ""}, "at least 1 character"),
        ("search", {"query": "a" * 10_001}, "at most 10000 characters"),
        ("search", {"query": "a", "filter": "n >"}, "'filter' parameter"),
        ("search", {"query": "a", "filter": "colour == 'red'"}, r"columns of the payload \(n\)"),
        ("search", {}, "required"),
        ("get", {"ids": []}, "at least 1 item"),
        ("get", {"ids": ["a"] * 51}, "at most 50 items"),
        ("get", {"ids": ["apple"], "start": -1}, "greater than or equal to 0"),
    ],
)
def test_what_a_model_gets_wrong_is_said_to_it(index, name, arguments, said):
    (result,) = called(make_server(index), (name, arguments))
    assert result.is_error
    assert re.search(said, result.content[0].text)


def test_only_an_index_is_served():
    with pytest.raises(hi2.InvalidParameter, match=r"'index' parameter must be a HybridIndex. Got 'a'"):
        make_server("a")


def test_a_process_serves_over_standard_input_and_output_and_sees_commits(index, tmp_path):
    index.save(tmp_path / "fruits.hi2")
    script = f"from hi2.integrations.mcp import run; run({str(tmp_path / 'fruits.hi2')!r})"
    process = StdioServerParameters(command=sys.executable, args=["-c", script])

    async def session():
        async with Client(process) as client:
            assert client.server_info.name == "fruits"
            found = await client.call_tool("search", {"query": "an apple", "k": 1})
            assert found.structured_content["hits"][0]["id"] == "apple"
            with hi2.HybridIndex.open(tmp_path / "fruits.hi2", "w") as writer:
                writer.add(texts=["a blue plum"], ids=["plum"], payload=[{"n": 3}])
                writer.commit()
            await asyncio.sleep(1.1)
            found = await client.call_tool("get", {"ids": ["plum"]})
            assert found.structured_content["documents"][0]["text"] == "a blue plum"

    asyncio.run(session())

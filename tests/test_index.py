"""The facade: length, membership, ids, stored texts and payload, and how an index shows itself."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading

import numpy as np
import pytest

import hi2


def test_len_and_membership(small, corpus):
    assert len(small) == 60
    assert corpus.ids[3] in small
    assert corpus.ids[60] not in small
    assert 3 not in small
    assert None not in small
    assert True not in small


def test_ids_are_listed_in_order_of_arrival(small, corpus):
    small.delete(corpus.ids[1])
    small.add(corpus.vectors[60:62], corpus.texts[60:62], ids=["zz", "aa"])
    assert small.ids() == [corpus.ids[0], *corpus.ids[2:60], "zz", "aa"]


def test_text_and_payload_are_stored_and_returned(small, corpus, tmp_path):
    small.add(corpus.vectors[60:61], ["über α 漢字"], ids=["u"], payload=[{"tags": ["x"], "year": 2020}])
    expected = {"id": "u", "text": "über α 漢字", "payload": {"tags": ["x"], "year": 2020}}
    assert small.get("u") == expected
    small.save(tmp_path / "a")
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.get("u") == expected
    assert opened.get([corpus.ids[7], "u"])[0] == {"id": corpus.ids[7], "text": corpus.texts[7], "payload": {"n": 7}}
    files = sorted((tmp_path / "a").rglob("stored.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in lines] == [*corpus.texts[:60], "über α 漢字"]


def test_get_returns_only_the_id_when_nothing_is_stored(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5], keep_text=False)
    assert index.get(2) == {"id": 2}
    with pytest.raises(hi2.InvalidParameter, match="'ids'"):
        index.get(9)


def test_repr_names_the_parts(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], codec=hi2.PQ(5))
    assert "50 documents" in repr(index)
    assert "PQ(subspaces=5" in repr(index)


def test_an_id_of_the_wrong_type_names_both_types(small, corpus):
    numbers = hi2.HybridIndex.build(np.eye(3), terms=None)
    calls = [
        (small, 3, "strings.*3, an integer"),
        (numbers, "1", "integers.*'1', a string"),
    ]
    for index, id, said in calls:
        for call in (
            index.get,
            index.delete,
            lambda id, own=index: own.delete([id], missing_ok=True),
            lambda id, own=index: own.explain(np.ones(own.dim), id=id),
        ):
            with pytest.raises(hi2.InvalidParameter, match=said):
                call(id)
        assert id not in index


def test_a_search_in_an_event_loop_lets_other_tasks_run(small, corpus, monkeypatch):
    asked, begun = (corpus.vectors[3], corpus.texts[3]), threading.Event()
    release = threading.Event()

    async def main():
        hits = await small.asearch(*asked, k=5)
        assert hits.ids.tolist() == small.search(*asked, k=5).ids.tolist()

        def slow(self, *arguments, **options):
            begun.set()
            release.wait(30)

        monkeypatch.setattr(hi2.HybridIndex, "search", slow)
        task = asyncio.create_task(small.asearch(*asked))
        while not begun.is_set():  # the loop is not blocked
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()

    asyncio.run(main())


@pytest.mark.slow
def test_types_reach_a_users_program(tmp_path):
    mypy = pytest.importorskip("mypy.api", reason="needs mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import hi2\n"
        "hits = hi2.HybridIndex.open('x').search('a')\n"
        "reveal_type(hits)\n"
        "reveal_type(hits.to_dicts())\n"
        "hi2.HybridIndex.open(3)\n"
    )
    out, _, _ = mypy.run([str(program), "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"])
    assert 'Revealed type is "hi2.types.Hits"' in out
    assert 'incompatible type "int"' in out


@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.search([1.0, 0.0], filter=[3]),
        lambda index: index.count(filter=[3]),
        lambda index: index.explain([1.0, 0.0], id="a", against=3),
        lambda index: index.tune(np.ones((20, 2)), relevant=[[3]] * 20),
    ],
)
def test_an_id_of_another_type_is_refused_with_both_types(call):
    index = hi2.HybridIndex.build(np.eye(2), terms=None, ids=["a", "b"])
    with pytest.raises(hi2.InvalidParameter, match=r"strings, as the ids of this index are\. Got 3, an integer"):
        call(index)


def test_type_checkers_see_the_arguments_of_an_asynchronous_search():
    assert inspect.signature(hi2.HybridIndex.asearch) == inspect.signature(hi2.HybridIndex.search)
    assert "thread of its own" in hi2.HybridIndex.asearch.__doc__


def test_a_script_of_a_user_is_type_checked(tmp_path):
    api = pytest.importorskip("mypy.api", reason="needs the extra 'dev'")
    script = tmp_path / "script.py"
    script.write_text(
        "import hi2\n"
        "index = hi2.HybridIndex.open('a')\n"
        "for hit in index.search('x'):\n"
        "    reveal_type(hit.text)\n"
        "    hit.txet\n"
        "async def ask() -> None:\n"
        "    await index.asearch('x', kk=3)\n"
        "for own in index.search(['x', 'y']).each:\n"
        "    reveal_type(own)\n"
    )
    said = api.run(["--strict", "--no-incremental", str(script)])[0]
    assert 'Revealed type is "str | None"' in said
    assert 'has no attribute "txet"' in said
    assert 'Unexpected keyword argument "kk"' in said
    assert 'Revealed type is "hi2.types.Hits"' in said

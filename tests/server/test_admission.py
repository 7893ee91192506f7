"""So many searches are taken at once as a server answers in time; others are refused, and told when to come again."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from hi2.server.admission import Admission, Overloaded


def test_no_more_than_the_most_are_taken():
    admission = Admission(3)
    with ExitStack() as running:
        for _ in range(3):
            assert not admission.full
            running.enter_context(admission.search())
        assert admission.full
        with pytest.raises(Overloaded), admission.search():
            pass
    assert admission.n_running == 0


def test_a_busy_server_says_so_and_goes_on(make_client, index_path, monkeypatch):
    client = make_client(index_path)
    full = Admission.full
    monkeypatch.setattr(Admission, "full", True)
    answer = client.post("/v1/collections/fruit/search", json={"text": "fruit"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert client.get("/health").status_code == 200
    monkeypatch.setattr(Admission, "full", full)
    assert client.post("/v1/collections/fruit/search", json={"text": "fruit"}).status_code == 200


@pytest.mark.parametrize("body", [{"text": "fruit"}, {"text": ""}, {"text": "a", "filter": "nope == 1"}, {"k": "x"}])
def test_every_search_that_was_taken_leaves_again(make_client, index_path, body):
    from hi2.server.limits import Limits

    client = make_client(index_path, limits=Limits(searches=1))
    for _ in range(5):
        assert client.post("/v1/collections/fruit/search", json=body).status_code != 429

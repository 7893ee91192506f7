"""The index holds exactly the documents put into it, through add, delete, upsert, merge, save, open and commit."""

from __future__ import annotations

import gc
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import hi2
from hi2.changes import add as adding
from hi2.index import HybridIndex
from hi2.ingest.merge import MERGE_FACTOR
from hi2.store import commit as committing
from hi2.store import open as opening
from hi2.store.arrays import map_file

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def small(corpus):
    return hi2.HybridIndex.build(
        corpus.vectors[:60],
        corpus.texts[:60],
        ids=corpus.ids[:60],
        keep_text=True,
        payload=[{"n": i} for i in range(60)],
    )


def test_len_and_membership(small, corpus):
    assert len(small) == 60
    assert corpus.ids[3] in small
    assert corpus.ids[60] not in small
    assert 3 not in small
    assert None not in small
    assert True not in small


def test_added_documents_are_found(small, corpus):
    small.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
    assert len(small) == 70
    for i in range(60, 70):
        assert corpus.ids[i] in small.search(corpus.vectors[i], corpus.texts[i], k=3).ids.tolist()


def test_deleted_documents_are_gone_and_are_not_scored(small, corpus):
    before = small.search(corpus.vectors[5], corpus.texts[5], k=60, clusters=100)
    assert small.delete([corpus.ids[5], corpus.ids[6]]) == 2
    after = small.search(corpus.vectors[5], corpus.texts[5], k=60, clusters=100)
    assert after.n_scored == before.n_scored - 2
    assert corpus.ids[5] not in after.ids.tolist()
    assert corpus.ids[5] not in small
    assert len(small) == 58


def test_delete_takes_one_id_or_several_and_rejects_unknown_ones(small, corpus):
    assert small.delete(corpus.ids[0]) == 1
    with pytest.raises(hi2.InvalidParameter, match=r"'ids'.*missing_ok"):
        small.delete([corpus.ids[1], "nobody"])
    assert corpus.ids[1] in small  # nothing was deleted
    assert small.delete([corpus.ids[1], "nobody"], missing_ok=True) == 1


def test_a_deleted_id_can_be_added_again(small, corpus):
    small.delete([corpus.ids[0]])
    small.add(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[0]])
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    small.merge()
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    assert len(small) == 60


def test_upsert_replaces_and_adds_in_one_change(small, corpus):
    small.upsert(corpus.vectors[100:102], corpus.texts[100:102], ids=[corpus.ids[0], "new"], keep_text=True)
    assert len(small) == 61
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    assert corpus.ids[0] in small.search(corpus.vectors[100], corpus.texts[100], k=2).ids.tolist()


def test_ids_are_listed_in_order_of_arrival(small, corpus):
    small.delete(corpus.ids[1])
    small.add(corpus.vectors[60:62], corpus.texts[60:62], ids=["zz", "aa"])
    assert small.ids() == [corpus.ids[0], *corpus.ids[2:60], "zz", "aa"]


def test_integer_ids_are_assigned_automatically(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5])
    index.add(corpus.vectors[5:7], corpus.texts[5:7])
    assert index.ids() == list(range(7))
    index.add(corpus.vectors[7:8], corpus.texts[7:8], ids=[100])
    index.delete([100])
    index.add(corpus.vectors[8:9], corpus.texts[8:9])
    assert index.ids()[-1] == 101  # an id is never assigned twice
    given = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3], ids=[4, 9, 2])
    given.add(corpus.vectors[3:4], corpus.texts[3:4])
    assert given.ids() == [4, 9, 2, 10]


def test_an_index_built_with_keep_text_keeps_the_texts_of_added_documents(corpus, tmp_path):
    """Even when all documents that it was built with are gone."""
    index = hi2.HybridIndex.build(corpus.vectors[:1], corpus.texts[:1], ids=["a"], keep_text=True, path=tmp_path / "a")
    index.delete("a")
    index.commit()
    index.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(corpus.vectors[1:2], corpus.texts[1:2], ids=["b"])
        assert index.get("b")["text"] == corpus.texts[1]
        index.add(corpus.vectors[2:3], corpus.texts[2:3], ids=["c"], keep_text=False)
        assert index.get("c") == {"id": "c"}


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
    index = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5])
    assert index.get(2) == {"id": 2}
    with pytest.raises(hi2.InvalidParameter, match="'ids'"):
        index.get(9)


def test_save_and_build_reject_an_existing_folder(small, tmp_path):
    small.save(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match="does not exist yet"):
        small.save(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match="does not exist yet"):
        hi2.HybridIndex.build(np.eye(3), terms=None, path=tmp_path / "a")


def test_commit_makes_changes_visible_to_new_readers_only(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.add(corpus.vectors[60:80], corpus.texts[60:80], ids=corpus.ids[60:80])
        writer.delete(corpus.ids[:10])
        assert len(writer) == 70
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 60
        writer.commit()
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 70
    assert len(reader) == 60
    hits = reader.search(corpus.vectors[0], corpus.texts[0], k=3)
    assert corpus.ids[0] in hits.ids.tolist()
    reader.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.ids() == corpus.ids[10:80]


def test_a_reader_keeps_its_snapshot_through_merges_and_file_removal(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    expected = reader.search(corpus.query_vectors, corpus.query_texts, k=20)
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for step in range(4):
            writer.delete(corpus.ids[step])
            writer.merge()
            writer.commit()
    again = reader.search(corpus.query_vectors, corpus.query_texts, k=20)
    assert (again.ids == expected.ids).all()
    reader.verify()  # its files were removed from the folder, but are still mapped
    assert reader.get(corpus.ids[0])["text"] == corpus.texts[0]
    assert len(list((tmp_path / "a").glob("segment-*"))) <= 2  # those of the current and of the previous manifest


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list its maps")
def test_a_commit_keeps_one_map_of_every_file(corpus, tmp_path):
    """Nothing that was written is read back."""
    with hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a") as index:
        index.add(corpus.vectors[50:60], corpus.texts[50:60])
        index.commit()
        lines = Path("/proc/self/maps").read_text().splitlines()
        mapped = [line.split()[-1] for line in lines if str(tmp_path) in line]
        assert mapped
        assert len(mapped) == len(set(mapped))
        index.verify()
        assert index.info()["generation"] == 2


def test_a_build_on_disk_is_read_once(corpus, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(opening, "map_file", lambda path, *args, **kwargs: opened.append(path) or map_file(path, *args))
    with hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a"):
        read = [path for path in opened if path.is_relative_to(tmp_path / "a")]
        assert read
        assert len(read) == len(set(read))


def test_uncommitted_changes_are_dropped(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        writer.merge()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        assert len(writer) == 60
        writer.verify()
        writer.commit()
    assert len(list((tmp_path / "a").glob("segment-*"))) == 1  # segments that were never committed are removed


def test_a_commit_after_a_merge_keeps_everything(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for i in range(60, 75):
            writer.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])
            if i % 3 == 0:
                writer.commit()
        writer.merge()
        writer.commit()
        writer.verify()
        assert writer.ids() == corpus.ids[:75]
        assert writer.info()["n_segments"] == 1


def test_an_index_without_documents_can_be_searched_and_added_to(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(writer.ids())
        writer.commit()
        assert len(writer) == 0
        assert writer.search(corpus.vectors[0], corpus.texts[0]).ids.tolist() == []
        assert writer.search(corpus.vectors[:2], corpus.texts[:2], k=3).counts.tolist() == [0, 0]
        empty = hi2.HybridIndex.open(tmp_path / "a")
        empty.verify()
        assert len(empty) == 0
        writer.add(corpus.vectors[:2], corpus.texts[:2], ids=["a", "b"])
        writer.commit()
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == ["a", "b"]


def test_an_index_whose_documents_are_all_deleted_can_be_saved(small, corpus, tmp_path):
    small.delete(small.ids())
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as empty:
        assert len(empty) == 0
        empty.add(corpus.vectors[:1], corpus.texts[:1], ids=["a"])
        assert empty.search(corpus.vectors[0], corpus.texts[0]).ids.tolist() == ["a"]


def test_many_small_additions_give_few_segments(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:8], corpus.texts[:8], ids=corpus.ids[:8])
    for i in range(8, 300):
        index.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])
    assert index.info()["n_segments"] <= 3 * MERGE_FACTOR
    index.verify()
    assert index.ids() == corpus.ids[:300]


def test_a_mostly_deleted_segment_is_rewritten(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:100], corpus.texts[:100], ids=corpus.ids[:100])
    index.delete(corpus.ids[:70])
    index.add(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[100]])
    assert index.info()["n_deleted"] == 0


def test_there_is_only_one_writer(small, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    with pytest.raises(hi2.Locked, match="Another writer"):
        hi2.HybridIndex.open(tmp_path / "a", "w")
    writer.close()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


def test_a_closed_writer_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    closed = hi2.HybridIndex.open(tmp_path / "a", "w")
    closed.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        writer.commit()
        for change in (lambda: closed.delete(corpus.ids[1]), closed.commit, closed.merge):
            with pytest.raises(hi2.Error, match="closed"):
                change()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 59
    assert len(closed.search(corpus.vectors[0], k=3)) == 3  # a closed index can still be searched


def test_a_writer_that_is_garbage_collected_releases_its_lock(small, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    del writer
    gc.collect()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


@needs_fork
def test_a_forked_child_neither_holds_nor_releases_the_lock(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        try:
            writer.commit()
        except hi2.Error:
            os.read(read, 1)  # stay alive until the parent is done
            os._exit(0)
        os._exit(1)
    with pytest.raises(hi2.Locked):
        hi2.HybridIndex.open(tmp_path / "a", "w")
    writer.delete(corpus.ids[0])
    writer.commit()
    writer.close()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()  # although the child is alive
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_fork
def test_a_killed_process_releases_its_lock(small, tmp_path):
    small.save(tmp_path / "a")
    child = os.fork()
    if child == 0:
        hi2.HybridIndex.open(tmp_path / "a", "w")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


def test_an_index_in_memory_cannot_be_committed(small):
    with pytest.raises(hi2.Error, match="save"):
        small.commit()


def test_a_reader_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    for change in (
        lambda: reader.delete(corpus.ids[0]),
        lambda: reader.add(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        lambda: reader.upsert(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        reader.merge,
        reader.commit,
    ):
        with pytest.raises(hi2.ReadOnly, match="mode='w'"):
            change()


def test_a_given_fitted_part_is_used_unchanged(corpus):
    first = hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200])
    model = first.model
    second = hi2.HybridIndex.build(
        corpus.vectors[200:], corpus.texts[200:], clusters=model.clusters, terms=model.terms, codec=model.codec
    )
    assert second.model.clusters is model.clusters
    assert second.model.terms is model.terms
    assert second.model.codec is model.codec


def test_opening_does_not_load_the_tokenizer(corpus, tmp_path):
    """Only the tokenizer takes time to load, so it is not loaded until a text needs it."""
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids).save(tmp_path / "a")
    index = hi2.HybridIndex.open(tmp_path / "a")
    assert "_parsed" not in vars(index.model.terms.tokenizer)
    index.search(corpus.query_vectors[0])
    assert "_parsed" not in vars(index.model.terms.tokenizer)
    index.search(corpus.query_vectors[0], corpus.query_texts[0])
    assert "_parsed" in vars(index.model.terms.tokenizer)


@pytest.mark.parametrize(("commits", "attempts"), [(1, 1), (2, 10)])
def test_a_commit_while_a_reader_opens_does_no_harm(small, corpus, tmp_path, monkeypatch, commits, attempts):
    """One commit between reading the manifest and opening its files does no harm. After two, the reader tries again."""
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    read, overtaken = opening.read_manifest, []

    def read_and_be_overtaken(folder, *name):
        manifest = read(folder, *name)
        if not overtaken:
            overtaken.append(True)
            for i in range(commits):
                writer.delete(corpus.ids[i])
                writer.merge()
                writer.commit()
        return manifest

    monkeypatch.setattr(opening, "_MAX_ATTEMPTS", attempts)
    monkeypatch.setattr(opening, "read_manifest", read_and_be_overtaken)
    reader = hi2.HybridIndex.open(tmp_path / "a")
    assert len(reader) == (60 if commits == 1 else 58)
    reader.verify()
    writer.close()


def test_an_interrupt_just_after_a_commit_does_no_harm(small, corpus, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        write = committing.write_manifest

        def write_and_be_interrupted(*arguments):
            write(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(committing, "write_manifest", write_and_be_interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.commit()
        monkeypatch.undo()
        taken = hi2.HybridIndex.open(tmp_path / "a")
        assert len(taken) == 59
        writer.delete(corpus.ids[1])
        writer.commit()
    taken.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert len(again) == 58


def test_a_writer_never_removes_files_it_is_not_sure_about(small, corpus, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "model_card.md").write_text("mine")
    (tmp_path / "a" / "models").mkdir()
    before = set((tmp_path / "a").rglob("*"))
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        monkeypatch.setattr(committing.Writer, "_named_paths", lambda self: None)  # as if a manifest cannot be read
        writer.delete(corpus.ids[0])
        writer.merge()
        writer.commit()
    monkeypatch.undo()
    assert before <= set((tmp_path / "a").rglob("*"))
    hi2.HybridIndex.open(tmp_path / "a", "w").close()
    assert (tmp_path / "a" / "model_card.md").exists()
    assert (tmp_path / "a" / "models").exists()


def test_many_additions_are_moved_from_memory_to_disk(small, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "SEAL_DOCUMENTS", 20)
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for i in range(60, 110, 5):
            writer.add(corpus.vectors[i : i + 5], corpus.texts[i : i + 5], ids=corpus.ids[i : i + 5])
            held = writer._index.writer.holds
            in_memory = [live for live in writer._index.state.snapshot.segments if not held(live.segment)]
            assert sum(live.n_alive for live in in_memory) < 20
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 60  # segments on disk are not yet committed
        writer.commit()
        writer.verify()
        assert writer.ids() == corpus.ids[:110]


def test_a_merge_keeps_the_refine_codes(corpus):
    parts = {"codec": hi2.PQ(5), "refine": hi2.Flat(), "clusters": hi2.KMeans(20)}
    index = hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200], ids=corpus.ids[:200], **parts)
    index.add(corpus.vectors[200:300], corpus.texts[200:300], ids=corpus.ids[200:300])
    index.delete(corpus.ids[50:60])
    before = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    index.merge()
    after = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    assert (before.ids == after.ids).all()
    assert (before.scores == after.scores).all()
    position = {id: i for i, id in enumerate(corpus.ids)}
    exact = corpus.vectors[position[after.ids[0, 0]]] @ corpus.query_vectors[0]
    assert after.scores[0, 0] == pytest.approx(exact, abs=1e-5)


def test_only_one_of_several_concurrent_saves_to_a_path_succeeds(small, tmp_path):
    """One save succeeds, the others are rejected, and the saved index is intact."""
    outcomes = []

    def save():
        try:
            small.save(tmp_path / "a")
            outcomes.append("saved")
        except hi2.Error:
            outcomes.append("refused")

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("saved") == 1
    hi2.HybridIndex.open(tmp_path / "a").verify()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_progress_is_shown_only_when_asked_for(corpus, capfd):
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, progress=True)
    shown = capfd.readouterr().err
    for phase in ("read texts", "fit clusters", "assign clusters", "file documents"):
        assert phase in shown
    hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    assert capfd.readouterr().err == ""


class Shelf(RuleBasedStateMachine):
    """After any sequence of changes, the index equals a plain dictionary with the same changes."""

    @initialize(n=st.integers(1, 12))
    def build(self, n):
        rng = np.random.default_rng(0)
        self.words = ["red", "green", "blue", "fast", "slow", "river", "stone", "cloud", "tree", "bird"]
        self.rng = rng
        self.kept: dict[str, tuple[np.ndarray, str]] = {}
        self.counter = 0
        vectors, texts, ids = self.make(n)
        self.index = HybridIndex.build(vectors, texts, ids=ids, clusters=hi2.KMeans(3), keep_text=True)
        self.note(vectors, texts, ids)

    def make(self, n):
        vectors = self.rng.integers(-3, 4, (n, 6)).astype(np.float32)
        texts = [" ".join(self.rng.choice(self.words, 4)) for _ in range(n)]
        ids = [f"d{self.counter + i}" for i in range(n)]
        self.counter += n
        return vectors, texts, ids

    def note(self, vectors, texts, ids):
        for vector, text, id in zip(vectors, texts, ids, strict=True):
            self.kept.pop(id, None)
            self.kept[id] = (vector, text)

    @rule(n=st.integers(1, 5))
    def add(self, n):
        vectors, texts, ids = self.make(n)
        self.index.add(vectors, texts, ids=ids)
        self.note(vectors, texts, ids)

    @rule(data=st.data())
    def delete(self, data):
        if self.kept:
            id = data.draw(st.sampled_from(sorted(self.kept)))
            self.index.delete(id)
            del self.kept[id]

    @rule(data=st.data())
    def upsert(self, data):
        if self.kept:
            vectors, texts, ids = self.make(2)
            ids[0] = data.draw(st.sampled_from(sorted(self.kept)))
            self.index.upsert(vectors, texts, ids=ids)
            self.note(vectors, texts, ids)

    @rule()
    def merge(self):
        self.index.merge()

    @invariant()
    def equal(self):
        if not hasattr(self, "index"):
            return
        assert len(self.index) == len(self.kept)
        assert self.index.ids() == list(self.kept)
        query = np.array([1, -1, 2, 0, 1, -2], np.float32)
        hits = self.index.search(query, k=100, clusters=3)
        order = {id: place for place, id in enumerate(self.kept)}
        expected = sorted(self.kept, key=lambda id: (-float(self.kept[id][0] @ query), order[id]))
        assert hits.ids.tolist() == expected
        for id, stored in zip(self.kept, self.index.get(list(self.kept)), strict=True):
            assert stored["text"] == self.kept[id][1]

    def teardown(self):
        if hasattr(self, "index"):
            self.index.verify()


TestShelf = Shelf.TestCase
TestShelf.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)

"""Experiments measure every system in the same way, resume, test significance and refuse bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hi2
from hi2.evaluation import experiment as lab
from hi2.evaluation import trial
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.measures import Measure, agreement, mean_recall
from hi2.evaluation.plan import Plan
from hi2.evaluation.report import write_report
from hi2.evaluation.results import Results, collect_lines
from hi2.evaluation.runs import read_run, write_run
from hi2.evaluation.stress import variants
from hi2.evaluation.task import load_task
from hi2.evaluation.vectors import cached_vectors
from hi2.progress import Progress

SILENT = Progress(False)
POINTS = Plan(
    "mine", "Mine", "points", ["hi2 Flat", "faiss IVF-Flat"], ["R@100", "RR@10", "R@1000"], against="hi2 Flat"
)


def measured(plan, task, results, inputs, progress):
    lab.run([plan], task, results, inputs, progress)
    return collect_lines(plan, results)


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    """A BEIR folder with given vectors. The relevant documents of a query are its two nearest."""
    folder = tmp_path_factory.mktemp("data") / "docs"
    (folder / "qrels").mkdir(parents=True)
    documents = (json.dumps({"_id": id, "text": t}) for id, t in zip(corpus.ids, corpus.texts, strict=True))
    (folder / "corpus.jsonl").write_text("\n".join(documents))
    queries = (json.dumps({"_id": f"q{i}", "text": t}) for i, t in enumerate(corpus.query_texts))
    (folder / "queries.jsonl").write_text("\n".join(queries))
    nearest = np.argsort(-(corpus.query_vectors @ corpus.vectors.T), axis=1)[:, :2]
    lines = [f"q{i}\t{corpus.ids[d]}\t{2 - r}" for i, own in enumerate(nearest) for r, d in enumerate(own)]
    half = len(corpus.query_texts) // 2
    (folder / "qrels" / "train.tsv").write_text("\n".join(lines[: 2 * half]))
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines[2 * half :]))
    vectors = folder / "given"
    vectors.mkdir()
    np.save(vectors / "corpus.npy", corpus.vectors)
    np.save(vectors / "queries.npy", corpus.query_vectors)
    return folder


@pytest.fixture(scope="module")
def task(folder):
    return load_task(folder, vectors=folder / "given", progress=SILENT)


def test_nothing_is_tuned_on_what_is_reported(task):
    assert task.tune.split == "20% of train"
    assert 0 < len(task.tune.ids) < len(task.test.ids)
    assert not set(task.tune.ids) & set(task.test.ids)


def test_an_outcome_agrees_with_the_measures(task):
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    exact = flat.rows(task.test, {}, 100)
    outcome = flat.measure({}, [Measure("R", 100), Measure("RR", 10), Measure("R", 1000)], exact)
    found = [[task.ids[row] for row in rows] for rows in exact]
    relevant = [task.test.judged.relevant(id) for id in task.test.ids]
    assert outcome.values["R@100"].mean() == pytest.approx(mean_recall(found, relevant, k=100))
    ranks = [next(r for r, id in enumerate(own, 1) if id in known) for own, known in zip(found, relevant, strict=True)]
    assert outcome.values["RR@10"].tolist() == [1 / rank if rank <= 10 else 0.0 for rank in ranks]
    assert outcome.values["agreement@100"].mean() == 1.0
    assert agreement(exact, exact, k=100) == 1.0
    assert outcome.milliseconds["p50"] <= outcome.milliseconds["p95"] <= outcome.milliseconds["p99"]
    assert outcome.throughput > 0
    assert flat.build_peak_bytes is None or flat.build_peak_bytes >= 0


def test_a_system_without_batch_search_has_no_throughput(task):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    fused = trial.Trial.build(Inputs().system("RRF (BM25, Flat)", task), task, threads=1)
    outcome = fused.measure({"depth": 100}, [Measure("R", 100)], fused.rows(task.test, {"depth": 100}, 100))
    assert outcome.throughput is None


def test_tuning_takes_the_fastest_setting_that_reaches_the_goal(task):
    peer = Inputs().system("faiss IVF-Flat", task)
    one = trial.Trial.build(peer, task, threads=1)
    chosen = one.tune(0.9)
    reached = [t for t in one.swept if t.recall >= 0.9]
    assert chosen.seconds == min(t.seconds for t in reached)
    impossible = trial.Trial(peer, task)
    assert impossible.tune(2.0).recall == max(t.recall for t in impossible.swept)


def test_parts_of_recall_add_up(task):
    one = trial.Trial.build(Inputs().system("hi2 OPQ", task), task, threads=1)
    outcome = one.measure({"clusters": 3, "per_doc": 5}, [Measure("R", 100)], one.rows(task.test, {"clusters": 3}, 100))
    parts = outcome.recall_parts
    assert parts["candidate_recall"] >= parts["exact_recall"] - 1e-9
    assert parts["exact_recall"] - parts["codec_loss"] == pytest.approx(outcome.values["R@100"].mean())
    assert sum(parts[f"by_{side}"] for side in ("clusters_only", "terms_only", "both")) == pytest.approx(1.0)


def test_codec_loss_is_measured_with_mapped_queries(task, monkeypatch):
    peer = Inputs().system("hi2 Flat", task)
    one = trial.Trial.build(peer, task, threads=1)
    setting = {"clusters": 3, "per_doc": 5}
    plain = one._recall_parts(setting, one.rows(task.test, setting, 100))
    assert plain["codec_loss"] == pytest.approx(0.0, abs=1e-6)
    monkeypatch.setattr(peer, "asked", lambda vector: -vector)
    monkeypatch.setattr(trial, "K", 5)  # with 100 hits everything would be found either way
    turned = one._recall_parts(setting, one.rows(task.test, setting, 5))
    assert turned["exact_recall"] < 0.9 * plain["exact_recall"]


def test_questions_that_were_timed_are_not_searched_again(task, monkeypatch):
    monkeypatch.setattr(trial, "N_TIMED_QUESTIONS", 3)
    monkeypatch.setattr(trial, "N_TIMED_TUNING_QUESTIONS", 3)
    one = trial.Trial.build(Inputs().system("hi2 Flat", task), task, threads=1)
    setting = {"clusters": 3, "per_doc": 5}
    depths = []
    search = one.peer.search
    monkeypatch.setattr(one.peer, "search", lambda *given: depths.append(given[2]) or search(*given))
    outcome = one.measure(setting, [Measure("R", 100)], one.rows(task.test, setting, 100))
    assert outcome.rows == one.rows(task.test, setting, 100)
    n = len(task.test.ids)
    warm, passes = min(20, n), 3 * 3
    assert len(depths) == n + (warm + passes + n - 3) + n  # this test, the measure, this test again


def test_an_experiment_resumes_and_tests_its_systems(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    lines = measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert [line["system"] for line in lines] == ["Flat", "hi2 Flat", "faiss IVF-Flat"]
    for line in lines:
        assert line["manifest"] == task.manifest
        assert line["machine"]["simd"] in ("scalar", "avx2")
        assert set(line["measures"]) == {"R@100", "RR@10", "R@1000", "agreement@10", "agreement@100"}
        low, high = line["intervals"]["R@100"]
        assert low <= line["measures"]["R@100"] <= high
    assert set(lines[2]["p"]) == set(lines[2]["measures"])
    assert "p" not in lines[1]
    stored = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(stored) == 3

    def fail(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(trial.Trial, "measure", fail)
    assert [line["key"] for line in measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)] == [
        line["key"] for line in lines
    ]


def test_bm25_rescores_as_many_documents_as_hi2_scores(task, tmp_path):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    plan = Plan("mine", "Mine", "points", ["BM25, rescored", "hi2"], ["R@100"], against="hi2")
    lines = measured(plan, task, Results(tmp_path), Inputs(), SILENT)
    rescored, own = (line for line in lines if line["system"] != "Flat")
    assert (rescored["system"], own["system"]) == ("BM25, rescored", "hi2")
    assert rescored["setting"] == {"n": max(100, round(own["scored_tuning"]))}


def test_an_interrupted_experiment_is_resumed(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    measure, calls = trial.Trial.measure, []

    def interrupted(self, *arguments, **options):
        calls.append(self.peer.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(self, *arguments, **options)

    monkeypatch.setattr(trial.Trial, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert len(Results(tmp_path).lines) == 1
    lines = measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert calls == ["Flat", "hi2 Flat", "hi2 Flat", "faiss IVF-Flat"]
    assert len(lines) == 3


def test_several_experiments_build_a_system_once(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    build, built = trial.Trial.build.__func__, []

    def counted(cls, peer, task, **options):
        built.append(peer.name)
        return build(cls, peer, task, **options)

    monkeypatch.setattr(trial.Trial, "build", classmethod(counted))
    curves = Plan("other", "Other", "curves", ["hi2 Flat"], ["R@100"], axis="scored")
    results = Results(tmp_path)
    lab.run([POINTS, curves], task, results, Inputs(), SILENT)
    assert built == ["Flat", "hi2 Flat", "faiss IVF-Flat"]
    assert {line["system"] for line in collect_lines(POINTS, results)} == {"Flat", "hi2 Flat", "faiss IVF-Flat"}
    assert {line["system"] for line in collect_lines(curves, results)} == {"Flat", "hi2 Flat"}


@pytest.mark.parametrize("kind", ["points", "curves"])
def test_a_report_shows_every_line_and_is_self_contained(task, tmp_path, kind, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")

    def time_by_effort(self, questions, setting):  # so that the settings of a curve do not depend on the clock
        return np.full(len(questions.ids), 1e-3 * (1 + sum(setting.values()))), self.rows(questions, setting, trial.K)

    monkeypatch.setattr(trial.Trial, "_time_searches", time_by_effort)
    plan = Plan("mine", "A <title>", kind, ["hi2 Flat", "DocT5"], ["R@100"], axis="scored", against="Flat")
    lines = measured(plan, task, Results(tmp_path), Inputs(), SILENT)
    page = write_report(plan, lines, tmp_path)
    text, markdown = page.read_text(), (tmp_path / "mine.md").read_text()
    assert markdown.count("| hi2 Flat |") == sum(line["system"] == "hi2 Flat" for line in lines)
    assert "DocT5: a file of predicted questions" in markdown
    assert "A &lt;title&gt;" in text
    assert not re.search(r"<(script|link|img)|src=|https?://(?!www\.w3\.org|purl\.org|creativecommons)", text)
    assert "<svg" in text
    assert "share of documents scored" in text
    if kind == "curves":
        assert sum(line["system"] == "hi2 Flat" for line in lines) > 1


def test_the_papers_own_numbers_are_shown_for_its_collections():
    from hi2.evaluation.report import _paper_table

    assert "HI² supervised | 0.401" in "\n".join(_paper_table({"manifest": {"collection.tsv": ""}}))
    assert "HI² supervised | 0.779" in "\n".join(_paper_table({"manifest": {"psgs_w100.tsv.gz": ""}}))
    assert _paper_table({"manifest": {"corpus.jsonl": ""}}) == []


def test_changed_questions_are_encoded_again(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    task = load_task(folder, encoder="static", cache=tmp_path / "cache", limit=20, progress=SILENT)
    changed = variants(task, task.query_encoder)
    assert list(changed) == ["as asked", "typos", "no shared word", "two words", "very long"]
    place = {id: row for row, id in enumerate(task.ids)}
    for i, id in enumerate(task.test.ids):
        texts = {name: own.test.texts[i] for name, own in changed.items()}
        answers = {w for d in task.test.judged.relevant(id) for w in re.findall(r"\w+", task.texts[place[d]].lower())}
        left = set(re.findall(r"\w+", texts["no shared word"].lower()))
        assert not left & answers or left == {"this"}
        assert len(texts["two words"].split()) <= 2
        assert texts["very long"].startswith(texts["as asked"])
        assert len(texts["typos"]) == len(texts["as asked"])
    assert any(changed["typos"].test.texts[i] != task.test.texts[i] for i in range(len(task.test.ids)))
    np.testing.assert_allclose(
        changed["typos"].test.vectors, hi2.StaticEncoder()(list(changed["typos"].test.texts)), atol=1e-6
    )
    plan = Plan("stress", "Stress", "stress", ["hi2 Flat"], ["R@100"])
    lines = measured(plan, task, Results(tmp_path / "out"), Inputs(), SILENT)
    assert [line["variant"] for line in lines if line["system"] == "hi2 Flat"] == list(changed)
    flat = {line["variant"]: line["measures"]["R@100"] for line in lines if line["system"] == "Flat"}
    assert flat["no shared word"] < flat["as asked"]
    assert "hi2 Flat, typos" in write_report(plan, lines, tmp_path / "out").with_suffix(".md").read_text()
    with pytest.raises(hi2.InvalidParameter, match="changed questions need new vectors"):
        variants(task, None)


@pytest.mark.parametrize("name", ["main", "tradeoff", "ablation", "robustness", "codecs", "ivf-gap", "stress"])
def test_the_built_in_experiments_can_be_read(name):
    plan = Plan.load(name)
    assert plan.title
    assert plan.kind in ("points", "curves", "stress")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "'name'.*one of ablation, codecs"),
        ('title = "x"\nkind = "points"\nsystems = ["nothing"]\nmeasures = []\n', "'systems'.*Got 'nothing'"),
        ("title = \n", "cannot be read"),
        ('titel = "x"\n', "cannot be read"),
    ],
)
def test_an_invalid_plan_is_refused(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(hi2.InvalidParameter, match=message):
        Plan.load("nonsense" if text == "nonsense" else str(path))


def test_vectors_must_match_the_collection(folder, corpus, tmp_path):
    np.save(tmp_path / "queries.npy", corpus.query_vectors)
    with pytest.raises(hi2.InvalidParameter, match=r"a folder with corpus\.npy"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    np.save(tmp_path / "corpus.npy", corpus.vectors[:-1])
    with pytest.raises(hi2.InvalidParameter, match=f"{len(corpus.ids) - 1} rows for {len(corpus.ids)} documents"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    broken = corpus.vectors.copy()
    broken[7, 3] = np.nan
    np.save(tmp_path / "corpus.npy", broken)
    with pytest.raises(hi2.InvalidParameter, match=r"corpus\.npy, row 7: not a finite number"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    np.save(tmp_path / "corpus.npy", corpus.vectors.astype(np.int32))
    with pytest.raises(hi2.InvalidParameter, match="expected floats"):
        load_task(folder, vectors=tmp_path, progress=SILENT)


def test_a_collection_without_questions_to_tune_on_is_refused(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "qrels" / "train.tsv").unlink()
    with pytest.raises(hi2.InvalidParameter, match="a dev or train split"):
        load_task(tmp_path / "copy", vectors=folder / "given", progress=SILENT)


def test_encoding_is_kept_and_resumed(tmp_path):
    texts = [f"text {i}" for i in range(1500)]
    calls = []

    def encoder(batch):
        calls.append(len(batch))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return np.array([[int(text.split()[1]) / 1500, 1.0] for text in batch])

    with pytest.raises(KeyboardInterrupt):
        cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert not (tmp_path / "corpus.npy").exists()
    vectors = cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert calls == [1, 512, 512, 476, 1, 476]
    np.testing.assert_allclose(vectors[:, 0], np.arange(1500) / 1500, atol=1e-3)
    assert np.load(tmp_path / "corpus.npy").dtype == np.float16
    cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert len(calls) == 6


def test_a_system_that_repeats_a_document_is_refused(task):
    with pytest.raises(hi2.InvalidParameter, match="twice"):
        task.gains(task.test, 0, [3, 4, 3])


def test_runs_are_written_and_read(tmp_path):
    path = tmp_path / "run.txt"
    write_run(path, "mine", {"q1": ["b", "a"], "q2": ["c"]})
    assert read_run(path) == {"q1": ["b", "a"], "q2": ["c"]}
    path.write_text("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 0.9 x\n")
    assert read_run(path) == {"q1": ["b", "a"]}
    for text, message in [
        ("q1 Q0 a 1 0.5 x\nq1 Q0 a 2 0.4 x\n", "line 2: the document 'a' is there twice"),
        ("q1 Q0 a 1 high x\n", "line 1: expected query"),
        ("q1 a\n", "line 1: expected query"),
        ("", "no line of a run"),
    ]:
        path.write_text(text)
        with pytest.raises(hi2.InvalidParameter, match=message):
            read_run(path)


def test_a_truncated_results_file_is_named(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"key": "a"}\n{"key": "b')
    with pytest.raises(hi2.InvalidParameter, match=r"results\.jsonl, line 2: not JSON"):
        Results(tmp_path)


def test_a_result_key_depends_on_vectors_questions_machine_and_inputs(folder, tmp_path):
    one = load_task(folder, vectors=folder / "given", progress=SILENT)
    other = tmp_path / "elsewhere" / "given"
    other.mkdir(parents=True)
    np.save(other / "corpus.npy", one.vectors[::-1])
    np.save(other / "queries.npy", np.load(folder / "given" / "queries.npy"))
    tasks = [
        one,
        load_task(folder, vectors=other, progress=SILENT),
        load_task(folder, vectors=folder / "given", limit=10, progress=SILENT),
    ]
    assert len({task.fingerprint for task in tasks}) == 3
    here = lab.machine()
    keys = {lab._result_key(POINTS, task, "Flat", Inputs(), here) for task in tasks}
    keys.add(lab._result_key(POINTS, one, "Flat", Inputs(), {**here, "threads": here["threads"] + 1}))
    for text in ("first", "second, longer"):
        (tmp_path / "expansions.txt").write_text(text)
        keys.add(lab._result_key(POINTS, one, "DocT5", Inputs(tmp_path / "expansions.txt"), here))
    assert len(keys) == 6


def test_runs_over_different_questions_are_not_mixed(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    results = Results(tmp_path)
    whole = load_task(folder, vectors=folder / "given", progress=SILENT)
    lab.run([POINTS], whole, results, Inputs(), SILENT)
    fewer = load_task(folder, vectors=folder / "given", limit=9, progress=SILENT)
    lab.run([POINTS.for_systems(["hi2 Flat"])], fewer, results, Inputs(), SILENT)
    lines = collect_lines(POINTS, results)
    assert {line["n_queries"] for line in lines} == {9}
    assert {line["system"] for line in lines} == {"Flat", "hi2 Flat"}


def test_the_goal_is_measured_on_the_tuning_questions(task, monkeypatch):
    monkeypatch.setattr(trial, "N_TUNING_QUESTIONS", 3)
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    some = task.tune.first(3)
    assert flat.tuning_recall() == pytest.approx(flat.values(some, flat.rows(some, {}, 100), Measure("R", 100)).mean())


def test_deep_measures_use_a_deep_search(task):
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    n = len(task.ids)
    outcome = flat.measure({}, [Measure("R", n)], flat.rows(task.test, {}, 100), brief=True)
    assert outcome.values[f"R@{n}"].mean() == 1.0
    assert {len(rows) for rows in outcome.rows} == {n}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title="x"\nkind="pionts"\nsystems=["Flat"]\nmeasures=["R@10"]', "kind"),
        ('title="x"\nkind="points"\nsystems=["Flat"]\nmeasures=["R@10"]\naxis="ms"', "axis"),
        ('title="x"\nkind="points"\nsystems=["Flat"]\nmeasures=["Q@10"]', "Q@10"),
        ('title="x"\nkind="points"\nsystems=["Falt"]\nmeasures=["R@10"]', "Falt"),
    ],
)
def test_a_users_experiment_is_checked_before_it_runs(text, message, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(hi2.InvalidParameter, match=message):
        Plan.load(str(tmp_path / "mine.toml"))


def test_the_reference_system_is_measured_too():
    assert POINTS.for_systems(["hi2 Flat"], "BM25").systems == ["hi2 Flat", "BM25"]


def test_a_collection_must_have_tuning_questions_besides_test(folder, tmp_path):
    import shutil

    own = tmp_path / "docs"
    shutil.copytree(folder, own)
    shutil.copy(own / "qrels" / "test.tsv", own / "qrels" / "dev.tsv")
    with pytest.raises(hi2.InvalidParameter, match="questions to tune on"):
        load_task(own, vectors=own / "given", progress=SILENT)
    np.save(own / "given" / "queries.npy", np.load(own / "given" / "queries.npy")[:, :-1])
    with pytest.raises(hi2.InvalidParameter, match="of one dimension"):
        load_task(own, vectors=own / "given", progress=SILENT)


def test_a_damaged_checkpoint_restarts_the_encoding(tmp_path):
    encoder = hi2.StaticEncoder()
    texts = [f"text {i}" for i in range(5)]
    np.lib.format.open_memmap(tmp_path / "corpus.part", mode="w+", dtype=np.float16, shape=(5, 256)).flush()
    (tmp_path / "corpus.mark").write_text("")
    made = cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    np.testing.assert_allclose(made, encoder(texts), atol=1e-3)

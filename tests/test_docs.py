"""The examples in the documentation run, and the names in it exist."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import pkgutil
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import hi2

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
WRITTEN = [page for page in PAGES if page.name != "api.md"]
MODULES = sorted(module.name for module in pkgutil.walk_packages(hi2.__path__, "hi2.") if "_native" not in module.name)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    if name.startswith("hi2.training"):
        pytest.importorskip("torch", reason="needs the extra 'train'")
    if name.startswith("hi2.server."):
        pytest.importorskip("fastapi", reason="needs the extra 'server'")
    try:
        module = importlib.import_module(name)
    except hi2.MissingExtra as error:
        pytest.skip(f"needs an extra: {error}")
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.parametrize(
    "page", [p for p in WRITTEN if "```python" in p.read_text(encoding="utf-8")], ids=lambda p: p.name
)
def test_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), names)


def test_commands_of_the_pages_run(tmp_path, monkeypatch):
    """Run every example command with the files it names. ``build`` runs first, so that the others find an index."""
    shown = {
        line.strip()
        for page in WRITTEN
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for line in block.splitlines()
        if line.strip().startswith("hi2 ")
    }
    verbs = {line.split()[1] for line in shown}
    assert verbs == {
        "quickstart",
        "build",
        "add",
        "delete",
        "search",
        "explain",
        "info",
        "verify",
        "merge",
        "tune",
        "train",
        "eval",
        "experiment",
        "serve",
        "mcp",
    }
    monkeypatch.chdir(tmp_path)
    rows = [(f"doc-{i}", f"Hamlet was written by person {i}") for i in range(20)]
    lines = "".join(json.dumps({"_id": id, "text": text}) + "\n" for id, text in rows)
    Path("scifact").mkdir()
    for path in ("corpus.jsonl", "scifact/corpus.jsonl"):
        Path(path).write_text(lines)
    Path("notes").mkdir()
    Path("notes/horses.md").write_text("# Horses\n\nA horse eats grass and apples.")
    Path("new.jsonl").write_text(lines.replace("Hamlet", "Macbeth"))
    Path("q.jsonl").write_text(lines)
    Path("q.tsv").write_text("q1\twho wrote Hamlet\n")
    np.save("corpus.npy", hi2.StaticEncoder()([text for _, text in rows]))
    Path("scifact/queries.jsonl").write_text(lines)
    Path("scifact/qrels").mkdir()
    for split, ids in (("train", range(10)), ("test", range(10, 20))):
        Path(f"scifact/qrels/{split}.tsv").write_text("".join(f"doc-{i}\tdoc-{i}\t1\n" for i in ids))
    Path("scifact/minilm").mkdir()
    for name in ("corpus", "queries"):
        np.save(f"scifact/minilm/{name}.npy", np.load("corpus.npy"))
    order = [
        "build",
        "add",
        "merge",
        "search",
        "explain",
        "info",
        "verify",
        "tune",
        "train",
        "delete",
        "quickstart",
        "eval",
        "experiment",
    ]
    script = f"{shlex.quote(sys.executable)} -m hi2.cli"
    shown = {line for line in shown if line.split()[1] not in ("serve", "mcp")}  # these go on until they are stopped
    for line in sorted(shown, key=lambda line: (order.index(line.split()[1]), "--save-run" not in line, line)):
        done = subprocess.run(
            line.replace("hi2 ", f"{script} ", 1), shell=True, capture_output=True, text=True, check=False
        )
        if "experiment" in line and importlib.util.find_spec("matplotlib") is None:
            assert "hi2[lab]" in done.stderr
            continue
        if "hi2 train" in line and importlib.util.find_spec("torch") is None:
            assert "hi2[train]" in done.stderr
            continue
        assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_existing_files(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_generated_pages_are_up_to_date():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, text in generate.pages().items():
        assert (ROOT / "docs" / path).read_text(encoding="utf-8") == text, (
            f"run docs/generate.py: {path} is not current"
        )


def test_every_name_on_the_paper_page_exists():
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    names = re.findall(r"`(hi2(?:\.\w+)+)`", text)
    assert len(names) > 10
    for name in names:
        if name.startswith("hi2.training") and importlib.util.find_spec("torch") is None:
            continue
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
                break
            except ModuleNotFoundError:
                continue
        for part in parts[cut:]:
            assert hasattr(found, part) or part in getattr(found, "__annotations__", {}), f"{name} does not exist"
            found = getattr(found, part, None)


def test_the_format_page_describes_every_file_of_an_index(corpus, tmp_path):
    text = (ROOT / "FORMAT.md").read_text(encoding="utf-8")
    for number, options in enumerate(
        (
            {"ids": corpus.ids, "codec": hi2.OPQ(5), "refine": hi2.Flat(), "keep_text": True},
            {"clusters": hi2.KMeans(9, copies=1, copy_margin=0.5), "codec": hi2.RaBitQ(), "refine": hi2.SQ8()},
            {"codec": hi2.SQ8(), "refine": hi2.RaBitQ(bits=4)},
        )
    ):
        index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, path=tmp_path / str(number), **options)
        index.delete([index.ids()[0]])
        index.add(corpus.vectors[:1], ["a neverheardof word"], ids=["x"] if "ids" in options else None)
        index.commit()
        index.close()
        for path in (tmp_path / str(number)).rglob("*"):
            if path.is_file():
                name = re.sub(r"\d{6}", "GGGGGG", path.name)
                assert f"`{name}`" in text, f"FORMAT.md does not describe {name}"
    assert (tmp_path / "0" / "words-000002.txt").read_text() == "neverheardof\n"


def test_the_format_page_describes_the_files_of_given_weights(tmp_path):
    text = (ROOT / "FORMAT.md").read_text(encoding="utf-8")
    weights = [{"red": 1.5, "bird": 0.5}, {"green": 2.0}]
    hi2.HybridIndex.build(np.eye(2), term_weights=weights, terms=hi2.TermWeights(), path=tmp_path / "a").close()
    found = {path.name for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert "evidence_means.npy" in found
    assert [name for name in found if f"`{name}`" not in text] == []


def test_the_unpack_function_on_the_format_page_works(corpus):
    text = (ROOT / "FORMAT.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.search(r"```python\n(def unpack.*?)```", text, re.DOTALL).group(1), names)
    segment = hi2.HybridIndex.build(corpus.vectors, corpus.texts)._index.state.snapshot.segments[0].segment
    bits = (segment.n_docs - 1).bit_length()
    assert names["unpack"](segment.arrays["rows.npy"], bits, segment.n_docs).tolist() == segment.rows.tolist()


def test_the_bags_function_on_the_format_page_works():
    """Bags of one term to 20,000, in every tier of ranks, with counts of every size."""
    text = (ROOT / "FORMAT.md").read_text(encoding="utf-8")
    names: dict = {}
    for function in ("unpack", "read_bag"):
        exec(re.search(rf"```python\n(def {function}.*?)```", text, re.DOTALL).group(1), names)
    words = [f"w{i}" for i in range(20_000)]
    texts = [" ".join(words), "", "w0", " ".join(["w1"] * 16 + ["w2"] * 17 + ["w9"] * 5000 + ["w19999"] * 300)]
    texts += [" ".join(words[i * i % 20_000 :: 1 + 37 * i] * (1 + i % 20)) for i in range(60)]
    vectors = np.random.default_rng(0).standard_normal((len(texts) + 1, 4))
    index = hi2.HybridIndex.build(vectors[:-1], texts)
    index.add(vectors[-1:], ["w3 fresh w3 newer fresh fresh"])
    terms = index.model.terms
    ranks = np.append(np.argsort(np.argsort(-terms.evidence.df.astype(np.int64), kind="stable")), [20_000, 20_001])
    row = 0
    for live in index._index.state.snapshot.segments:
        segment = live.segment
        blob = segment.arrays["bags.npy"]
        bits = (len(blob) - 8).bit_length()
        offsets = names["unpack"](segment.arrays["bag_offsets.npy"], bits, segment.n_docs + 1).astype(int)
        for doc in segment.docs():
            own = [texts, ["w3 fresh w3 newer fresh fresh"]][row >= len(texts)][row % len(texts)].split()
            found = names["read_bag"](blob[offsets[doc] : offsets[doc + 1]], segment.n_terms)
            counted = sorted((int(ranks[terms.tokenizer.number(w)]), n) for w, n in Counter(own).items())
            assert found == ([r for r, _ in counted], [n for _, n in counted], len(own))
            row += 1
    assert row == len(texts) + 1


@pytest.mark.slow
def test_the_peers_benchmark_runs(data_folder, tmp_path):
    """Run the script on a few questions, with every system that builds in seconds."""
    for module, extra in (("scann", "peers"), ("usearch", "peers"), ("matplotlib", "plots")):
        pytest.importorskip(module, reason=f"needs the extra '{extra}'")
    script = ROOT / "benchmarks" / "peers.py"
    systems = ["Flat", "faiss IVF-Flat", "faiss HNSW32-SQ8", "usearch", "ScaNN", "hi2", "hi2 compact"]
    run = subprocess.run(
        [sys.executable, script, "insuranceqa", "--queries", "10", "--out", tmp_path, "--systems", *systems],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads((tmp_path / "insuranceqa.json").read_text())
    assert {row["system"] for row in report["results"]} == set(systems)
    assert report["builds"]["hi2"]["bytes"] < report["builds"]["faiss HNSW32-SQ8"]["bytes"]
    for kind in ("latency", "bytes"):
        assert (tmp_path / f"insuranceqa_{kind}.svg").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("unsupervised.py scifact", "codec loss"),
        ("scaling.py growth insuranceqa --sizes 2000 4000 --queries 10", "documents scored N^"),
        ("identifiers.py scifact", "among ten"),
        ("growth.py scifact --documents 2000", "at most 7 fsyncs"),
        ("hybrid_steps.py scifact", "no candidates by rare words"),
        ("scaling.py limits insuranceqa", "bandwidth of one thread"),
        ("scaling.py synthetic 3000", "bytes per document"),
        ("control.py adapt scifact --limit 20", "a fixed setting needs"),
        ("control.py show scifact --limit 20", "of the 100 nearest found"),
        ("control.py filter scifact --limit 10", "keeping 10.00%"),
    ],
)
def test_benchmarks_run(data_folder, command, told):
    """Run each script as a whole, on a small input."""
    script, *arguments = command.split()
    run = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / script, *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert told in run.stdout


@pytest.mark.slow
def test_the_benchmark_of_trained_parts_runs(data_folder, tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    given = ["--data", data_folder / "scifact", "--vectors", data_folder / "scifact" / "minilm", "--light"]
    train = [
        sys.executable,
        "-m",
        "hi2.cli",
        "train",
        *given,
        "--epochs",
        1,
        "--batch",
        32,
        "--out",
        tmp_path / "light",
    ]
    done = subprocess.run(list(map(str, train)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    script = [sys.executable, ROOT / "benchmarks" / "supervised.py", "scifact", "--limit", "20", "--trained", tmp_path]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "distilled" in run.stdout

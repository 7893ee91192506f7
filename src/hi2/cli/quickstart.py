"""``hi2 quickstart``: index and search the documentation of the installed Python, without a download."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import typer

from hi2 import _native
from hi2.cli.options import settings
from hi2.encoders import StaticEncoder
from hi2.evaluation.measures import agreement
from hi2.index import HybridIndex
from hi2.types import Floats

EXAMPLE_QUESTIONS = (
    "how do I reverse a list in place",
    "wait until a thread has finished",
    "read the files inside a zip archive",
)
_SKIPPED_MODULES = {
    *("antigravity", "distutils", "encodings", "idlelib", "lib2to3", "pydoc_data"),
    *("test", "this", "tkinter", "turtle", "turtledemo"),
}


def run(
    interactive: bool | None = typer.Option(None, help="Ask for your own questions. Default: only on a terminal."),
) -> None:
    """Index the documentation of the installed Python standard library and search it. Needs no network and no files.

    Example:

    hi2 quickstart
    """
    from rich.console import Console

    console = Console(highlight=False)
    corpus = dict(stdlib_documents())
    ids, texts = list(corpus), [f"{name} {text}" for name, text in corpus.items()]
    encoder = StaticEncoder()
    start = time.perf_counter()
    vectors = encoder(texts)
    index = HybridIndex.build(vectors, texts, ids=ids, encoder=encoder, progress=settings.progress)
    console.print(f"[bold]{len(index)}[/] documentation strings indexed in {time.perf_counter() - start:.1f} s.\n")
    _compare(console, index, vectors, texts, ids)
    for question in EXAMPLE_QUESTIONS:
        _answer(console, index, question)
    if interactive if interactive is not None else sys.stdin.isatty():
        console.print("[bold]Your turn[/] (an empty line ends):")
        while question := _ask():
            _answer(console, index, question)


def _ask() -> str:
    try:
        return input("? ").strip()
    except EOFError:
        return ""


def _compare(console: Any, index: HybridIndex, vectors: Floats, texts: list[str], ids: list[str]) -> None:
    """Search for the first lines of documents with the index and by brute force, and print the comparison."""
    rows = np.arange(0, len(texts), max(1, len(texts) // 200))
    query_texts = [texts[row].split("\n")[0][:200] for row in rows]
    queries = index.encoder(query_texts)  # type: ignore[misc]
    hits = index.search(queries, query_texts, k=100, lexical=0)  # brute force ranks by vectors alone
    exact = [[ids[i] for i in np.argsort(-(vectors @ query), kind="stable")[:100]] for query in queries]
    found = [[id for id in row if id is not None] for row in hits.ids.tolist()]
    hybrid = _median_microseconds(
        lambda i: index.search(queries[i], query_texts[i], k=100, lexical=0), len(query_texts)
    )
    level = _native.simd_level()  # brute force uses one thread and the same instructions
    brute = _median_microseconds(
        lambda i: np.argpartition(-_native.dot(queries[i : i + 1], vectors, level)[0], 100), len(query_texts)
    )
    share = float(np.mean(hits.n_scored)) / len(index)
    info = index.info()
    console.print(
        f"Against brute force, on {len(query_texts)} queries: "
        f"agreement@10 [bold]{agreement(found, exact, k=10):.3f}[/], "
        f"agreement@100 [bold]{agreement(found, exact, k=100):.3f}[/],\nscoring [bold]{share:.1%}[/] of the documents; "
        f"{info['bytes_per_doc']:.0f} bytes per document (vectors {info['bytes']['codes'] // len(index)}).\n"
        f"Median time for one query: {hybrid:.0f} µs, tokenization included; brute force {brute:.0f} µs.\n"
        f"Brute force is fast on so few documents; the share that is scored shrinks as a collection grows.\n"
    )


def _median_microseconds(run: Any, n: int) -> float:
    times = []
    for i in range(n):
        start = time.perf_counter()
        run(i)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def _answer(console: Any, index: HybridIndex, question: str) -> None:
    from rich.markup import escape

    hits = index.search(question, k=3)
    console.print(f"[bold]{escape(question)}?[/]")
    for id, score in hits:
        first = " ".join(str(index.get(id)["text"]).split())[len(str(id)) : len(str(id)) + 90]
        console.print(f"  {score:.3f}  [cyan]{escape(str(id))}[/]  {escape(first)}", soft_wrap=True)
    if len(hits):
        console.print(f"[dim]{escape(str(index.explain(question, id=hits.ids[0], k=3)))}[/]\n")


def stdlib_documents() -> Iterator[tuple[str, str]]:
    """Yield the qualified name and docstring of every module, class, function and method of the standard library."""
    seen = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _module_names():
            try:
                module = importlib.import_module(name)
            except Exception:
                continue
            for title, value in _members(name, module):
                text = inspect.getdoc(value)
                name_and_text = (title.rsplit(".", 1)[-1], text)  # the same object under another name
                if text and len(text) > 15 and name_and_text not in seen:
                    seen.add(name_and_text)
                    yield title, text


def _module_names() -> Iterator[str]:
    """Yield the names of the public modules of the standard library, including those inside packages."""
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in _SKIPPED_MODULES or (spec := importlib.util.find_spec(name)) is None:
            continue
        yield name
        for inner in pkgutil.iter_modules(spec.submodule_search_locations or ()):
            if not inner.name.startswith("_") and inner.name not in _SKIPPED_MODULES | {"tests"}:
                yield f"{name}.{inner.name}"


def _members(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    yield name, module
    public = set(getattr(module, "__all__", ()))
    for key, value in sorted(vars(module).items()):
        own = key in public if public else getattr(value, "__module__", None) == name
        if key.startswith("_") or not own or not callable(value):
            continue
        yield f"{name}.{key}", value
        if inspect.isclass(value):
            for inner, member in sorted(vars(value).items()):
                if not inner.startswith("_") and callable(member):
                    yield f"{name}.{key}.{inner}", member

"""Every error is a sentence: what is wrong, the value, and the way out. ``pytest -s`` prints them for reading."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import hi2

SOURCE = Path(hi2.__file__).parent
#: Functions that make an error from parts: the position of the text that is checked.
MAKERS = {"invalid": 1}
ERRORS = {
    "Error",
    "FormatError",
    "InvalidParameter",
    "Locked",
    "MissingExtra",
    "NotFound",
    "ReadOnly",
    "UnsupportedVersion",
}
#: Words that read badly, or say nothing.
BAD = [
    (r"\binstead\b(?! of)", "'instead' after the value"),
    (r"\b(?:please|sorry|oops|illegal|fatal)\b", "a word that helps nobody"),
    (r"\b(?:TODO|FIXME|XXX)\b", "a note to ourselves"),
    (r"\bone \w+ a (?:document|query|text|vector)\b", "'a' for 'per'"),
    (r"[^\n]  ", "two spaces"),
    (r"(?<!\.)\.\.(?!\.)", "two full stops"),
    (r",\.", "a comma before the full stop"),
    (r"!", "an exclamation mark"),
]


def text_of(node: ast.expr) -> str | None:
    """The text of a string in the source, with ‹…› for what is filled in; None if it is not written there."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "‹…›" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None else left + (right or "‹…›")
    return None


def texts_of(node: ast.expr, names: dict[str, list[ast.expr]]) -> list[str]:
    """The texts that an expression may have; a name stands for what is assigned to it."""
    if isinstance(node, ast.Name):
        return [text for own in names.get(node.id, []) for text in texts_of(own, {**names, node.id: []})]
    if isinstance(node, ast.IfExp):
        return [*texts_of(node.body, names), *texts_of(node.orelse, names)]
    text = text_of(node)
    return [] if text is None else [text]


def assigned(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What is assigned to each name of a file, and what is passed as each parameter of its functions."""
    names: dict[str, list[ast.expr]] = {}
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                for own, value in pairs:
                    names.setdefault(getattr(own, "id", ""), []).append(value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in functions:
            parameters = [own.arg for own in functions[node.func.id].args.args]
            for name, value in [*zip(parameters, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]:
                names.setdefault(str(name), []).append(value)
    return names


def raised_in_the_source():
    """Yield (place, text, whole): every text of an error in the source; ``whole`` if it is not a part of a sentence.

    The text is None where it is not written in the same file.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = assigned(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            name, place = node.func.id, f"{path.relative_to(SOURCE)}:{node.lineno}"
            at = MAKERS.get(name, 0)
            if (name in MAKERS or name in ERRORS) and len(node.args) > at:
                for text in texts_of(node.args[at], names) or [None]:
                    yield place, text, name in ERRORS


ALL = list(raised_in_the_source())
FOUND = [own for own in ALL if own[1] is not None]


def test_almost_no_text_is_out_of_sight():
    """Where a text is passed from another file, or made by a call, it is seen by the calls that provoke it."""
    unseen = [place for place, text, _ in ALL if text is None]
    print(*unseen, sep="\n")
    assert len(unseen) <= 12


def test_the_errors_of_native_code_read_well():
    root = Path(__file__).parents[1] / "native"
    texts = [
        (path.name, text)
        for folder in ("src", "bindings")
        for path in sorted((root / folder).rglob("*.cpp"))
        for line in re.findall(r"(?:throw|require|check|Damaged)[^;]*;", path.read_text(encoding="utf-8"))
        for text in re.findall(r'"([^"\n]*)"', line)
        if " " in text.strip()
    ]
    assert len(texts) > 30
    for place, text in texts:
        print(f"{place:45} {text}")
        assert not [why for pattern, why in BAD if re.search(pattern, text)], f"{place}: {text}"


def test_the_errors_of_the_source_are_sentences():
    wrong = []
    for place, text, whole in FOUND:
        print(f"{place:45} {text}")
        said = text.strip()
        wrong += [f"{place}: {why}: {text}" for pattern, why in BAD if re.search(pattern, text)]
        if whole:
            if not (said[0].isupper() or said.startswith(("‹", "'", "--", "hi2", "ir_datasets"))):
                wrong.append(f"{place}: does not begin as a sentence: {text}")
            if not (said.endswith((".", "‹…›")) or "pip install" in said):
                wrong.append(f"{place}: does not end as a sentence: {text}")
        elif said.endswith("."):
            wrong.append(f"{place}: ends with a full stop, and more follows: {text}")
    assert wrong == []
    assert len(FOUND) > 250


INDEX = {"texts": ["a red apple", "a green pear"], "ids": ["apple", "pear"]}


@pytest.fixture
def index():
    return hi2.HybridIndex.build(np.eye(2, 4), **INDEX, payload=[{"year": 1999}, {"year": 2001}])


#: What users get wrong, and the words that must be in the answer: the subject, the value, the way out.
CALLS = [
    (lambda i: i.search(np.ones(3)), ["dim", "3", "4"]),
    (lambda i: i.search(np.ones(4), k=0), ["'k'", "0", "at least 1|from 1"]),
    (lambda i: i.search(np.ones(4), k="ten"), ["'k'", "'ten'", "integer"]),
    (lambda i: i.search(np.full(4, np.nan)), ["finite|NaN|nan"]),
    (lambda i: i.search(np.ones(4), filter="yeer > 3"), ["'filter'", "yeer", "year"]),
    (lambda i: i.search(np.ones(4), filter="year >"), ["'filter'", "the end", "a number"]),
    (lambda i: i.search(np.ones(4), filter="year == 'x'"), ["'filter'", "year", "numbers"]),
    (lambda i: i.search(np.ones(4), lexical=-1), ["'lexical'", "-1", "0"]),
    (lambda i: i.search(np.ones(4), profile="fast"), ["'profile'", "'fast'", r"tune\(\)"]),
    (lambda i: i.search(np.ones(4), group_by="lang"), ["'group_by'", "lang", "year"]),
    (lambda i: i.get("plum"), ["'ids'", "plum", "in the index"]),
    (lambda i: i.get(3), ["'ids'", "3", "strings", "integer"]),
    (lambda i: i.delete("plum"), ["'ids'", "plum", "missing_ok=True"]),
    (lambda i: i.add(np.eye(1, 4), ["x"], ids=["apple"]), ["'ids'", "'apple'", "upsert"]),
    (lambda i: i.add(np.eye(1, 4), ["x"], ids=[7]), ["'ids'", "int", "str"]),
    (lambda i: i.add(np.eye(1, 3), ["x"], ids=["x"]), ["3", "4"]),
    (lambda i: i.add(np.eye(1, 4), ["x", "y"], ids=["x"]), ["'texts'", "2", "1"]),
    (
        lambda i: i.add(np.eye(1, 4), ["x"], ids=["x"], payload=[{"year": "new"}]),
        ["'year'", "'new'", "integers", "'x'", "'other'"],
    ),
    (lambda i: i.commit(), [r"save\(path\)", "memory"]),
    (lambda i: i.tune(np.eye(3, 4)), ["'queries'", "3", "20"]),
    (lambda i: hi2.HybridIndex.open("/no/such/index"), ["/no/such/index", "no such folder"]),
    (lambda i: hi2.HybridIndex.build(np.eye(3), terms=None, metric="l2"), ["'metric'", "'l2'", "cosine"]),
    (lambda i: hi2.HybridIndex.build(np.eye(3)), ["'texts'", "terms=None"]),
    (
        lambda i: hi2.HybridIndex.build(np.eye(3), ["a"] * 3, ids=["x", "x", "y"]),
        ["'ids'", "'x'", "unique", "rows 0 and 1"],
    ),
    (lambda i: hi2.chunks(["a"], tokens=5, overlap=9), ["'overlap'", "9", "less than tokens"]),
    (lambda i: hi2.BM25(per_doc=0), ["'per_doc'", "0"]),
    (lambda i: hi2.column("year") == [1], ["'filter'", r"\[1\]", "a number"]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_what_users_get_wrong_is_answered_in_a_sentence(index, number):
    call, words = CALLS[number]
    with pytest.raises(hi2.Error) as raised:
        call(index)
    said = str(raised.value)
    print(said)
    for word in words:
        assert re.search(word, said), f"{word} is not in: {said}"
    assert not [why for pattern, why in BAD if re.search(pattern, said.split("\n", maxsplit=1)[0])], said
    assert said[0].isupper() or said[0] in "/'"
    assert said.split("\n", maxsplit=1)[0].endswith(".")

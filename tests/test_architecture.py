"""The tree is the architecture: imports point down, and ``import hi2`` stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hi2

SOURCE = Path(hi2.__file__).parent
ROOT = Path(__file__).parents[1]

# From the top down. A name imports from lines below its own; names on one line do not know each other. The modules of a
# folder, and the leaves, may import each other without a cycle.
LAYERS = [
    "cli",
    "server client integrations",
    "evaluation",
    "training",
    "index",
    "tuning reports changes",
    "search ingest",
    "store",
    "state",
    "selectors codecs filters",
    "encoders",
    "text",
    "data",
    "errors types arguments progress version faiss_fitting _native",
]
LEAVES = set(LAYERS[-1].split())
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}


def module_name(path: Path) -> str:
    """The dotted name of a file below hi2: ``store.reader``, or ``store`` for its ``__init__``."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")} | {"_native": SOURCE / "_native.pyi"}


def imports_of(path: Path, *, for_types: bool) -> set[str]:
    """The modules below hi2 that a file imports, however it spells it; "" is the package itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING" and not for_types
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            # ``from hi2.store import reader`` names a module, ``from hi2.store.reader import read_index`` is one.
            found |= {name if name.removeprefix("hi2.") in MODULES else str(node.module) for name in names}
    own = {name for name in found if name == "hi2" or name.startswith("hi2.")}
    return {name.removeprefix("hi2").removeprefix(".") for name in own}


def folder_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_every_module_has_a_layer_and_imports_point_down():
    for module, path in MODULES.items():
        own = folder_of(module)
        if module in ("", "_native"):  # the package's front door may import anything; the stub is for type checkers
            continue
        assert own in LEVEL, f"{module} has no layer"
        for imported in imports_of(path, for_types=False):
            other = folder_of(imported)
            assert other, f"{module} imports the package itself"
            if other == own or (own in LEAVES and other in LEAVES):
                continue
            assert LEVEL[other] > LEVEL[own], f"{module} imports hi2.{imported}, which is not below it"


def test_type_checking_imports_point_down_too():
    for module, path in MODULES.items():
        own = folder_of(module)
        if module in ("", "_native"):
            continue
        for imported in imports_of(path, for_types=True):
            assert LEVEL[folder_of(imported)] >= LEVEL[own], f"{module} knows hi2.{imported} by its type"


def test_there_are_at_most_fourteen_layers_and_each_name_exists():
    assert len(LAYERS) <= 14
    present = {folder_of(module) for module in MODULES} - {""}
    assert present == set(LEVEL)


def test_no_modules_import_each_other_in_a_circle():
    """Not only between folders: a folder has an order of its own, and so do folders within it."""
    graph = {
        module: {name for name in imports_of(path, for_types=False) if name != module}
        for module, path in MODULES.items()
        if module not in ("", "_native")
    }
    list(TopologicalSorter(graph).static_order())
    inner = {module for module, path in MODULES.items() if path.name == "__init__.py" and "." in module}
    for folder in inner:  # such as evaluation.peers: what it imports from its parent never imports it
        own = {module for module in graph if module == folder or module.startswith(folder + ".")}
        used = set().union(*(graph[module] for module in own)) - own
        users = {module for module in graph if module not in own and graph[module] & own}
        assert not used & users, f"{folder} and {used & users} know each other"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import hi2.store.reader", {"store.reader"}),
        ("import hi2.store.reader as reading, os", {"store.reader"}),
        ("from hi2 import store", {"store"}),
        ("from hi2.store import reader, lock", {"store.reader", "store.lock"}),
        ("from hi2.store.reader import read_index", {"store.reader"}),
        ("from hi2 import HybridIndex", {""}),
        ("def f():\n    import hi2.index", {"index"}),
    ],
)
def test_every_spelling_of_an_import_is_seen(source, expected, tmp_path):
    (tmp_path / "a.py").write_text(source)
    assert imports_of(tmp_path / "a.py", for_types=False) == expected


def entries(call):
    """How often each folder is entered from each other one while a call runs, generators and lambdas apart."""
    entered = Counter()

    def folder(frame):
        path = Path(frame.f_code.co_filename)
        return path.relative_to(SOURCE).parts[0].removesuffix(".py") if path.is_relative_to(SOURCE) else None

    def profile(frame, event, _):
        own = folder(frame) if event == "call" and not frame.f_code.co_name.startswith("<") else None
        caller = frame.f_back
        while own is not None and caller is not None and folder(caller) is None:
            caller = caller.f_back
        if own is not None and caller is not None and folder(caller) != own:
            entered[folder(caller), own] += 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def test_a_build_and_a_filtered_search_enter_each_room_once(corpus, tmp_path):
    given = corpus.vectors[:50], corpus.texts[:50]
    hi2.HybridIndex.build(*given)  # what is imported at first use is imported now
    for path in (None, tmp_path / "a"):
        built = entries(lambda path=path: hi2.HybridIndex.build(*given, payload=[{"n": 1}] * 50, path=path).close())
        assert built["index", "changes"] == 2  # build, close
        assert built["changes", "ingest"] == 1
        assert built["index", "ingest"] == built["index", "store"] == 0
    index = hi2.HybridIndex.open(tmp_path / "a")
    searched = entries(lambda: index.search(corpus.vectors[0], corpus.texts[0], filter="n == 1"))
    assert searched["index", "search"] == 1
    assert searched["search", "changes"] == searched["search", "store"] == searched["search", "ingest"] == 0


def test_what_stands_around_the_index_uses_its_public_api_only():
    """Whoever serves an index, or adapts it to a framework, has what every user has; locks begin anew after a fork."""
    public = {"index", "types", "errors", "version", "data.fork"}
    for module, path in MODULES.items():
        own = folder_of(module)
        if own in ("server", "client", "integrations"):
            used = {name for name in imports_of(path, for_types=True) if folder_of(name) != own}
            assert used <= public, f"{module} imports {used - public}"


def test_the_state_of_an_index_does_not_know_the_disk():
    modules = {"os", "io", "pathlib", "mmap", "shutil", "tempfile", "glob"}
    calls = {"open", "load", "loadtxt", "memmap", "fromfile", "tofile", "save", "open_memmap"}
    for path in (SOURCE / "state").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not modules & {alias.name.split(".")[0] for alias in node.names}, f"{path.name} knows the disk"
            elif isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] not in modules, f"{path.name} knows the disk"
            elif isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert name not in calls, f"{path.name} calls {name}"


def test_nothing_is_imported_by_a_string():
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
                named = node.value.removeprefix("hi2.")
                hidden = node.value.startswith("hi2.") and named in MODULES and "." in named
                assert not hidden, f"{module} names hi2.{named} in a string"


def test_tests_mirror_the_sources():
    """A folder per folder, a stem per stem: whoever changes a file knows where its tests are."""
    tests = Path(__file__).parent
    for module, path in MODULES.items():
        if path.name in ("__init__.py", "__main__.py") or module in ("_native", "version"):
            continue
        relative = path.relative_to(SOURCE)
        assert (tests / relative.parent / f"test_{relative.name}").exists(), f"{relative} has no test of its stem"


def test_the_architecture_page_names_every_folder():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in LEVEL:
        folder = SOURCE / name
        if folder.is_dir():
            assert f"`{name}/`" in page, f"ARCHITECTURE.md does not name {name}/"


def test_every_file_the_pages_name_exists():
    for page in [ROOT / "ARCHITECTURE.md", ROOT / "FORMAT.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|cpp|h|md))`", page.read_text(encoding="utf-8")):
            places = (ROOT, SOURCE, ROOT / "src" / "hi2", ROOT / "native" / "src", ROOT / "native" / "include" / "hi2")
            assert any((place / name).exists() for place in places), f"{page.name} names {name}, which does not exist"


def test_the_facade_holds_no_logic():
    """A method of HybridIndex names its arguments, says what it does and makes a call: nothing is decided there."""
    tree = ast.parse((SOURCE / "index.py").read_text(encoding="utf-8"))
    (facade,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    deciding = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.With, ast.BoolOp, ast.Lambda)
    looping = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    for method in (node for node in facade.body if isinstance(node, ast.FunctionDef)):
        for node in (inner for statement in method.body for inner in ast.walk(statement)):
            assert not isinstance(node, (*deciding, *looping)), f"{method.name} decides something"
            if isinstance(node, (ast.Assign, ast.AugAssign)) and method.name != "__init__":
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                assert all(isinstance(target, ast.Name) for target in targets), f"{method.name} changes an attribute"


def test_importing_hi2_and_searching_an_index_load_no_heavy_modules(tmp_path):
    hi2.HybridIndex.build([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).save(tmp_path / "a")
    script = """
import sys, hi2
index = hi2.HybridIndex.open(sys.argv[1])
index.search([1.0, 0.0], "a")
index.explain([1.0, 0.0], "a", id=1)
print([name for name in ("torch", "faiss", "ray", "fastapi", "scipy", "rich", "typer") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path / "a"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_module_and_every_public_name_has_a_docstring():
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path.name} has no docstring"
    for name in hi2.__all__:
        assert name == "__version__" or getattr(hi2, name).__doc__, f"hi2.{name} has no docstring"


def test_native_code_does_not_know_python():
    native = SOURCE.parents[1] / "native"
    if not native.is_dir():  # installed without its source
        native = Path(__file__).parents[1] / "native"
    for path in [*native.glob("src/**/*.cpp"), *native.glob("include/**/*.h")]:
        text = path.read_text(encoding="utf-8")
        assert "Python.h" not in text
        assert "nanobind" not in text

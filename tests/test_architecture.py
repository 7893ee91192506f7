"""The tree is the architecture: imports point down, and ``import hi2`` stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import hi2

SOURCE = Path(hi2.__file__).parent

# From the lowest layer to the highest. A module may import only from lines above its own and from its own folder.
LAYERS = [
    {"errors", "version", "_native", "kept"},
    {"types"},
    {"arguments", "progress", "spool", "ragged", "faiss_training"},
    {"text", "storage", "vectors", "ids", "columns"},
    {"encoders", "filters"},
    {"selectors", "codecs"},
    {"model"},
    {"segment", "parts"},
    {"filing", "snapshot", "drift"},
    {"merging", "documents", "filtering", "shaping", "adapting"},
    {"profiles"},
    {"fitting", "store"},
    {"searching", "changes", "refitting"},
    {"explanation", "inspection"},
    {"health", "tuning"},
    {"index"},
    {"inputs"},
    {"training"},
    {"evaluation"},
    {"cli"},
    {"__init__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(path: Path) -> set[str]:
    """Return the top-level names under hi2 that a file imports, except those for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "hi2":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hi2."):
            found.add(node.module.split(".")[1])
    return found


def test_every_module_has_a_layer_and_imports_point_down():
    for path in SOURCE.rglob("*.py"):
        relative = path.relative_to(SOURCE)
        own = relative.parts[0].removesuffix(".py")
        assert own in LEVEL, f"{relative} has no layer"
        for name in imported(path) - {own}:
            assert LEVEL[name] < LEVEL[own], f"{relative} imports hi2.{name}, which is not below it"


def test_the_facade_makes_no_states():
    """What a change does to an index is decided in one place, which is not the facade."""
    tree = ast.parse((SOURCE / "index.py").read_text(encoding="utf-8"))
    called = {getattr(node.func, "id", "") for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert "replace" not in called


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

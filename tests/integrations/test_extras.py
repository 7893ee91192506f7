"""A framework that is not installed is named with its extra, and nothing loads a framework unasked."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    "langchain": ("langchain", "langchain_core"),
    "haystack": ("haystack", "haystack"),
    "haystack_filters": ("haystack", "haystack"),
    "haystack_retrievers": ("haystack", "haystack"),
    "llama_index": ("llama-index", "llama_index"),
    "llama_index_filters": ("llama-index", "llama_index"),
    "pyterrier": ("pyterrier", "pyterrier"),
    "mcp": ("mcp", "mcp"),
}


def printed(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("module", EXTRAS)
def test_a_missing_framework_is_named_with_its_extra(module):
    extra, needed = EXTRAS[module]
    script = f"""
import sys
sys.modules[{needed!r}] = None
import hi2
try:
    import hi2.integrations.{module}
except hi2.MissingExtra as error:
    print(error)
"""
    said = printed(script)
    assert said.endswith(f"is not installed; install it with: pip install 'hi2[{extra}]'")


def test_hi2_loads_no_framework():
    frameworks = sorted({needed for _, needed in EXTRAS.values()} | {"pandas", "pydantic", "hi2.integrations"})
    assert printed(f"import sys, hi2; print([name for name in {frameworks!r} if name in sys.modules])") == "[]"

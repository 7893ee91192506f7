"""The documentation site builds without a warning, asks no other server for anything, and has every public name."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hi2

ROOT = Path(__file__).parents[1]
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings_handlers") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs the extra 'docs' ({', '.join(MISSING)} not installed)")

#: Attributes by which a page makes a browser load something. A plain link, <a href>, loads nothing.
LOADING = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
EXTERNAL = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
STYLE_URL = re.compile(r"(?:@import\s+|url\(\s*)['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Sources(HTMLParser):
    """What a page loads from other servers, and the anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.external: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if name in LOADING.get(tag, ()) and EXTERNAL.match(value or ""):
                self.external.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.external += STYLE_URL.findall(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    found = {}
    for path in site.rglob("*.html"):
        found[path.relative_to(site).as_posix()] = sources = Sources()
        sources.feed(path.read_text(encoding="utf-8"))
    return found


def test_the_main_pages_are_there(site):
    for name in (
        ".",
        "tutorial",
        "guide",
        "hybrid",
        "integrations",
        "server",
        "page",
        "commands",
        "commands/serve",
        "concepts",
        "parameters",
        "reference",
        "reference/hybrid-index",
        "results",
        "results/main",
        "vectors",
        "peers",
        "ARCHITECTURE",
        "paper",
        "FORMAT",
        "SECURITY",
        "CHANGELOG",
    ):
        assert (site / name / "index.html").is_file(), f"the site has no page {name}"


def test_every_command_has_a_page_in_the_navigation(site):
    home = (site / "index.html").read_text(encoding="utf-8") + (site / "commands" / "index.html").read_text("utf-8")
    for page in (ROOT / "docs" / "commands").glob("*.md"):
        if page.name != "README.md":
            assert re.search(rf'href="[^"]*{page.stem}/"', home), f"mkdocs.yml does not name {page.name}"


def test_the_reference_has_every_public_name(pages):
    anchors = {anchor for name, page in pages.items() if name.startswith("reference/") for anchor in page.anchors}
    assert [name for name in hi2.__all__ if f"hi2.{name}" not in anchors] == []


def test_pages_load_nothing_from_other_servers(site, pages):
    assert {name: page.external for name, page in pages.items() if page.external} == {}
    for path in site.rglob("*"):
        if path.suffix in (".css", ".svg", ".html"):
            assert STYLE_URL.findall(path.read_text(encoding="utf-8")) == [], path.name


def test_pictures_contain_no_script_and_no_reference_to_other_files():
    for path in (ROOT / "docs" / "images").glob("concepts-*.svg"):
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text, path.name
        assert "href" not in text, path.name
        assert "foreignObject" not in text, path.name

"""What the documentation site has besides the pages of docs/: files of the repository, and examples of docstrings.

Pages link to files by their place in the repository (`../FORMAT.md`), as GitHub needs it. MkDocs knows only docs/. So
every file outside docs/ that a page links to, or that the navigation names, becomes a page too, and links are rewritten
to the places that files have in the site. Nothing is copied.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
#: Pages of the repository's first folder that the navigation names.
ROOT_PAGES = ("ARCHITECTURE.md", "FORMAT.md", "SECURITY.md", "CHANGELOG.md")
#: What these files say is elsewhere in the site.
ELSEWHERE = {ROOT / "README.md": "index.md", DOCS / "api.md": "reference/index.md"}
LANGUAGES = {".py": "python", ".h": "cpp", ".cpp": "cpp", ".json": "json", ".toml": "toml", ".yml": "yaml"}
#: A link or an image: the target, and the heading in it.
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
#: GitHub nests a list by two spaces, Python-Markdown by four.
NESTED = re.compile(r"^((?: {2})+)(?=[-*] |\d+\. )", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file outside docs/ that the site needs."""
    pages = [DOCS / file.src_uri for file in files if file.is_documentation_page()]
    waiting = [ROOT / name for name in ROOT_PAGES]
    waiting += [target for page in pages for target in _linked(page, page.read_text(encoding="utf-8"))]
    added: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in added or path in ELSEWHERE or path.is_relative_to(DOCS):
            continue
        added.add(path)
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            waiting += _linked(path, text)
        else:
            text = f"# {path.name}\n\n`````{LANGUAGES.get(path.suffix, 'text')}\n{text}`````\n"
        files.append(File.generated(config, _place(path), content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with links to where files are in the site, and lists that Python-Markdown nests."""
    if page.parent is None:  # a tab of its own: there is nothing to show beside it
        page.meta["hide"] = ["navigation"]
    uri = page.file.src_uri
    path = DOCS / uri if (DOCS / uri).exists() else ROOT / uri

    def moved(link: re.Match[str]) -> str:
        target = _target(path, link[1])
        if target is None:
            return link[0]
        return f"]({posixpath.relpath(_place(target), posixpath.dirname(uri) or '.')}{link[2] or ''})"

    return _outside_code(markdown, lambda text: NESTED.sub(r"\1\1", LINK.sub(moved, text)))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    return "".join(part if i % 2 else change(part) for i, part in enumerate(CODE.split(markdown)))


def _linked(page: Path, text: str) -> list[Path]:
    """Return the files of the repository that a page links to."""
    found = [_target(page, link[1]) for part in CODE.split(text)[::2] for link in LINK.finditer(part)]
    return [path for path in found if path is not None]


def _target(page: Path, link: str) -> Path | None:
    """Return the file that a link of a page leads to; None if it is no file of the repository, which MkDocs reports."""
    path = Path(os.path.normpath(page.parent / link))
    if path.is_dir():
        path /= "README.md"
    return path if path.is_file() and path.is_relative_to(ROOT) else None


def _place(path: Path) -> str:
    """Return the place of a file in the site. Sources are shown on a page."""
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return path.relative_to(ROOT).as_posix() + ("" if path.suffix == ".md" else ".md")


class FencedExamples(griffe.Extension):
    """Put the examples of docstrings (``>>>``) into code blocks."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is None:
            return
        lines: list[str] = []
        fenced = False
        for line in obj.docstring.value.splitlines():
            example = line.startswith(">>>") or (fenced and bool(line.strip()))
            if example != fenced:
                lines += ["```pycon"] if example else ["```"]
                fenced = example
            lines.append(line)
        obj.docstring.value = "\n".join([*lines, *["```"] * fenced])

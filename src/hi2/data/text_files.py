"""Which texts are in a folder of files? Those of ``.txt``, ``.md`` and ``.html`` files, by their paths."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from hi2.data.input_files import Document, Skipped
from hi2.errors import InvalidParameter, invalid

_HTML = (".html", ".htm")
SUFFIXES = (".txt", ".md", *_HTML)
#: What these elements hold is not read.
_SILENT = {"script", "style", "template", "noscript", "svg", "title"}
#: Elements that begin a line of their own, and those that are a paragraph.
_LINES = {"br", "li", "tr", "dt", "dd", "option"}
_BLOCKS = {"p", "div", "section", "article", "ul", "ol", "table", "blockquote", "pre", "header", "footer", "main"}
_BLOCKS |= {f"h{n}" for n in range(1, 7)}


def read_text_files(folder: Path, *, skipped: Skipped | None = None) -> Iterator[Document]:
    """Yield the text of every file inside a folder, however deep, in order of their paths, which are the ids.

    A file that is not UTF-8 is refused, or recorded in ``skipped``. Files and folders whose names begin with a dot are
    left out, and links are not followed.
    """
    if not folder.is_dir():
        raise invalid("--files", "a folder", f"'{folder}'")
    n_files = 0
    for path in sorted(_files(folder)):
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"{path}: cannot be read as UTF-8 ({getattr(error, 'reason', None) or error})."
            if skipped is None:
                raise InvalidParameter(f"{problem} Fix it, or skip bad files with --skip-bad.") from error
            skipped.note(problem)
            continue
        n_files += 1
        yield Document(path.relative_to(folder).as_posix(), html_text(text) if path.suffix.lower() in _HTML else text)
    if n_files == 0:
        raise invalid("--files", f"a folder with {', '.join(SUFFIXES)} files", f"'{folder}', which has none")


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix.lower() in SUFFIXES and path.is_file():
            yield path


def html_text(source: str) -> str:
    """Return the text of a page, its paragraphs apart.

    >>> html_text("<p>One &amp; <b>two</b></p><script>no()</script><p>three</p>")
    'One & two\\n\\nthree'
    """
    reader = _Text()
    reader.feed(source)
    reader.close()
    lines = [" ".join(line.split()) for line in "".join(reader.parts).split("\n")]
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n\n".join(own.strip("\n") for own in paragraphs if own.strip())


class _Text(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if tag in _BLOCKS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(" ".join(data.split("\n")))

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n\n")
        elif tag in _LINES:
            self.parts.append("\n")

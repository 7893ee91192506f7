"""Generate the pages of the commands and of the API from the code.

    python docs/generate.py

``tests/test_docs.py`` checks that the committed pages are up to date.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer

import hi2
from hi2.cli import app

DOCS = Path(__file__).parent


def command_pages() -> dict[str, str]:
    """Return the page docs/commands/VERB.md of every command."""
    group: Any = typer.main.get_command(app)
    pages = {}
    for name, command in sorted(group.commands.items()):
        text, _, example = inspect.cleandoc(command.help or "").partition("\n\n")
        lines = [f"# hi2 {name}", "", " ".join(text.split()), ""]
        for line in example.splitlines():
            if line.startswith("hi2 "):
                lines += ["```sh", line, "```", ""]
        lines += ["| argument or option | default | what it does |", "|---|---|---|"]
        for parameter in command.params:
            if parameter.name in ("help",):
                continue
            option = parameter.param_type_name == "option"
            shown = ", ".join([*parameter.opts, *parameter.secondary_opts]) if option else str(parameter.name).upper()
            required = parameter.required or (parameter.default is ...)
            default = (
                "" if required or parameter.default is None else getattr(parameter.default, "value", parameter.default)
            )
            help = (getattr(parameter, "help", None) or "").replace("|", "\\|")
            lines.append(f"| `{shown}` | {'required' if required else default} | {help} |")
        pages[f"commands/{name}.md"] = "\n".join([*lines, ""])
    return pages


def api_page() -> str:
    """Return docs/api.md: every public name with its signature and docstring."""
    lines = ["# API", "", "Generated from the docstrings by `docs/generate.py`.", ""]
    for name in sorted(hi2.__all__, key=str.lower):
        value = getattr(hi2, name)
        if name == "__version__":
            continue
        lines += [f"## hi2.{name}", ""]
        if inspect.isclass(value) and not issubclass(value, Exception):
            lines += ["```", f"{name}{_signature(value)}", "```", ""]
        lines += [_prose(value), ""]
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, found in sorted(vars(value).items()):
                function = getattr(found, "__func__", found)
                if member.startswith("_") or not getattr(function, "__doc__", None) or not callable(function):
                    continue
                lines += [
                    f"### {name}.{member}",
                    "",
                    "```",
                    f"{member}{_signature(function)}",
                    "```",
                    "",
                    _prose(function),
                    "",
                ]
    return "\n".join(lines)


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value)).replace("'", "")
    except ValueError:
        return "(...)"


def _prose(value: Any) -> str:
    """Return a docstring with its examples in fenced code blocks."""
    out, fenced = [], False
    for line in (inspect.getdoc(value) or "").splitlines():
        example = line.startswith(">>>") or line.startswith("...") or (fenced and bool(line.strip()))
        if example != fenced:
            out.append("```")
            fenced = example
        out.append(line if fenced else line.replace("``", "`"))
    return "\n".join([*out, "```"] if fenced else out)


def pages() -> dict[str, str]:
    """Return the text of every generated page, keyed by its path under docs/."""
    return {**command_pages(), "api.md": api_page()}


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")

"""How does an error of the library read on the command line? It names the options of the command, not arguments."""

from __future__ import annotations

import re
from collections.abc import Collection

#: What the library says of its arguments and methods, and what a command says. The first that fits is taken.
_OPTIONS = [
    (
        r"The 'ids' parameter must have one entry per vector \((.*)\)\. Got (\d+)",
        r"--vectors must have \2 rows. Got \1",
    ),
    (r"The 'ids' parameter must be", "An id must be"),
    (r"The 'payload' parameter must", "A payload must"),
    (r"columns=\{name: 'other'\}", "--free NAME"),
    (r"declare the column free when the index is made: ", "build the index with "),
    (r"[Pp]ass missing_ok=True|missing_ok=True", "--missing-ok"),
    (r"overwrite=True", "--overwrite"),
    (r"tune\(\) makes them", "hi2 tune makes them"),
    (r"\(see bags= and refit\(\)\)", "(build it without --no-bags)"),
    (r"use upsert\(?\)?", "use --replace"),
    (r"trust_encoder=True", "--trust-encoder"),
    (r"keep_text=True", "--text"),
    (r"mode='w'", "hi2 add"),
]
_PARAMETER = re.compile(r"The '(-*\w[\w-]*)' parameter")
#: Options that are called otherwise than the arguments.
_NAMES = {"k": "-k", "path": "--out"}


def as_options(message: str, names: Collection[str]) -> str:
    """Return a message of the library in the words of a command; ``names`` are the command's parameters.

    >>> as_options("The 'group_by' parameter must be a column.", {"group_by", "k"})
    '--group-by must be a column.'
    >>> as_options("The 'texts' parameter must be given.", {"k"})
    "The 'texts' parameter must be given."
    """
    for said, option in _OPTIONS:
        message = re.sub(said, option, message)

    def named(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("-"):
            return name
        option = _NAMES.get(name, f"--{name.replace('_', '-')}")
        return option if name in names or option[2:] in names else match[0]

    return _PARAMETER.sub(named, message)

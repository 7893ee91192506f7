"""Who may read, who may write? Tokens from a file, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from pathlib import Path

from hi2.errors import InvalidParameter, invalid

READ, WRITE = "read", "write"
_SHORTEST = 16
_LINE = re.compile(r"(read|write)\s+(\S+)")


class Tokens:
    """The tokens of a server. Their digests are kept, not the tokens.

    >>> tokens = Tokens([("read", "a-token-of-a-reader"), ("write", "a-token-of-a-writer")])
    >>> tokens.right("a-token-of-a-reader"), tokens.right("a-token-of-a-writer"), tokens.right("guessed")
    ('read', 'write', None)
    """

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._digests = [(right, _digest(token)) for right, token in tokens]

    @classmethod
    def from_file(cls, path: str | Path) -> Tokens:
        """Read a file with one token per line, ``read TOKEN`` or ``write TOKEN``. A writer may read too."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParameter(f"The token file '{path}' cannot be read: {error}.") from error
        tokens: list[tuple[str, str]] = []
        for number, line in enumerate(text.splitlines(), 1):
            said = line.strip()
            if not said or said.startswith("#"):
                continue
            match = _LINE.fullmatch(said)
            if match is None or len(match[2]) < _SHORTEST:  # the token itself is not shown
                must = f"lines 'read TOKEN' or 'write TOKEN', tokens of {_SHORTEST} or more characters"
                raise invalid("--token-file", must, f"another line {number} in '{path}'")
            tokens.append((match[1], match[2]))
        if not tokens:
            raise invalid("--token-file", "a file with at least one token", f"'{path}', which has none")
        return cls(tokens)

    def right(self, token: str) -> str | None:
        """Return what the holder of a token may do: 'read', 'write' (which includes reading) or None.

        All tokens are compared, whichever fits, so the time tells nothing.
        """
        given, found = _digest(token), None
        for right, digest in self._digests:
            if hmac.compare_digest(given, digest) and found != WRITE:
                found = right
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()

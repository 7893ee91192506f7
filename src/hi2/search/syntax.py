"""Which words must a document have, and which must it not? Signs in the text of a query.

A word that begins with + must be in a document, one that begins with - must not. A sign counts only at the beginning of
a text or after space, and only before a letter: -40 degrees, C++, a lone sign and quotes are plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A sign that begins a word, and the word up to the next space.
_SIGNED = re.compile(r"(?<!\S)([+-])(?=[^\W\d_])(\S+)")


@dataclass(frozen=True)
class SignedText:
    """The text that is ranked by, and the parts of it that were signed.

    >>> signed_text("stem cells +human -mouse at -40 degrees")
    SignedText(plain='stem cells human  at -40 degrees', required=('human',), excluded=('mouse',))
    """

    plain: str
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def signed_text(text: str) -> SignedText:
    """Return the text without its signs and without excluded words."""
    found = _SIGNED.findall(text)
    if not found:
        return SignedText(text)
    plain = _SIGNED.sub(lambda match: match[2] if match[1] == "+" else "", text)
    required, excluded = (tuple(word for sign, word in found if sign == own) for own in "+-")
    return SignedText(plain, required, excluded)

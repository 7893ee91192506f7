"""What do commands share? The settings before the verb, and how an argument becomes a part of the library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hi2.codecs import CODECS, CodecSpec
from hi2.encoders import Encoder, SentenceTransformerEncoder, StaticEncoder
from hi2.errors import invalid
from hi2.inputs import Skipped


@dataclass
class Settings:
    """The options before the verb."""

    quiet: bool = False
    debug: bool = False

    @property
    def progress(self) -> bool | None:
        """What the library's ``progress=`` is: shown on a terminal unless quiet."""
        return False if self.quiet else None


settings = Settings()


def load_encoder(name: str) -> Encoder:
    """Return the encoder an option names: 'static', or the folder or name of a sentence-transformers model."""
    return StaticEncoder() if name == "static" else SentenceTransformerEncoder(name)


def parse_codec(text: str | None, option: str) -> CodecSpec | None:
    """Return the codec an option names: Flat, PQ, OPQ, with its bytes after a colon, e.g. OPQ:48 or OPQ:48:residual."""
    if text is None:
        return None
    name, *rest = text.split(":")
    spec = {known.lower(): codec for known, codec in CODECS.items()}.get(name.lower())
    residual = "residual" in rest
    numbers = [part for part in rest if part != "residual"]
    if spec is None or len(numbers) > 1 or any(not n.isdigit() for n in numbers) or (spec is CODECS["Flat"] and rest):
        must = "Flat, PQ or OPQ, with its bytes after a colon, e.g. OPQ:48 or OPQ:48:residual"
        raise invalid(option, must, f"'{text}'")
    if spec is CODECS["Flat"]:
        return CODECS["Flat"]()
    return spec(int(numbers[0]) if numbers else None, residual=residual)  # type: ignore[call-arg]


def report_skipped(skipped: Skipped | None) -> str | None:
    """Return a line about lines that were skipped, None if there were none."""
    if skipped is None or skipped.n == 0:
        return None
    return f"{skipped.n} bad lines skipped, such as: {' '.join(skipped.examples)}"


def existing(path: Path) -> Path:
    """Return the path of an index that exists."""
    if not path.exists():
        raise invalid("index", "the folder of an index", f"'{path}', which does not exist")
    return path

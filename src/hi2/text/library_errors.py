"""How do failures of the ``tokenizers`` library become errors of hi2? Its panics are not even an ``Exception``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hi2.errors import Error, InvalidParameter


class BrokenTokenizer(InvalidParameter):
    """The tokenizer is at fault, not the text."""


@contextmanager
def library_errors(name: str = "tokenizer") -> Iterator[None]:
    """Raise ``BrokenTokenizer`` for whatever fails inside, except that interrupts and exits pass."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not _is_panic(error):
            raise
        reason = f"{type(error).__name__}: {error}" if type(error) is not Exception else str(error)
        message = f"The '{name}' parameter must be a tokenizer that works. The tokenizers library says: {reason}"
        raise BrokenTokenizer(message) from error


def _is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked; the class is made at run time and cannot be imported."""
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"

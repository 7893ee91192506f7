"""What the library raises becomes an error of hi2; what stops the program passes."""

from __future__ import annotations

import pytest
import tokenizers

import hi2
import malformed_tokenizers as malformed
from hi2.text.library_errors import BrokenTokenizer, library_errors


@pytest.mark.parametrize("name", malformed.PANIC_WHEN_READ)
def test_a_panic_is_an_error_of_hi2(name):
    with pytest.raises(BaseException, match=r".") as raised:
        tokenizers.Tokenizer.from_str(malformed.PANIC_WHEN_READ[name])
    assert not isinstance(raised.value, Exception)
    with pytest.raises(BrokenTokenizer, match="The 'source' parameter must be"), library_errors("source"):
        tokenizers.Tokenizer.from_str(malformed.PANIC_WHEN_READ[name])


@pytest.mark.parametrize("error", [Exception("a"), ValueError("b"), RecursionError("c")])
def test_other_failures_are_errors_of_hi2_that_say_why(error):
    with pytest.raises(hi2.InvalidParameter, match=str(error)) as raised, library_errors():
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError(), hi2.FormatError("mine")])
def test_interrupts_exits_and_own_errors_pass(error):
    with pytest.raises(type(error)) as raised, library_errors():
        raise error
    assert raised.value is error

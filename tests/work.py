"""How much work is a call? Counted, not timed: the bytecode instructions that Python executes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def instructions(call: Callable[[], Any]) -> int:
    """Return how many instructions a call executes; the same on every machine and under any load."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count

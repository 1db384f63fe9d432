"""Ctrl-C at any line of some modules."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import dynaorm
from dynaorm.transport import Call, Reply, Transport

LIBRARY: Final = Path(dynaorm.__file__).parent


class Interrupting:
    """A transport that passes all calls on. When some modules have run a number of lines, Ctrl-C reaches the program.

    Args:
        inner: carries the calls.
        modules: files and folders of dynaorm.
        at: the number of lines before that one.
        after: count from the first answer to one of these operations on; () for all lines.
    """

    def __init__(self, inner: Transport, *modules: str, at: int, after: Sequence[str]) -> None:
        self._inner = inner
        self._watched = tuple(str(LIBRARY / one) for one in modules)
        # Otherwise a module that was renamed would no longer be interrupted, and nobody would notice.
        assert all(Path(one).exists() for one in self._watched)
        self._left = at
        self._after = after
        self._is_counting = not after
        self.is_interrupted = False

    def call(self, call: Call, /) -> Reply:
        reply = self._inner.call(call)
        self._is_counting = self._is_counting or call.operation in self._after
        return reply

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the lines that the ``with`` block runs."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:  # noqa: ARG002 - settrace's signature
        return self._line if frame.f_code.co_filename.startswith(self._watched) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:  # noqa: ARG002 - likewise
        if event == "line" and self._is_counting and not self.is_interrupted:
            self._left -= 1
            if self._left < 0:
                self.is_interrupted = True
                raise KeyboardInterrupt
        return self._line

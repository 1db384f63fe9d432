"""What a command says: findings as sentences or JSON lines on standard output, progress and sums beside it."""

import sys
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dynaorm.flow.integrity.finding import Finding, Mended, Outcome
from dynaorm.integrity.report import as_json


class Output:
    """Tells of findings as they come, and counts them.

    Args:
        verb: the command.
        as_lines: JSON lines instead of sentences.
    """

    def __init__(self, verb: str, *, as_lines: bool) -> None:
        self._verb = verb
        self._as_lines = as_lines
        self._counted: Counter[str] = Counter()
        self._examined = 0
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(verb),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        self._task = self._bar.add_task(self._verb, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if kind is None and not self._as_lines:
            sums = ", ".join(f"{count} {name}" for name, count in sorted(self._counted.items()))
            sys.stderr.write(f"{self._verb}: {self._examined} items, {sums or 'nothing found'}\n")

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found that is still there."""
        mended = self._counted[Outcome.MENDED.value] + self._counted[Outcome.GONE.value]
        return self._counted.total() == mended

    def progress(self, done: int, total: int | None) -> None:
        self._examined = done
        assert self._task is not None
        self._bar.update(self._task, completed=done, total=None if total is None else max(done, total))

    def tell(self, found: Finding | Mended) -> None:
        self._counted[found.outcome.value if isinstance(found, Mended) else found.kind.value] += 1
        text = as_json(found) if self._as_lines else _sentence(found)
        # Above the bar, where there is one; and at once, because the process may be killed before the next.
        if not self._bar.disable:
            self._bar.stop()
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        if not self._bar.disable:
            self._bar.start()


def _sentence(found: Finding | Mended) -> str:
    if isinstance(found, Finding):
        return str(found)
    reason = f" ({found.reason})" if found.reason else ""
    plan = (
        "" if found.plan is None else "\n" + "\n".join(f"    {one}" for one in str(found.plan).splitlines())
    )
    return f"{found.outcome.value}: {found.finding}{reason}{plan}"

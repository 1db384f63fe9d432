"""The file of ``--summary``: the result of a run as JSON, also of one that failed."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from dynaorm.cli.run_output import Meter
from dynaorm.cli.status import FAILED
from dynaorm.flow.protocol.call import Clock

FORMAT: Final = "dynaorm.run/1"
"""The format of the file. Later versions of format 1 may add members, and remove none."""


class RunSummary:
    """Writes the summary of a run when it ends.

    Args:
        path: the file, which is replaced; None writes nothing.
        verb: the command.
        clock: the source of time.
        meter: counts what the run consumes.
    """

    def __init__(self, path: Path | None, verb: str, clock: Clock, meter: Meter) -> None:
        self._path = path
        self._clock = clock
        self._meter = meter
        self._begin = clock.monotonic()
        began = datetime.fromtimestamp(clock.now(), UTC)
        self._known: dict[str, Any] = {
            "format": FORMAT,
            "run": verb,
            "began": began.isoformat(timespec="seconds"),
        }

    @property
    def seconds(self) -> float:
        """How long the run has taken until now."""
        return self._clock.monotonic() - self._begin

    def add(self, **members: Any) -> None:
        """Add what is known by now."""
        self._known.update(members)

    def __enter__(self) -> Self:
        if self._path is not None:
            # A run of hours must not find at its end that the file cannot be written.
            self._write(status=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is None:
            return
        ended = {} if raised is None else {"status": FAILED, "error": str(raised) or type(raised).__name__}
        self._write(
            **ended,
            seconds=round(self.seconds, 3),
            read_units=self._meter.read_units,
            write_units=self._meter.write_units,
        )

    def _write(self, **members: Any) -> None:
        assert self._path is not None
        self._path.write_text(json.dumps({**self._known, **members}, indent=2) + "\n", encoding="utf-8")

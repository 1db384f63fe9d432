"""Write findings as JSON lines, one object per line with binary values in base64, and read them back."""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from dynaorm.flow.integrity.finding import Finding, FindingKind, Mended, Outcome
from dynaorm.item.value import Item


def as_json(found: Finding | Mended) -> str:
    """A finding, or what became of one, as one line."""
    finding = found.finding if isinstance(found, Mended) else found
    line: dict[str, Any] = {
        "kind": finding.kind.value,
        "table": finding.table,
        "key": finding.key,
        "entity": finding.entity,
        "detail": finding.detail,
        "mendable": finding.mendable,
        "owners": list(finding.owners),
    }
    if finding.doubt:
        line["doubt"] = finding.doubt
    if isinstance(found, Mended):
        line["outcome"] = found.outcome.value
        if found.outcome in (Outcome.LEFT, Outcome.STOPPED):
            line["reason"] = found.reason
        if found.plan is not None:
            line["plan"] = found.plan.explain()
    return json.dumps(line, default=_text)


def finding_in(line: str) -> Finding:
    """The finding in a line."""
    found = json.loads(line)
    return Finding(
        kind=FindingKind(found["kind"]),
        table=found["table"],
        key=_key(found["key"]),
        entity=found["entity"],
        detail=found["detail"],
        mendable=found["mendable"],
        owners=tuple(map(_key, found["owners"])),
        doubt=found.get("doubt", ""),
    )


def mended_in(line: str) -> Mended:
    """What became of the finding in a line."""
    found = json.loads(line)
    return Mended(finding_in(line), Outcome(found["outcome"]), found.get("reason", ""))


def _key(found: Item) -> Item:
    return {
        name: {kind: b64decode(content) if kind == "B" else content for kind, content in value.items()}
        for name, value in found.items()
    }


def _text(value: object) -> str:
    assert isinstance(value, bytes)
    return b64encode(value).decode()


class DuplicatesFile:
    """A file of the values that several entities hold, as JSON lines; each is written once, also after a crash.

    Args:
        path: the file; it is created if it does not exist. A line that a crash cut off is removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._written: set[str] = set()

    def __enter__(self) -> Self:
        kept = list(_whole_lines(self._path))
        self._written = {_identity(line) for line in kept}
        if self._path.exists():
            self._path.write_text("".join(kept))
        # It holds values of users, so only the owner may read it.
        self._file = open(self._path, "a", opener=private)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, finding: Finding) -> None:
        """Write a finding, unless the file has it already."""
        assert self._file is not None
        line = f"{as_json(finding)}\n"
        if (identity := _identity(line)) not in self._written:
            self._written.add(identity)
            self._file.write(line)
            self._file.flush()


def private(path: str, flags: int) -> int:
    """An opener for files that only their owner may read, if they do not exist yet."""
    return os.open(path, flags, 0o600)


def _whole_lines(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with path.open() as lines:
        yield from (line for line in lines if line.endswith("\n") and line.startswith("{"))


def _identity(line: str) -> str:
    found = json.loads(line)
    return json.dumps([found["table"], found["key"], found["owners"]])

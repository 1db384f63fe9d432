"""The journal of a process: one line before an operation is sent, and one after.

A line is written (in one ``write``) before the request is sent, so that an operation whose process is killed is known
to have begun. Times are of ``time.monotonic_ns``, which all processes of a machine share. The revision of whatever an
operation writes names the operation: ``a1b2c3.2.1-17-3`` is the third identifier that operation 17 of process 2.1 of
the run a1b2c3 drew.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

ACKNOWLEDGED: Final = "acknowledged"
REFUSED: Final = "refused"
UNKNOWN: Final = "unknown"

READS: Final = frozenset({"read", "find", "read version", "check", "scan"})
BESIDE: Final = frozenset({"pay", "prune"})
"""The effects that write, but not what the model follows: what a token is used for, and old versions."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The intended effect of an operation on one entity.

    Attributes:
        on: the entity's name.
        do: ``insert``, ``save``, ``replace``, ``take`` (insert, or replace on a condition), ``change``, ``upsert``,
            ``restore``, ``delete``, ``purge``; or ``read``,
            ``read version``, ``find`` (by a unique value), ``check``, ``scan`` (which shows what has expired); or
            ``prune``; or ``pay``, whose ``on`` is the token.
        base: the revision it must have; None for whatever is stored.
        values: the values it has afterwards; for a change or an upsert, the fields that are set.
        add: for a change or an upsert, the numbers that are added.
        where: for a delete or a change, the values it must have; for a take, if it is stored.
        text: for a find, the key of the guard; for a payment, the purse.
        number: for a read version, its number; for a payment, the amount; for a prune, how many
            versions are kept.
        plain: of an insert or a take without a token: a repetition may insert it again, after another process deleted
            it.
    """

    on: str
    do: str
    base: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    number: int = 0
    plain: bool = False

    @property
    def writes(self) -> bool:
        return self.do not in READS | BESIDE


@dataclass(frozen=True, slots=True)
class Result:
    """An entity as an acknowledged operation returned it, or some of its values; None if it was absent.

    What a deletion returns is the entity before it.
    """

    on: str
    values: Mapping[str, Any] | None
    revision: str | None = None
    version: int | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """What a refusal proves about one entity at some time while the operation was under way.

    ``what``: ``absent``, ``present``, ``revision`` (has this one), ``not revision``, ``holds`` (a guard's key),
    ``not where`` (its values differ from the operation's ``where``), or ``not as`` (the same, or it is absent).
    """

    on: str
    what: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Record:
    """One operation, from its two lines. If its process ended in between, its outcome is unknown.

    Attributes:
        id: process and number, the beginning of every revision it writes.
        name: its kind.
        begin, end: times; ``end`` is None if the outcome is unknown.
        effects: its intended effects.
        outcome: acknowledged, refused or unknown.
        results: of an acknowledged operation.
        observed: of a refused operation.
        error: the class of the error, if there was one.
        struck: the faults that struck it.
        unanswered: an attempt got no answer.
        changed: entity objects that a refusal changed in memory.
    """

    id: str
    name: str
    begin: int
    effects: tuple[Effect, ...]
    end: int | None = None
    outcome: str = UNKNOWN
    results: tuple[Result, ...] = ()
    observed: tuple[Observed, ...] = ()
    error: str = ""
    struck: tuple[str, ...] = ()
    unanswered: bool = False
    changed: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.writes)

    @property
    def amount(self) -> int:
        """Of a payment, the amount; 0 for any other operation."""
        return self.effects[0].number if self.effects and self.effects[0].do == "pay" else 0

    def may_insert_again(self, effect: Effect) -> bool:
        """Whether an insert may have been made twice, with a delete of another process in between."""
        return effect.plain and (self.unanswered or self.outcome == UNKNOWN)

    @property
    def may_have_written(self) -> bool:
        return self.outcome != REFUSED and bool(self.written)

    def sent(self, effect: Effect) -> bool:
        """Whether a write was sent. A change that changes nothing returns what was read."""
        returned = next((one.revision for one in self.results if one.on == effect.on), None)
        return returned is None or operation_of(returned) == self.id

    def __str__(self) -> str:
        did = ", ".join(f"{effect.do} {effect.on or effect.text}" for effect in self.effects)
        ended = "?" if self.end is None else f"{self.end / 1e9:.6f}"
        said = f" ({self.error})" if self.error else ""
        return f"{self.id} {self.name} [{self.begin / 1e9:.6f}, {ended}] {self.outcome}{said}: {did}"


def operation_of(revision: str) -> str:
    """The operation that wrote a revision."""
    return revision.rpartition("-")[0]


class Journal:
    """Writes the journal of one process. Each line is one ``write``, so a killed process leaves only whole lines."""

    def __init__(self, folder: Path, process: str) -> None:
        self.process = process
        self._file = os.open(folder / f"{process}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def begin(self, number: int, name: str, effects: Sequence[Effect]) -> None:
        self._line(number, begin=name, effects=[sparse(asdict(effect)) for effect in effects])

    def end(
        self,
        number: int,
        outcome: str,
        *,
        results: Sequence[Result] = (),
        observed: Sequence[Observed] = (),
        **said: Any,
    ) -> None:
        told = {"results": [asdict(one) for one in results], "observed": [asdict(one) for one in observed]}
        self._line(number, end=outcome, **sparse({**told, **said}))

    def close(self) -> None:
        os.close(self._file)

    def _line(self, number: int, **content: Any) -> None:
        line = json.dumps({"operation": f"{self.process}-{number}", "at": time.monotonic_ns(), **content})
        os.write(self._file, f"{line}\n".encode())


def read_journals(folder: Path) -> list[Record]:
    """The operations of all processes, in the order in which they began."""
    records = [record for path in sorted(folder.glob("*.jsonl")) for record in _records(path)]
    return sorted(records, key=lambda record: record.begin)


def _records(path: Path) -> Iterator[Record]:
    begun: dict[str, Any] | None = None
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if "begin" in line:
            if begun is not None:
                yield _record(begun, {})
            begun = line
        elif begun is not None:
            yield _record(begun, line)
            begun = None
    if begun is not None:
        yield _record(begun, {})


def _record(begun: dict[str, Any], ended: dict[str, Any]) -> Record:
    outcome = ended.get("end", UNKNOWN)
    return Record(
        id=begun["operation"],
        name=begun["begin"],
        begin=begun["at"],
        effects=tuple(Effect(**one) for one in begun["effects"]),
        end=None if outcome == UNKNOWN else ended["at"],
        outcome=outcome,
        results=tuple(Result(**one) for one in ended.get("results", ())),
        observed=tuple(Observed(**one) for one in ended.get("observed", ())),
        error=ended.get("error", ""),
        struck=tuple(ended.get("struck", ())),
        unanswered=ended.get("unanswered", False),
        changed=tuple(ended.get("changed", ())),
    )


def sparse(content: dict[str, Any]) -> dict[str, Any]:
    """The same without empty values."""
    return {name: value for name, value in content.items() if value}

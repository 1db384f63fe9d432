"""Findings, facts and keys as texts, and read back: what files, processes and engines keep."""

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import found_key
from dynaorm.entity.table import Ident, Table
from dynaorm.errors import UsageError
from dynaorm.failure import MASK, RedactedDict, hidden_in
from dynaorm.flow.integrity.finding import (
    Amount,
    Claim,
    Fact,
    Finding,
    FindingKind,
    Outcome,
    RepairResult,
    Sums,
)
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import Item

# Facts, addresses and keys as texts, and read back: what checkpoint files, processes and engines keep.
#
# Rule 1. Equal addresses have equal texts, in every process.


def to_json(value: Any) -> str:
    """A text of JSON, with base64 for binary values."""
    return json.dumps(value, default=base64_text)


def base64_text(value: object) -> str:
    """A binary value as base64."""
    assert isinstance(value, bytes)
    return b64encode(value).decode()


def key_text(key: Item) -> str:
    """A primary key."""
    return to_json(dict(sorted(key.items())))


def parse_key(text: str) -> dict[str, Any]:
    """The primary key in a text."""
    key: dict[str, Any] = with_bytes(json.loads(text))
    return key


def address_text(address: ItemAddress) -> str:
    """An address."""
    return json.dumps([address.table.name, key_text(address.key)])


def parse_address(text: str, tables: Mapping[str, Table]) -> ItemAddress:
    """The address in a text. ``tables``: the tables that it can name, by name."""
    name, key = json.loads(text)
    return ItemAddress(tables[name], parse_key(key))


def ident_text(ident: Ident) -> str:
    """What identifies an address, or a search."""
    return to_json([{"B": part} if isinstance(part, bytes) else part for part in ident])


def parse_ident(text: str) -> Ident:
    """What a text identifies."""
    return tuple(part["B"] if isinstance(part, dict) else part for part in with_bytes(json.loads(text)))


def numbers_text(numbers: Sums) -> str:
    """Exact numbers. They are texts in it, because Python reads a number in JSON as a float."""
    return json.dumps({name: str(number) for name, number in numbers.items()}, sort_keys=True)


def parse_numbers(text: str) -> dict[str, Decimal]:
    """The numbers in a text."""
    return {name: Decimal(number) for name, number in json.loads(text).items()}


def fact_text(fact: Fact) -> str:
    """What an item says of another one."""
    address = address_text(fact.address)
    if isinstance(fact, Amount):
        return json.dumps([address, numbers_text(fact.numbers)])
    holder = None if fact.holder is None else address_text(fact.holder)
    return json.dumps([address, holder, fact.is_harmless])


def parse_fact(text: str, tables: Mapping[str, Table]) -> Fact:
    """The fact in a text. ``tables``: as for ``parse_address``."""
    address, *rest = json.loads(text)
    if len(rest) == 1:
        return Amount(parse_address(address, tables), parse_numbers(rest[0]))
    holder, is_harmless = rest
    return Claim(
        parse_address(address, tables),
        None if holder is None else parse_address(holder, tables),
        is_harmless,
    )


# Write findings as JSON lines, one object per line with binary values in base64, and read them back.
#
# Rule 1. What a terminal or a log may show has a mask in place of keys with secret fields. The private files of a run
#         have the keys themselves.


def as_json(found: Finding | RepairResult, *, with_secrets: bool = False) -> str:
    """A finding, or what became of one, as one line.

    Args:
        found: the finding.
        with_secrets: keep key attributes with secret fields, for a private file, from which the line is read back.
    """
    finding = found.finding if isinstance(found, RepairResult) else found
    keys = list(finding.stored_keys if with_secrets else map(_masked, finding.stored_keys))
    line: dict[str, Any] = {
        "kind": finding.kind.value,
        "table": finding.table,
        "key": keys[1],
        "item_key": keys[0],
        "entity": finding.entity,
        "detail": finding.detail,
        "repairable": finding.repairable,
        "owners": keys[2:],
    }
    hidden = [sorted(hidden_in(one)) for one in finding.stored_keys]
    if with_secrets and any(hidden):
        line["hidden"] = hidden
    if finding.uncertain_because:
        line["uncertain_because"] = finding.uncertain_because
    if isinstance(found, RepairResult):
        line["outcome"] = found.outcome.value
        if found.reason:
            line["reason"] = found.reason
        if found.plan is not None:
            line["plan"] = found.plan.explain()
    return to_json(line)


def finding_in(line: str, tables: Iterable[Table] = ()) -> Finding:
    """The finding in a line of a private file. ``tables``: those whose classes its keys are of."""
    found = json.loads(line)
    keys = [found["item_key"], found["key"], *found["owners"]]
    item_key, *named = map(_key, keys, found.get("hidden") or [()] * len(keys))
    classes = {name: one for table in tables for name, one in catalog_of(table).mappings.items()}
    if (own := classes.get(found["entity"])) is not None:
        classes = {own.name: own, **classes}
    key, *owners = (found_key(classes, one) for one in named)
    return Finding(
        kind=FindingKind(found["kind"]),
        table=found["table"],
        item_key=item_key,
        entity=found["entity"],
        detail=found["detail"],
        repairable=found["repairable"],
        key=key,
        owners=tuple(owners),
        uncertain_because=found.get("uncertain_because", ""),
    )


def repair_result_in(line: str, tables: Iterable[Table] = ()) -> RepairResult:
    """What became of the finding in a line. ``tables``: as for ``finding_in``."""
    found = json.loads(line)
    return RepairResult(finding_in(line, tables), Outcome(found["outcome"]), found.get("reason", ""))


def found_in(line: str, tables: Iterable[Table] = ()) -> Finding | RepairResult:
    """The finding in a line, or what became of it. ``tables``: as for ``finding_in``."""
    read = repair_result_in if "outcome" in json.loads(line) else finding_in
    return read(line, tables)


def _key(found: Item, hidden: Sequence[str]) -> Item:
    key: Item = with_bytes(found)
    return RedactedDict(key, frozenset(hidden)) if hidden else key


def _masked(key: Item) -> Item:
    hidden = hidden_in(key)
    return {name: dict.fromkeys(value, MASK) if name in hidden else value for name, value in key.items()}


def read_findings(path: Path) -> Iterator[Finding]:
    """The findings in a file of lines: those of ``--findings``, of ``--json``, or of an engine.

    Lines that tell of the run itself are left out.

    Raises:
        UsageError: the file cannot be read, or a line is no finding.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as problem:
        raise UsageError(
            problem=f"{path} cannot be read ({problem})", remedy="name a file that verify --findings wrote"
        ) from problem
    for number, line in enumerate(lines, 1):
        try:
            if json.loads(line).get("kind") not in ("run", "result"):
                yield finding_in(line)
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UsageError(
                problem=f"line {number} of {path} is no finding ({type(problem).__name__}: {problem})",
                remedy="name a file that verify --findings wrote",
            ) from problem


class FindingsFile:
    """A new file of findings as JSON lines, for ``repair``. Only its owner may read it: it holds keys of secrets.

    Args:
        path: the file. What it holds is replaced.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        """Open the file. Raises UsageError if it cannot be opened."""
        try:
            self._file = open(self._path, "w", encoding="utf-8", opener=private)
        except OSError as problem:
            raise UsageError(
                problem=f"{self._path} cannot be written ({problem})", remedy="name another file"
            ) from problem
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, finding: Finding) -> None:
        """Write a finding."""
        assert self._file is not None
        self._file.write(f"{as_json(finding, with_secrets=True)}\n")


def private(path: str, flags: int) -> int:
    """An opener for files that only their owner may read, if they do not exist yet."""
    return os.open(path, flags, 0o600)

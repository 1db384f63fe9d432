"""Golden files: what a program calls, and below it what DynamoDB heard and what came of it.

A file begins with a paragraph about its subject, and declares classes. A case begins with ``## its claim``. Its lines:

    : statement     is run before, and not recorded
    > statement     is recorded: its requests, and its error
    ? expression    is recorded with its value
    @ expression    is recorded for each row, which stands for ``$`` in it
    % expression    the same, without the texts of errors
    | row           runs in a world of its own, after the ``:`` lines of the case
    . more          continues the line before it

Every other line is what was recorded: written by ``python -m tests.requests``, read by a person as a difference.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, NamedTuple

from dynaorm import Entity, Session, inspect
from dynaorm.errors import DynaormError
from dynaorm.testing import FakeClock, Fault, FaultyTransport, tables_of
from dynaorm.transport import Call, Reason, Refusal, Reply, Transport
from tests.memory import MEMORY
from tests.requests.wire import Recorder, show

HERE: Final = Path(__file__).parent
SIGNS: Final = frozenset(":>?@%|")
WIDTH: Final = 116

IMPORTS: Final = """
import bisect, json, pickle
from datetime import *
from decimal import *
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, Literal, Self
from uuid import UUID
from pydantic import *
from pydantic.alias_generators import to_camel
from dynaorm import *
from dynaorm import codecs, tools
from dynaorm.errors import *
from dynaorm.testing import *
from dynaorm.transport import Call
from tests.requests.cast import *
"""


class Step(NamedTuple):
    """A line that is run: its sign, and what stands behind it."""

    sign: str
    code: str


class Case(NamedTuple):
    """A claim with its steps, and the text that was recorded."""

    claim: str
    steps: tuple[Step, ...]
    text: str


class File(NamedTuple):
    """A golden file: what stands before its first case, and its cases."""

    path: Path
    head: str
    cases: tuple[Case, ...]


def files() -> list[File]:
    """All golden files."""
    return [read(path) for path in sorted(HERE.glob("*.txt"))]


def read(path: Path) -> File:
    """A file, taken apart."""
    head, *rest = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
    return File(path, head, tuple(map(_case, rest)))


def _case(text: str) -> Case:
    claim, *lines = text.rstrip().splitlines()
    steps: list[Step] = []
    for line in lines:
        sign, code = line[:1], line[2:]
        if sign == ".":
            steps[-1] = Step(steps[-1].sign, f"{steps[-1].code}\n{code}")
        elif sign in SIGNS:
            steps.append(Step(sign, code))
    return Case(claim.strip(), tuple(steps), f"## {text.rstrip()}\n")


def names_of(file: File) -> dict[str, Any]:
    """What the cases of a file may name: all that is imported, and what its head declares."""
    names: dict[str, Any] = {"__name__": f"tests.requests.{file.path.stem}"}
    exec(IMPORTS, names)
    about, _, code = file.head.partition("\n\n")
    lines = "\n" * (about.count("\n") + 2)
    exec(compile(lines + code, str(file.path), "exec"), names)
    return names


def changed(entity: Any, **values: Any) -> Any:
    """An object with other values."""
    for name, value in values.items():
        setattr(entity, name, value)
    return entity


def refused(work: Callable[[], object]) -> DynaormError | None:
    """The error that a call raises, if any."""
    try:
        work()
    except DynaormError as error:
        return error
    return None


def causes(work: Callable[[], object]) -> str:
    """The kinds of the error that a call raises, and of all its causes."""
    error = refused(work)
    kinds = [type(one).__name__ for one in getattr(error, "causes", ())]
    return f"{type(error).__name__} of {', '.join(kinds)}"


class World:
    """Empty tables, a session on them, and the names of a case."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._clock = FakeClock(ids="id-")
        self.recorder = Recorder(MEMORY, self._create)
        self._wire = FaultyTransport(self.recorder)
        self.session = Session(transport=self._wire, clock=self._clock)
        own = {"session": self.session, "clock": self._clock, "wire": self._wire, "world": self}
        helpers = (
            self.put,
            self.spoil,
            self.store,
            self.items,
            self.explain,
            self.block,
            self.meanwhile,
            self.refuse,
            changed,
            causes,
            refused,
        )
        self.names = {**names, **own, **{one.__name__: one for one in helpers}}

    def _create(self, name: str) -> None:
        """Create a table that is needed for the first time, if a class of the names is in it."""
        kinds = [one for one in self.names.values() if isinstance(one, type) and issubclass(one, Entity)]
        for table in tables_of(*(kind for kind in kinds if "__dynaorm_mapping__" in vars(kind))):
            if name in (table.name, table.guards.name):
                with Session(transport=MEMORY, clock=self._clock) as session:
                    session.create_table(table)
                return

    def put(self, table: Any, **attributes: Any) -> None:
        """Store an item by hand."""
        self.recorder.store(getattr(table, "name", table), attributes)

    def spoil(self, entity: Any, **attributes: Any) -> Any:
        """Save an entity, and give its item other attributes by hand. An int is a number, None is left out."""
        with self.recorder.paused():
            self.session.save(entity)
        table, key = type(entity).__dynaorm_mapping__.table.name, inspect(entity).key
        assert key is not None
        item = self.recorder.item(table, key.primary_key)
        given = {name: {"N": str(one)} if isinstance(one, int) else one for name, one in attributes.items()}
        self.recorder.store(table, {name: one for name, one in {**item, **given}.items() if one is not None})
        return key

    def store(self, entity: Any, **attributes: Any) -> Any:
        """The same, loaded."""
        key = self.spoil(entity, **attributes)
        with self.recorder.paused():
            return self.session.get_one(key)

    def block(self, work: Callable[[Any], object], **options: Any) -> object:
        """A transaction with what a function does in it."""
        with self.session.transaction(**options) as tx:
            return work(tx)

    def meanwhile(self, operation: str, work: Callable[[], object]) -> None:
        """Just before the next call of an operation, let somebody else do something, which is not recorded."""

        def strike(call: Call, inner: Transport) -> Reply:
            with self.recorder.paused():
                work()
            return inner.call(call)

        self._wire.inject(Fault("meanwhile", strike, operations=frozenset({operation})))

    def refuse(self, *codes: str, message: str = "m") -> None:
        """Let the next call be refused, or its actions with these codes."""
        reasons = tuple(Reason(code, message) if code != "-" else None for code in codes)

        def strike(call: Call, inner: Transport) -> Reply:
            if call.operation != "TransactWriteItems":
                raise Refusal(codes[0], message)
            raise Refusal("TransactionCanceledException", message, reasons=reasons)

        self._wire.inject(Fault("refused", strike))

    def items(self, *tables: Any) -> list[str]:
        """All that is stored in tables."""
        found = [item for table in tables for item in self.recorder.stored(getattr(table, "name", table))]
        return [show(item) for item in found]

    def explain(self, work: Callable[[Any], object]) -> str:
        """What a transaction would send, in words."""
        return self.session.plan_of(work).explain()

    def run(self, step: Step) -> list[str]:
        """Run a line: what is to stand below it."""
        try:
            value = self._value(step)
        except DynaormError as error:
            if step.sign == ":":
                raise
            self.names["error"] = error
            return [*self.recorder.lines(), *_marked("!", f"{type(error).__name__}: {error}")]
        sent = self.recorder.lines()
        return [] if step.sign == ":" else [*sent, *_told(value)]

    def _value(self, step: Step) -> Any:
        if step.sign in ":>":
            exec(step.code, self.names)
            return None
        value = eval(step.code, self.names)
        return list(value) if isinstance(value, Iterator) else value


def _told(value: object) -> list[str]:
    if value is None:
        return []
    several = value if isinstance(value, list) and value else [value]
    return [line for one in several for line in _marked("=", one if isinstance(one, str) else repr(one))]


def _marked(sign: str, text: str) -> list[str]:
    """Lines behind a sign; a long one goes on, indented."""
    return [
        f"{sign} {piece}".rstrip()
        for line in text.splitlines() or [""]
        for piece in wrap(
            line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        or [""]
    ]


def recorded(case: Case, names: dict[str, Any]) -> str:
    """The text of a case as it comes out now."""
    lines = [f"## {case.claim}"]
    with MEMORY.empty():
        world = World(names)
        before: list[Step] = []
        pattern = Step("@", "$")
        for step in case.steps:
            first, *more = step.code.split("\n")
            lines += [f"{step.sign} {first}", *(f". {line}" for line in more)]
            if step.sign in "@%":
                pattern = step
            elif step.sign == "|":
                with MEMORY.empty():
                    lines += _row(names, before, pattern, step.code)
            else:
                before += [step] if step.sign == ":" else []
                lines += world.run(step)
    return _numbered("\n".join(lines)) + "\n"


def _row(names: dict[str, Any], before: list[Step], pattern: Step, row: str) -> list[str]:
    world, code = World(names), pattern.code.replace("$", row)
    for step in before:
        world.run(step)
    lines = world.run(Step("?" if _is_expression(code) else ">", code))
    if pattern.sign == "%" and lines:
        place = next((place for place, line in enumerate(lines) if line.startswith("!")), len(lines))
        kind = [re.sub(r":.*", "", line) for line in lines[place : place + 1]]
        lines = [*lines[: place - 1], " ".join([lines[place - 1], *kind])] if place else kind
    return [f"  {line}" for line in lines]


def _is_expression(code: str) -> bool:
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return False
    return True


def _numbered(text: str) -> str:
    """Identifiers in the order in which they appear, whatever else drew some."""
    seen: dict[str, str] = {}
    return re.sub(r"\bid-\d+\b", lambda found: seen.setdefault(found[0], f"r{len(seen) + 1}"), text)

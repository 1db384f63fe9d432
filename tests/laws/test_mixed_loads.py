"""Laws 1 and 7 over mixed classes: a dump and a load that are killed at any request lose nothing, and do nothing twice.

A random history leaves entities, versions, guard items, totals, token items, expired entities and what other programs
wrote. Its dump is loaded into an empty table, as entities or as items, by processes that end and begin again.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Retry, Session, tools
from dynaorm.errors import OutcomeUnknown
from dynaorm.flow.call import Call, Reply
from dynaorm.transport import NoAnswer, Transport
from tests.laws.mixed_classes import TABLE, Pick, spec_of
from tests.laws.mixed_items import Expected
from tests.laws.mixed_world import Place, place_of
from tests.laws.test_mixes import OPERATIONS, World, read

COPY: Final = f"{TABLE}-copy"
GIVEN_ANEW: Final = frozenset(
    {"_rev", "changes", "kept", "version", "version_at", "changed", "changedAt", "GSI5PK", "GSI5SK"}
    | {"_type", "note", "remark", "previous_deletion"}
)
"""What a load gives anew: revisions, versions, times of changes, and present names."""


class Killed(BaseException):
    """The process of a tool has ended."""


class Line:
    """A line on which a request or its answer is lost, or the process ends before or after a request."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._left, self._way = 0, ""

    def end(self, at: int = 0, way: str = "") -> None:
        self._left, self._way = at, way

    def call(self, call: Call, /) -> Reply:
        self._left -= 1
        way = self._way if self._left == 0 else ""
        if way == "before":
            raise Killed
        if way == "request":
            raise NoAnswer("the request was lost", sent=True)
        reply = self._inner.call(call)
        if way == "after":
            raise Killed
        if way == "answer":
            raise NoAnswer("the answer was lost", sent=True)
        return reply


WAYS: Final = ("before", "after", "after", "request", "answer")


def stored(world: World, table: str) -> dict[Place, Any]:
    items = world.engine.call(Call("Scan", {"TableName": table, "ConsistentRead": True}))["Items"]
    return {place_of(item): item for item in items}


def dumped(world: World, line: Line, path: Path) -> None:
    """The dump of a table, which is there only when it is whole."""
    session = Session(transport=line, clock=world.clock, retry=Retry(attempts=4))
    for _ in range(world.pick((0, 1, 2))):
        line.end(world.pick((1, 2)), world.pick(("before", "after")))
        try:
            tools.dump(session, world.classes.table, path, segments=2)
        except Killed:
            assert not path.exists()
    line.end()
    path.unlink(missing_ok=True)
    tools.dump(session, world.classes.table, path)


def load(world: World, session: Session, line: Line, folder: Path, *, raw: bool) -> None:
    """Load the dump, however often the process ends. No line is refused."""
    more: dict[str, Any] = {"raw": raw, "concurrency": world.pick((1, 2))}
    for _ in range(world.pick((0, 1, 3, 6))):
        line.end(world.pick(range(1, 12)), world.pick(WAYS))
        try:
            tools.load(session, world.classes.table, folder / "dump", **more)
        except (Killed, OutcomeUnknown):
            world.log.append("the load is killed")
    line.end()
    result = tools.load(session, world.classes.table, folder / "dump", **more)
    if {one.error for one in result.refused} == {
        "OutcomeUnknown"
    }:  # an answer was lost, and nothing says whose write is there
        result = tools.load(session, world.classes.table, folder / "dump", raw=raw)
    assert result.is_complete, result


def check_entities(world: World, session: Session) -> None:
    """Every live entity is as in its line, with everything that follows from it."""
    source, loaded = stored(world, TABLE), stored(world, COPY)
    live = {world.model.place(one.values): one for one in world.live()}
    for place, one in live.items():
        names = {*source[place], *loaded[place]} - GIVEN_ANEW
        assert [name for name in names if source[place].get(name) != loaded[place].get(name)] == []
        found = session.get_one(world.key(one.values, kind=one.kind), consistent=True)
        wanted = {name: value for name, value in one.values.items() if not name.startswith("changed")}
        assert {name: vars(found)[name] for name in wanted} == wanted
        if world.spec.versioned:
            assert [version.number for version in session.history(found)] == [1]
    assert len(session.scan(world.classes.thing).all()) == len(live)
    if world.classes.total is not None:
        counted = [one.values for one in live.values() if Expected(world.spec).is_counted(one.values)]
        for total in session.scan(world.classes.total):
            numbers = [one["num"] for one in counted if one["state"] == total.of]
            assert (total.things, total.sum) == (len(numbers), sum(numbers))
    assert list(tools.verify(session, world.classes.table)) == []


def program(engine: Transport, pick: Pick) -> None:
    world, line = World(spec_of(pick), engine, pick), Line(engine)
    copies: list[str] = []
    try:
        for _ in range(10):
            pick([one for one in OPERATIONS if one is not read])(world)
        session = Session(
            transport=line, clock=world.clock, retry=Retry(attempts=4), table_names="{}-copy".format
        )
        for table in (
            world.classes.table,
            *([world.classes.tables[1]] if world.spec.totals and world.spec.counted else []),
        ):
            session.create_table(table)
        copies = [f"{one.name}-copy" for one in world.classes.tables]
        raw = pick((True, False))
        with TemporaryDirectory() as folder:
            dumped(world, line, Path(folder, "dump"))
            load(world, session, line, Path(folder), raw=raw)
        if raw:
            assert stored(world, COPY) == stored(world, TABLE)
        else:
            check_entities(world, session)
    except BaseException as error:
        error.add_note("\n".join([repr(world.spec), *world.log[-12:]]))
        raise
    finally:
        for name in (*(one.name for one in world.classes.tables), *copies):
            engine.call(Call("DeleteTable", {"TableName": name}))


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10")))
@given(data=st.data())
def test_a_dump_is_loaded_whole_however_often_it_is_killed(engine: Transport, data: st.DataObject) -> None:
    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    program(engine, pick)

"""The numbers that calls are given: what is no count and no amount is refused before anything is sent."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from math import inf, nan
from typing import Any

import pytest

from dynaorm import Entity, F, Key, Retry, Session, Table, detached, tools
from dynaorm.argument import check_amount, check_count
from dynaorm.errors import UsageError
from dynaorm.integrity.run import RunOptions, repair
from dynaorm.streams import handler
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport
from dynaorm.transport import PynamoTransport
from dynaorm.transport.direct import DirectTransport

app = Table("argument-app")


class Doc(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str


class Row(Entity, table=app, pk="ROW#{name}", sk="{number:04d}"):
    name: str
    number: int = 0
    text: str = ""


class Whole:
    """A whole number of another library."""

    def __index__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return "int64(2)"


def in_a_block(session: Session, hook: Any) -> None:
    with session.transaction() as tx:
        tx.save(Row(name="a"))
        tx.on_commit(hook)


Use = Callable[[Session, Any], object]
KEY = Key(Doc, doc_id="a")
ROW = Key(Row, name="a", number=0)

COUNTS: dict[str, Use] = {
    "limit(": lambda session, n: session.query(Row, name="a").limit(n),
    "page(": lambda session, n: session.query(Row, name="a").page(n),
    "read_at_most=": lambda session, n: session.query(Row, name="a").page(1, read_at_most=n),
    "scan segments=": lambda session, n: session.scan(Row, segments=n),
    "verify segments=": lambda session, n: tools.verify(session, app, segments=n),
    "repair segments=": lambda session, n: tools.repair(session, app, segments=n),
    "backfill segments=": lambda session, n: tools.backfill(session, app, segments=n),
    "segment=": lambda session, n: list(repair(session, app, options=RunOptions(segments=2, segment=n))),
    "at_most=": lambda session, n: list(repair(session, app, options=RunOptions(at_most=n))),
    "get_many concurrency=": lambda session, n: session.get_many([KEY], concurrency=n),
    "save_many concurrency=": lambda session, n: session.save_many([Row(name="a")], concurrency=n),
    "delete_many concurrency=": lambda session, n: session.delete_many([KEY], concurrency=n),
    "bulk_load concurrency=": lambda session, n: session.bulk_load([Row(name="a")], concurrency=n),
    "save_many per_transaction=": lambda session, n: session.save_many([Row(name="a")], per_transaction=n),
    "delete_many per_transaction=": lambda session, n: session.delete_many([KEY], per_transaction=n),
    "keep=": lambda session, n: tools.prune(session, KEY, keep=n),
    "run(attempts=": lambda session, n: session.run(lambda tx: tx.delete(KEY), attempts=n),
    "Retry(attempts=": lambda _, n: Retry(attempts=n),
    "pool_size=": lambda _, n: DirectTransport(endpoint="http://localhost:1", pool_size=n),
}
AMOUNTS: dict[str, Use] = {
    "verify rate=": lambda session, n: tools.verify(session, app, rate=n),
    "repair rate=": lambda session, n: tools.repair(session, app, rate=n),
    "backfill rate=": lambda session, n: tools.backfill(session, app, rate=n),
    "idle=": lambda session, n: list(islice(tools.follow(session, app, idle=n), 1)),
    "Retry(seconds=": lambda _, n: Retry(seconds=n),
    "Retry(base=": lambda _, n: Retry(base=n),
    "Retry(cap=": lambda _, n: Retry(cap=n),
    "Session timeout=": lambda _, n: Session(timeout=n),
    "timeout=": lambda _, n: DirectTransport(endpoint="http://localhost:1", timeout=n),
    "connect_timeout=": lambda _, n: DirectTransport(endpoint="http://localhost:1", connect_timeout=n),
}


FLAGS: dict[str, Use] = {
    "internal=": lambda session, flag: list(islice(tools.follow(session, app, internal=flag), 1)),
    "dry_run=": lambda session, flag: list(repair(session, app, options=RunOptions(dry_run=flag))),
    "repair dry_run=": lambda session, flag: list(tools.repair(session, app, dry_run=flag)),
    "backfill dry_run=": lambda session, flag: list(tools.backfill(session, app, dry_run=flag)),
    "get consistent=": lambda session, flag: session.get(KEY, consistent=flag),
    "exists consistent=": lambda session, flag: session.exists(KEY, consistent=flag),
    "get_many consistent=": lambda session, flag: session.get_many([KEY], consistent=flag),
    "save overwrite=": lambda session, flag: session.save(Row(name="a"), overwrite=flag),
    "save exactly_once=": lambda session, flag: session.save(Row(name="a"), exactly_once=flag),
    "update exactly_once=": lambda session, flag: session.update(ROW, F.text.set("x"), exactly_once=flag),
    "upsert exactly_once=": lambda session, flag: session.upsert(ROW, F.text.set("x"), exactly_once=flag),
    "delete exactly_once=": lambda session, flag: session.delete(ROW, exactly_once=flag),
}
FUNCTIONS: dict[str, Use] = {
    "run(": lambda session, work: session.run(work),
    "on_commit(": in_a_block,
    "stop=": lambda session, stop: list(tools.follow(session, app, stop=stop)),
    "save_many progress=": lambda session, call: session.save_many([Row(name="a")], progress=call),
    "delete_many progress=": lambda session, call: session.delete_many([ROW], progress=call),
    "bulk_load progress=": lambda session, call: session.bulk_load([Row(name="a")], progress=call),
    "verify progress=": lambda session, call: list(tools.verify(session, app, progress=call)),
    "repair progress=": lambda session, call: list(tools.repair(session, app, progress=call)),
    "run progress=": lambda session, call: list(repair(session, app, options=RunOptions(progress=call))),
}


def refused(use: Use, number: object) -> UsageError:
    """The error of a call with this number, which sends nothing."""
    transport = ScriptedTransport()
    with pytest.raises(UsageError) as raised:
        use(Session(transport=transport, clock=FakeClock(1)), number)
    assert transport.calls == []
    return raised.value


@pytest.mark.parametrize("number", [True, False, 2.0, nan, inf, Decimal(2), Whole(), "2", b"2", -1], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_no_count_is_refused_by_every_call(name: str, number: object) -> None:
    error = refused(COUNTS[name], number)
    assert f"{name.rsplit(maxsplit=1)[-1]}{number!r}" in error.problem
    assert " is not an int " in error.problem
    assert error.remedy.startswith("give a whole number ")


@pytest.mark.parametrize(
    "number", [True, False, nan, Decimal(2), Whole(), timedelta(1), "2", b"2", -1], ids=repr
)
@pytest.mark.parametrize("name", AMOUNTS)
def test_what_is_no_amount_is_refused_by_every_call(name: str, number: object) -> None:
    error = refused(AMOUNTS[name], number)
    assert f"{name.rsplit(maxsplit=1)[-1]}{number!r}" in error.problem
    assert error.remedy.startswith("give a number ")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, 0) for name in COUNTS if name not in ("limit(", "segment=", "at_most=")),
        ("scan segments=", 1_000_001),
        ("verify segments=", 1_000_001),
        ("segment=", 2),
        ("save_many per_transaction=", 101),
        pytest.param("save_many per_transaction=", 10**5000, id="too long for a message"),
    ],
)
def test_a_count_out_of_range_is_refused(name: str, number: int) -> None:
    assert "is not an int " in refused(COUNTS[name], number).problem


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("verify rate=", 0),
        ("verify rate=", inf),
        ("timeout=", 0.0),
        ("timeout=", inf),
        ("Retry(seconds=", 541),
        ("connect_timeout=", 1e9),
    ],
)
def test_an_amount_out_of_range_is_refused(name: str, number: float) -> None:
    assert "is not a number " in refused(AMOUNTS[name], number).problem


def test_the_ends_of_a_range_belong_to_it() -> None:
    for number in (1, 100):
        check_count("n={}", number, most=100)
    for amount in (0, 0.0, 1e-9, 540, 540.0):
        check_amount("n={}", amount, zero=True, most=540)
    check_amount("n={}", inf)
    for number, most in ((0, 100), (101, 100)):
        with pytest.raises(UsageError):
            check_count("n={}", number, most=most)


@pytest.mark.parametrize("flag", [1, 0, "False", nan, F.text == "x"], ids=repr)
@pytest.mark.parametrize("name", FLAGS)
def test_what_is_no_flag_is_refused_by_every_call(name: str, flag: object) -> None:
    assert (
        refused(FLAGS[name], flag).problem
        == f"{name.rsplit(maxsplit=1)[-1]}{flag!r} is neither True nor False"
    )


@pytest.mark.parametrize("function", [5, "work", [1], True], ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_cannot_be_called_is_refused_before_anything_is_written(name: str, function: object) -> None:
    problem = refused(FUNCTIONS[name], function).problem
    assert f"{name.rsplit(maxsplit=1)[-1]}{function!r}" in problem
    assert problem.endswith(" is not a function")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_does_not_take_what_it_is_given_is_refused_before_anything_is_written(
    name: str,
) -> None:
    problem = refused(FUNCTIONS[name], lambda one, two, three: (one, two, three)).problem
    assert re.search(r" does not take \d arguments? \(missing a required", problem)


@pytest.mark.parametrize("kind", [int, dict, bool])
@pytest.mark.parametrize("name", ["save_many progress=", "delete_many progress=", "bulk_load progress="])
def test_a_class_that_does_not_take_two_arguments_is_refused_before_anything_is_written(
    name: str, kind: type
) -> None:
    problem = refused(FUNCTIONS[name], kind).problem
    assert f"progress={kind!r} " in problem
    assert "2 arguments" in problem


OTHERS: dict[str, Use] = {
    "region=": lambda _, given: DirectTransport(region=given),
    "endpoint=": lambda _, given: PynamoTransport(endpoint=given),
    "clock=": lambda _, given: Session(clock=given),
    "table_names=": lambda _, given: handler(app, table_names=given),
    "source=": lambda session, given: tools.load(session, app, given),
    "": lambda _, given: handler(app).dispatch(given),
}


@pytest.mark.parametrize("given", [5, Row(name="a"), F.text], ids=["number", "entity", "field"])
@pytest.mark.parametrize("name", OTHERS)
def test_an_object_of_another_class_is_refused(name: str, given: object) -> None:
    assert refused(OTHERS[name], given).problem.startswith(f"{name}{given!r} ")


async def waiting(*_: object) -> bool:
    return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_asynchronous_function_that_nobody_would_await_is_refused(name: str) -> None:
    assert refused(FUNCTIONS[name], waiting).problem.endswith(
        "is an asynchronous function, and is called without await"
    )


@pytest.mark.parametrize("number", [True, 1.0, "1", 0, None], ids=repr)
@pytest.mark.parametrize(
    "use",
    [
        lambda session, number: session.get(KEY, version=True if number is None else number),
        lambda session, number: session.restore(KEY, version=number),
        lambda session, number: session.diff(KEY, 1, number),
        lambda session, number: session.diff(KEY, number, 1),
    ],
    ids=["get", "restore", "diff to", "diff from"],
)
def test_what_is_no_version_is_refused_before_anything_is_read(use: Use, number: object) -> None:
    assert "Doc has no version " in refused(use, number).problem


@pytest.mark.parametrize("name", [5, None, ["text"], F.text], ids=repr)
def test_what_is_no_name_is_no_field_of_values(name: object) -> None:
    error = refused(lambda session, given: session.query(Row, name="a").values(given), name)
    assert error.problem == f"values({name!r}) names no field"


@pytest.mark.parametrize("given", [None, "x", KEY, Row], ids=repr)
def test_only_an_entity_is_detached(given: Any) -> None:
    assert refused(lambda _, entity: detached(entity), given).problem.startswith(
        "detached() takes an entity, "
    )

"""A handler calls functions by class, in order, and reports the first record that failed."""

import asyncio
import gc
import logging
import os
import subprocess
import sys
from typing import Any

import pytest

from dynaorm import Entity, Table, item_of
from dynaorm.errors import DecodeError, UsageError
from dynaorm.streams import Changed, Deleted, Inserted, StreamHandler, Unreadable, changes, handler
from tests.streams.events import in_kinesis, in_lambda, in_pipes, written

app = Table("app")
other = Table("other")


class Pet(Entity, table=app, pk="PET#{name}", sk="P"):
    name: str
    age: int = 0


class Cat(Pet):
    """A pet of its own mind."""


class Shop(Entity, table=app, pk="SHOP#{name}", sk="S"):
    name: str


class Song(Entity, table=other, pk="SONG#{name}", sk="S"):
    name: str


TOM, REX, SHOP = (item_of(one) for one in (Cat(name="tom"), Pet(name="rex"), Shop(name="zoo")))
BROKEN: Any = {**REX, "age": {"S": "old"}}
ALL_DONE: Any = {"batchItemFailures": []}


def failed(identifier: str) -> Any:
    return {"batchItemFailures": [{"itemIdentifier": identifier}]}


@pytest.fixture
def on() -> StreamHandler:
    return handler(app)


def test_functions_are_called_by_kind_and_class_in_their_order(on: StreamHandler) -> None:
    calls: list[tuple[str, str]] = []

    @on.inserted(Pet)
    def first(change: Inserted[Pet]) -> None:
        calls.append(("inserted", change.new.name))

    @on.changed(Pet)
    def second(change: Changed[Pet]) -> None:
        calls.append(("changed", ",".join(change.fields)))

    @on.deleted(Pet)
    def third(change: Deleted[Pet]) -> None:
        calls.append(("deleted", change.old.name))

    @on.any(Cat)
    def fourth(change: Inserted[Cat] | Changed[Cat] | Deleted[Cat]) -> None:
        calls.append(("cat", str(change.key.fields["name"])))

    older = {**REX, "age": {"N": "1"}}
    event = in_lambda(
        written(None, TOM), written(None, SHOP), written(REX, older), written(older, None), written(TOM, None)
    )
    assert on(event, object()) == ALL_DONE
    assert calls == [
        ("inserted", "tom"),
        ("cat", "tom"),
        ("changed", "age"),
        ("deleted", "rex"),
        ("deleted", "tom"),
        ("cat", "tom"),
    ]
    assert first.__name__ == "first"


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_the_first_failure_ends_the_batch_and_names_its_record(
    on: StreamHandler, failing: int, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    @on.inserted(Pet)
    def work(change: Inserted[Pet]) -> None:
        calls.append(change.sequence)
        if change.sequence == str(failing):
            raise RuntimeError("no room")

    event = [written(None, REX, sequence=number) for number in (1, 2, 3)]
    assert on(in_lambda(*event)) == failed(str(failing))
    assert calls == ["1", "2", "3"][:failing]
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("dynaorm", logging.ERROR)
    assert f"record {failing} and those after it" in line.message
    assert "no room" in str(line.exc_info)


def test_a_failure_is_named_as_the_source_names_records(on: StreamHandler) -> None:
    @on.inserted(Pet)
    def work(change: Inserted[Pet]) -> None:
        raise RuntimeError

    record = written(None, REX, sequence=7)
    assert [on(form(record)) for form in (in_lambda, in_kinesis, in_pipes)] == [
        failed("7"),
        failed("7"),
        failed("id-7"),
    ]


@pytest.mark.parametrize(("junk_at", "name"), [(0, ""), (1, "1"), (3, "3")], ids=["first", "second", "last"])
def test_a_record_without_a_name_is_named_by_the_one_before_it(
    on: StreamHandler, junk_at: int, name: str
) -> None:
    calls: list[str] = []
    on.inserted(Pet)(lambda change: calls.append(change.sequence))
    event = in_lambda(*(written(None, REX, sequence=number) for number in (1, 2, 3)))
    event["Records"].insert(junk_at, None)
    assert on(event) == failed(name)
    assert calls == ["1", "2", "3"][:junk_at]
    on.unreadable(lambda change: calls.append(str(change.record)))
    calls.clear()
    assert on(event) == ALL_DONE
    assert sorted(calls) == ["1", "2", "3", "None"]


def test_an_interrupt_is_no_failure_of_a_record(on: StreamHandler) -> None:
    @on.inserted(Pet)
    def work(change: Inserted[Pet]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on(in_lambda(written(None, REX)))


def test_asynchronous_functions_run_in_one_loop_for_all_events(on: StreamHandler) -> None:
    loops: list[object] = []

    @on.inserted(Pet)
    async def work(change: Inserted[Pet]) -> None:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        if change.sequence == "2":
            raise RuntimeError

    event = in_lambda(
        written(None, REX, sequence=1), written(None, REX, sequence=2), written(None, REX, sequence=3)
    )
    assert [on(event), on(event)] == [failed("2"), failed("2")]
    assert len(loops) == 4
    assert len(set(loops)) == 1


def test_an_unused_handler_closes_its_loop_while_another_runs() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def work(change: Inserted[Pet]) -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        handlers.clear()
        gc.collect()

    handlers = [handler(app)]
    handlers[0].inserted(Pet)(work)
    assert handlers[0](in_lambda(written(None, REX))) == ALL_DONE
    asyncio.run(main())
    (loop,) = loops
    assert loop.is_closed()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_an_event_loop_of_its_own() -> None:
    """The parent's loop shares what it waits with (epoll), and is not closed by the child either."""
    program = (
        "import asyncio, os, sys\n"
        "from dynaorm.streams import Inserted, handler\n"
        "from tests.session.test_handler import Pet, app, TOM, in_lambda, written\n"
        "loops, on = [], handler(app)\n"
        "@on.inserted(Pet)\n"
        "async def keep(change):\n"
        "    await asyncio.sleep(0)\n"
        "    loops.append(asyncio.get_running_loop())\n"
        "on(in_lambda(written(None, TOM)))\n"
        "if not (child := os.fork()):\n"
        "    on(in_lambda(written(None, TOM)))\n"
        "    sys.exit(loops[0] is loops[1])\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "print(on(in_lambda(written(None, TOM))), loops[0] is loops[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("0\n{'batchItemFailures': []} True\n", "")


def test_handle_runs_functions_of_both_kinds_in_the_running_loop(on: StreamHandler) -> None:
    calls: list[object] = []

    @on.inserted(Pet)
    def plain(change: Inserted[Pet]) -> None:
        calls.append("plain")

    @on.any(Pet)
    async def work(change: Inserted[Pet] | Changed[Pet] | Deleted[Pet]) -> None:
        calls.append(asyncio.get_running_loop())
        if isinstance(change, Deleted):
            raise RuntimeError

    async def main() -> None:
        assert await on.handle(in_lambda(written(None, REX))) == ALL_DONE
        assert await on.handle(in_lambda(written(REX, None, sequence=5))) == failed("5")
        assert calls == ["plain", asyncio.get_running_loop(), asyncio.get_running_loop()]

    asyncio.run(main())


def test_a_plain_call_in_a_running_loop_says_how_to_await(
    on: StreamHandler,
) -> None:
    calls: list[object] = []

    @on.inserted(Pet)
    async def work(change: Inserted[Pet]) -> None:
        await asyncio.sleep(0)
        calls.append(change.new.name)
        if change.new.name == "tom":
            raise RuntimeError("no room")

    @on.deleted(Pet)
    def plain(change: Deleted[Pet]) -> None:
        calls.append("plain")

    event = in_lambda(written(None, REX), written(REX, None), written(None, TOM), written(None, BROKEN))

    async def main() -> None:
        rex, gone, tom, broken = changes(event, app)
        with pytest.raises(UsageError, match=r"event loop is running.*write await on\.handle\(event\)"):
            on(event)
        with pytest.raises(UsageError, match=r"write await on\.dispatch_async\(change\)"):
            on.dispatch(rex)
        assert calls == []
        on.dispatch(gone)
        await on.dispatch_async(gone)
        await on.dispatch_async(rex)
        assert calls == ["plain", "plain", "rex"]
        with pytest.raises(RuntimeError, match="no room"):
            await on.dispatch_async(tom)
        with pytest.raises(DecodeError, match="age"):
            await on.dispatch_async(broken)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("record", "fails"),
    [
        (written(None, BROKEN), True),
        (written(None, {**REX, "_type": {"S": "Dog"}}), True),
        (written(None, {**SHOP, "name": {"N": "1"}}), False),
        (written(None, {"PK": {"S": "X"}, "SK": {"S": "X"}}), False),
        ({**written(None, REX), "eventName": "DROP"}, True),
    ],
    ids=["of its class", "under its key", "of another class", "of no class", "malformed"],
)
def test_an_unreadable_record_fails_if_it_may_be_of_interest(
    on: StreamHandler, record: Any, fails: bool
) -> None:
    @on.inserted(Cat)
    def work(change: Inserted[Cat]) -> None: ...

    assert on(in_lambda(record)) == (failed("111") if fails else ALL_DONE)


def test_dispatch_raises_what_the_functions_of_a_change_raise(on: StreamHandler) -> None:
    calls: list[str] = []

    @on.inserted(Pet)
    async def work(change: Inserted[Pet]) -> None:
        await asyncio.sleep(0)
        calls.append(change.new.name)
        raise RuntimeError("no room")

    inserted, deleted, unreadable = changes(
        in_lambda(written(None, REX), written(REX, None), written(None, BROKEN)), app
    )
    with pytest.raises(RuntimeError, match="no room"):
        on.dispatch(inserted)
    on.dispatch(deleted)
    with pytest.raises(DecodeError, match="age"):
        on.dispatch(unreadable)
    assert calls == ["rex"]


def test_a_function_for_unreadable_records_decides_about_them(on: StreamHandler) -> None:
    found: list[Unreadable] = []

    @on.unreadable
    def park(change: Unreadable) -> None:
        found.append(change)

    event = in_lambda(written(None, BROKEN), written(None, {"PK": {"S": "X"}, "SK": {"S": "X"}}))
    assert on(event) == ALL_DONE
    assert [one.record for one in found] == event["Records"]


def test_a_class_of_another_table_is_refused(on: StreamHandler) -> None:
    with pytest.raises(UsageError, match=r"Song is stored in Table\('other'\).*handler\(app, other\)"):
        on.inserted(Song)(lambda _: None)
    handler(app, other).inserted(Song)(lambda _: None)


def test_what_would_do_nothing_when_it_is_called_is_refused(on: StreamHandler) -> None:
    def plain(change: Any) -> Any:
        yield change

    async def asynchronous(change: Any) -> Any:
        yield change

    for add in (on.inserted(Pet), on.any(Pet), on.unreadable):
        for function in (plain, asynchronous):
            with pytest.raises(UsageError, match=r"is a generator, .*without yield"):
                add(function)
        with pytest.raises(UsageError, match=r"5 is not a function"):
            add(5)  # type: ignore[arg-type]  # which is the point


def test_a_handler_of_several_tables_goes_by_the_name_of_the_table() -> None:
    on, names = handler(app, other, table_names={"other": "prod-other"}), []

    @on.inserted(Song)
    def play(change: Inserted[Song]) -> None:
        names.append(change.new.name)

    song = item_of(Song(name="la"))
    assert (
        on(in_lambda(written(None, song, table="prod-other"), written(None, song, table="third"))) == ALL_DONE
    )
    assert names == ["la"]


def test_an_event_of_no_stream_fails_the_whole_invocation(on: StreamHandler) -> None:
    with pytest.raises(UsageError, match="aws:sqs"):
        on({"Records": [{"eventSource": "aws:sqs"}]})

"""What a checkpoint keeps, and what it forgets: all of one page, or nothing of it."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dynaorm import Aggregate, BinaryKey, Entity, Table
from dynaorm.errors import UsageError
from dynaorm.flow.call import DEFAULT_RETRY, Context
from dynaorm.flow.integrity.finding import Amount, Claim, FactStore, MemoryFactStore, Uncertainty
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.flow.integrity.verify import Verification, verification
from dynaorm.integrity.checkpoint import Checkpoint
from dynaorm.testing import FakeClock

app = Table("ledger", sk=BinaryKey("SK"))


class Group(Entity, table=app, pk="GROUP#{name}", sk="{raw}"):
    name: str
    raw: bytes = b"\x00"
    hours: Decimal = Decimal(0)


class Member(Entity, table=app, pk="MEMBER#{name}", sk="{raw}"):
    name: str
    raw: bytes = b"\x00"
    hours: Decimal = Decimal(0)
    in_group = Aggregate(Group, sum={"hours": "hours"})


WORK = {"work": "test"}
Resumed: TypeAlias = Callable[[Path | None], tuple[Checkpoint, Verification]]


def key(name: str) -> dict[str, Any]:
    return {"PK": {"S": name}, "SK": {"B": b"\x00"}}


def place(name: str) -> ItemAddress:
    return ItemAddress(app, key(name))


def work() -> Verification:
    return verification([app], Context(str, DEFAULT_RETRY, FakeClock()), segments=2)


def due(name: str, hours: str) -> Amount:
    return Amount(place(name), {"hours": Decimal(hours)})


def interrupt(checkpoint: Checkpoint) -> None:
    checkpoint.__exit__(KeyboardInterrupt, None, None)


@pytest.fixture
def resumed() -> Iterator[Resumed]:
    with ExitStack() as opened:

        def resume(path: Path | None) -> tuple[Checkpoint, Verification]:
            found, verifying = Checkpoint(path, WORK), work()
            opened.callback(interrupt, found)
            found.resume(verifying)
            return found, verifying

        yield resume


def in_memory(resumed: Resumed, tmp_path: Path) -> FactStore:
    return MemoryFactStore()


def in_a_temporary_file(resumed: Resumed, tmp_path: Path) -> FactStore:
    return resumed(None)[0]


def in_a_file(resumed: Resumed, tmp_path: Path) -> FactStore:
    return resumed(tmp_path / "checkpoint")[0]


@pytest.mark.parametrize("ledger_in", [in_memory, in_a_temporary_file, in_a_file])
def test_every_ledger_remembers_the_same(
    ledger_in: Callable[[Resumed, Path], FactStore], resumed: Resumed, tmp_path: Path
) -> None:
    ledger = ledger_in(resumed, tmp_path)
    ledger.add(Claim(place("a")))
    ledger.add(Claim(place("a"), place("b")))
    ledger.add(Claim(place("a"), place("b")))
    ledger.add(Claim(place("c"), place("d"), is_harmless=True))
    ledger.add(Claim(place("e"), place("f"), is_harmless=True))
    ledger.add(Claim(place("e"), place("g"), is_harmless=True))
    assert sorted(ledger.holdings(), key=repr) == [
        (place("a"), (place("b"),)),
        (place("e"), (place("f"), place("g"))),
    ]
    for fact in (Amount(place("x")), due("x", "0.1"), due("y", "1E+30"), due("x", "0.2"), due("y", "1E-9")):
        ledger.add(fact)
    ledger.add(Amount(place("x")))
    assert sorted(ledger.sums(), key=repr) == [
        (place("x"), {"hours": Decimal("0.3")}),
        (place("y"), {"hours": Decimal("1000000000000000000000000000000.000000001")}),
    ]
    for reason in ("a reason", "another"):
        ledger.doubt(Uncertainty(None, reason))
    ledger.doubt(Uncertainty("Member", "a third"))
    assert ledger.doubts() == [Uncertainty(None, "a reason"), Uncertainty("Member", "a third")]
    guard = {**key("é"), "owner": {"M": key("\ud800#B")}, "ends": {"N": "1"}}
    ledger.plan(place("é"), None)
    ledger.plan(place("é"), guard)
    ledger.plan(place("b"), None)
    found = ledger.planned([place("é"), place("b"), place("c")])
    assert found == {place("é").ident: guard, place("b").ident: None}


def test_what_was_kept_is_there_again_and_nothing_else(resumed: Resumed, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first, verifying = resumed(path)
    verifying.scan_segments[0].after = key("a")
    verifying.examined = 5
    first.add(due("x", "1"))
    first.save(verifying)
    verifying.scan_segments[1].is_over = True
    first.add(due("x", "10"))
    interrupt(first)
    second, again = resumed(path)
    assert [(one.after, one.is_over) for one in again.scan_segments] == [(key("a"), False), (None, False)]
    assert again.examined == 5
    assert list(second.sums()) == [(place("x"), {"hours": Decimal(1)})]


def test_what_was_told_of_pages_behind_is_told_again(resumed: Resumed, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first, verifying = resumed(path)
    for number in range(250):
        first.report(str(number))
    first.save(verifying)
    first.report("of the page that was not finished")
    interrupt(first)
    second, _ = resumed(path)
    assert list(second.reported()) == [str(number) for number in range(250)]


def test_only_one_run_at_a_time_uses_a_file(resumed: Resumed, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first, _ = resumed(path)
    with pytest.raises(UsageError, match="is in use by another run") as caught:
        Checkpoint(path, WORK)
    assert "delete" not in str(caught.value)
    interrupt(first)
    interrupt(Checkpoint(path, WORK))


def test_runs_that_begin_together_with_a_new_file_do_not_call_it_deletable(tmp_path: Path) -> None:
    for number in range(20):
        path, together = tmp_path / str(number), threading.Barrier(4)

        def begun(path: Path = path, together: threading.Barrier = together) -> str:
            together.wait()
            try:
                # Its thread ends it.
                interrupt(Checkpoint(path, WORK))
            except UsageError as refused:
                return str(refused)
            return ""

        with ThreadPoolExecutor(4) as threads:
            said = {one.result() for one in [threads.submit(begun) for _ in range(4)]}
        assert {text.partition("(")[0] for text in said - {""}} <= {f"{path} is in use by another run "}
        assert "" in said


def test_a_full_disk_is_no_reason_to_delete_the_file(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint", WORK)
    checkpoint._run("PRAGMA max_page_count = 1")  # as few as it has
    with pytest.raises(UsageError, match="make room") as caught:
        for number in range(1000):
            checkpoint.report(str(number) * 1000)
    assert "delete" not in str(caught.value)
    interrupt(checkpoint)


def test_a_truncated_file_is_refused_or_read_and_never_deleted(resumed: Resumed, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first, verifying = resumed(path)
    for number in range(200):
        first.add(Amount(place(str(number) * 50)))
        first.report("finding" * 50)
    first.save(verifying)
    interrupt(first)
    whole = path.read_bytes()
    for size in range(0, len(whole), 1024):
        path.write_bytes(whole[:size])
        with suppress(UsageError):
            checkpoint, _ = resumed(path)
            try:
                assert all(one == "finding" * 50 for one in checkpoint.reported())
                list(checkpoint.sums())
            finally:
                interrupt(checkpoint)
        assert path.exists()


@pytest.mark.parametrize("mark", ["PRAGMA application_id = 5", "PRAGMA user_version = 99"])
def test_the_file_of_another_program_or_version_is_refused(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "checkpoint"
    interrupt(Checkpoint(path, WORK))
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(mark)
    content = path.read_bytes()
    with pytest.raises(UsageError, match="is no checkpoint file of this run"):
        Checkpoint(path, WORK)
    assert path.read_bytes() == content


def test_a_device_or_a_folder_is_no_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(UsageError, match="is no checkpoint file") as caught:
            Checkpoint(path, WORK)
        assert "delete" not in str(caught.value)


def test_the_file_goes_when_the_work_is_done_and_stays_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt), Checkpoint(path, WORK):
        raise KeyboardInterrupt
    assert path.exists()
    with Checkpoint(path, WORK):
        pass
    assert not path.exists()

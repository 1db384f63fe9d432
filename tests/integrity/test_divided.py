"""A run that is divided into tasks finds, repairs and completes what it does in one process."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from dynaorm import Session, Table, tools
from dynaorm.errors import TableNotFound, UsageError
from dynaorm.integrity.run import verify
from dynaorm.integrity.tasks import findings_in, finish_tasks, run_tasks, segment_tasks
from dynaorm.tools import Finding, RepairResult
from tests.integrity.damages import portions
from tests.integrity.divided import opener
from tests.integrity.shop import fill, now
from tests.integrity.test_engines import lines
from tests.integrity.test_run_damage import found, wanted
from tests.integrity.zoo import TABLES, Damage, Raw


@pytest.mark.parametrize("damages", portions(), ids=lambda some: some[0].name.replace(" ", "-"))
def test_tasks_find_together_what_one_run_finds(moto: Raw, damages: list[Damage], tmp_path: Path) -> None:
    moto.fill()
    for damage in damages:
        damage.do(moto)
    expected = lines(verify(moto.session, *TABLES))
    tasks = segment_tasks(
        "verify", *TABLES, session=moto.opened, segments=3, checkpoint=tmp_path / "position"
    )
    chance = Random(4)
    facts = [fact for task in chance.sample(tasks, 3) for fact in task.run()]
    # A task that is over says the same again, and reads no item.
    again = [fact for task in tasks for fact in task.run()]
    assert sorted(again) == sorted(facts)
    told = [*findings_in(tasks, facts), *finish_tasks(tasks, chance.sample(facts, len(facts)))]
    assert lines(one for one in told if isinstance(one, Finding)) == expected
    assert len(told) == len(expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damages", portions(), ids=lambda some: some[0].name.replace(" ", "-"))
def test_tasks_repair_together_what_one_run_repairs(moto: Raw, damages: list[Damage]) -> None:
    moto.fill()
    for damage in damages:
        damage.do(moto)
    tasks = segment_tasks("repair", *TABLES, session=moto.opened, segments=3)
    facts = [fact for task in tasks for fact in task.run()]
    list(finish_tasks(tasks, facts))
    assert found(verify(moto.session, *TABLES)) == wanted(*(one for one in damages if not one.mends))


def test_tasks_share_the_rate_of_those_that_run_at_a_time() -> None:
    def rates(**options: Any) -> set[float | None]:
        return {one.rate for one in segment_tasks("verify", now, session=Session, segments=8, **options)}

    assert rates(rate=80) == {10}
    assert rates(rate=80, at_once=2) == {40}
    assert rates(rate=80, at_once=20) == {10}
    assert rates(at_once=2) == {None}


@pytest.mark.parametrize(
    ("verb", "targets", "options", "said"),
    [
        ("mend", [now], {}, "no run is called 'mend'; give one of verify, repair, backfill"),
        ("verify", [], {}, "nothing was named"),
        ("verify", [now], {"segments": 0}, "segments=0"),
        ("verify", [now], {"at_once": 0}, "at_once=0"),
        ("verify", [Table("nowhere")], {}, "cannot find the table 'nowhere'"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    verb: Any, targets: list[Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        segment_tasks(verb, *targets, session=Session, **{"segments": 2, **options})


# -- processes ---------------------------------------------------------------------------------------------------------


def test_processes_that_are_killed_are_started_again_and_the_table_is_right(
    ministack: Raw, ministack_endpoint: str, tmp_path: Path
) -> None:
    ministack.session.create_table(Table("shop"))
    try:
        fill(ministack.session)
        tools.apply(ministack.session, now, backfill=False)
        orders = tmp_path / "orders"
        orders.mkdir()
        chance = Random(5)
        for number in range(3):
            (orders / f"{number}-{chance.randrange(1, 6)}").touch()
        examined: list[int] = []
        units: list[float] = []
        tasks = segment_tasks(
            "backfill",
            now,
            session=opener(ministack_endpoint, ministack, orders),
            segments=2,
            checkpoint=tmp_path / "position",
        )
        told = list(
            run_tasks(
                tasks,
                processes=2,
                progress=lambda done, _: examined.append(done),
                used=lambda read, written: units.append(read + written),
            )
        )
        assert list(orders.iterdir()) == []  # three processes were killed
        assert [one.kind.value for one in tools.verify(ministack.session, now)] == ["duplicate value"]
        left = [one for one in told if isinstance(one, RepairResult) and one.is_left]
        assert [one.finding.kind.value for one in left] == ["duplicate value"]
        assert [one.name for one in tmp_path.iterdir()] == ["orders"]
        assert examined[-1] >= 5
        assert sum(units) > 5
    finally:
        ministack.client.delete_table(TableName=ministack.name("shop"))


def test_an_error_of_a_process_ends_the_run(ministack: Raw, ministack_endpoint: str) -> None:
    tasks = segment_tasks("verify", now, session=opener(ministack_endpoint, ministack), segments=2)
    with pytest.raises(TableNotFound):
        list(run_tasks(tasks, processes=2))


def test_a_process_that_never_gets_anywhere_is_not_started_for_ever(
    ministack: Raw, ministack_endpoint: str, tmp_path: Path
) -> None:
    orders = tmp_path / "orders"
    orders.mkdir()
    for number in range(20):
        (orders / f"{number:02}-1").touch()
    tasks = segment_tasks(
        "verify", TABLES[0], session=opener(ministack_endpoint, ministack, orders), segments=1
    )
    with pytest.raises(UsageError, match=r"segment 0 of 1 ended 3 times .* \(exit code -9\)"):
        list(run_tasks(tasks, processes=1))
    assert len(list(orders.iterdir())) == 17


def test_no_tasks_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no task to run"):
        run_tasks([])

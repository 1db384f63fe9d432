"""No order explains a history with an impossible observation, and the evidence names it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dynaorm.plan import totals
from tests.torture.boss import check
from tests.torture.history import Run
from tests.torture.journal import UNKNOWN, Observed, Record, Result
from tests.torture.linearizability import linearize
from tests.torture.model import EMPTY
from tests.torture.orders import check_orders, events_of, touched
from tests.torture.report import report

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

ENTITY, FAMILY = "every entity is linearizable", "families are serializable"


def later(ground: "Ground", record: Record) -> Record:
    """The same, after everything else."""
    end = max(one.end or 0 for one in ground.records)
    return replace(record, id="2.1-1", begin=end + 1, end=end + 2)


def forgotten(records: Iterable[Record], chance: Random) -> Iterator[Record]:
    """The same, but every third answer to a write was lost."""
    for record in records:
        if record.may_have_written and chance.random() < 1 / 3:
            yield replace(record, outcome=UNKNOWN, end=None, results=(), observed=(), unanswered=True)
        else:
            yield record


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_with_faults_is_sound_and_stays_so_if_answers_are_forgotten(
    drawn: "Callable[[int, int], Ground]", seed: int
) -> None:
    """One process, which meets lost answers, throttles and its own stale objects."""
    ground = drawn(seed, 120)
    outcome = check(ground.run())
    assert outcome.violations == [], report(outcome)
    assert len({record.name for record in ground.records}) > 20
    assert {record.outcome for record in ground.records} >= {"acknowledged", "refused"}
    assert outcome.orders.families >= 8
    orders = check_orders(Run(outcome.run.table, [*forgotten(outcome.run.records, Random(seed))]))
    assert (orders.violations, orders.undecided) == ([], [])


@pytest.mark.parametrize("seed", [3, 4])
def test_what_an_operation_needs_is_always_there_when_it_happens(
    drawn: "Callable[[int, int], Ground]", seed: int
) -> None:
    """Otherwise the search would leave out orders that are possible."""
    run = drawn(seed, 90).run()
    names = frozenset(name for record in run.records for name in touched(record))
    events = {one.name: one for one in events_of(run, names, run.records, together=True)}
    order = linearize([*events.values()], EMPTY).order
    assert order is not None
    assert any(events[name].needs for name in order)
    world: Any = EMPTY
    for name in order:
        assert events[name].needs <= {(one, kept.writer) for one, kept in world}, events[name]
        world = events[name].apply(world)


def test_entities_that_an_operation_writes_together_have_one_history(ground: "Ground") -> None:
    """The second note is not stored. Of notes that are written one by one, only that note would be named."""
    insert = ground.record("insert a note", "Note 0-1")
    (effect,), (result,) = insert.effects, insert.results
    values = {**effect.values, "id": "0-2"}
    ground.change(
        insert,
        effects=(effect, replace(effect, on="Note 0-2", values=values)),
        results=(result, replace(result, on="Note 0-2", values=values)),
    )
    assert ground.without_order() == {(ENTITY, "Note 0-2"), (FAMILY, "Note 0")}


def test_a_sound_history_has_an_order(ground: "Ground") -> None:
    orders = check_orders(ground.run())
    assert (orders.violations, orders.undecided) == ([], [])
    assert (orders.entities, orders.families) == (14, 7)


def test_a_stale_read_that_comes_back_has_no_order(ground: "Ground") -> None:
    """This was true once; after the name was saved, it is not."""
    ground.records.append(later(ground, ground.record("read", "User 0-1")))
    assert ground.without_order() == {(ENTITY, "User 0-1"), (FAMILY, "User 0")}
    (first, _) = check_orders(ground.run()).violations
    assert "2.1-1 read" in first.evidence
    assert "'name': 'Ann'" in first.evidence


def test_a_stale_read_while_the_write_is_under_way_has_an_order(ground: "Ground") -> None:
    save = ground.record("save", "User 0-1")
    read = later(ground, ground.record("read", "User 0-1"))
    ground.records.append(read)
    ground.change(save, end=read.begin)
    assert ground.without_order() == set()


def test_an_acknowledged_write_that_nobody_can_have_overwritten_has_an_order_only_if_it_is_there(
    ground: "Ground",
) -> None:
    item = ground.item("USER#0-1", "PROFILE")
    item["visits"] = {"N": "1"}
    assert ground.without_order() == {(ENTITY, "User 0-1"), (FAMILY, "User 0")}


def test_a_refusal_that_names_who_never_had_the_value_has_no_order(ground: "Ground") -> None:
    refused = ground.record("insert", "User 0-3")
    ground.change(refused, observed=(Observed("User 0-2", "holds", "email#ann@0"),))
    assert ground.without_order() == {(ENTITY, "User 0-2"), (FAMILY, "User 0")}


def test_a_stale_entity_that_was_never_stale_has_no_order(ground: "Ground") -> None:
    save = ground.record("save", "User 0-1")
    seen = (Observed("User 0-1", "not revision", save.effects[0].base),)
    ground.records.append(
        replace(save, id="2.1-1", outcome="refused", observed=seen, end=save.begin - 1, begin=save.begin - 2)
    )
    assert ground.without_order() == {(ENTITY, "User 0-1"), (FAMILY, "User 0")}


def test_a_value_taken_while_another_had_it_has_no_order_together_only(ground: "Ground") -> None:
    """The history of each user alone is possible."""
    insert = ground.record("insert", "User 0-2")
    values = {**insert.effects[0].values, "email": "ann@0"}
    ground.change(
        insert,
        effects=(replace(insert.effects[0], values=values),),
        results=(replace(insert.results[0], values=values),),
    )
    read = ground.record("read", "User 0-2")
    ground.change(read, results=(replace(read.results[0], values=values),))
    ground.item("USER#0-2", "PROFILE")["email"] = {"S": "ann@0"}
    assert ground.without_order() == {(FAMILY, "User 0")}


def test_a_total_that_was_read_wrong_has_no_order(ground: "Ground") -> None:
    group = later(ground, ground.record("insert", "Group 0-g"))
    values = {"group_id": "0-g", "name": "", "members": 2, "hours": 6}
    read = replace(ground.record("read", "User 0-2").effects[0], on="Group 0-g")
    ground.records.append(replace(group, effects=(read,), results=(Result("Group 0-g", values),)))
    assert ground.without_order() == {(FAMILY, "Group 0")}


def test_a_version_number_that_was_used_twice_has_no_order(ground: "Ground") -> None:
    save = ground.record("save", "Document 0-1")
    ground.change(save, results=(replace(save.results[0], version=2),))
    assert ground.without_order() == {(ENTITY, "Document 0-1"), (FAMILY, "Document 0")}


def test_an_operation_of_unknown_outcome_may_have_happened_or_not(ground: "Ground") -> None:
    save = ground.record("save", "User 0-1")
    ground.change(save, outcome="unknown", end=None, results=())
    assert ground.without_order() == set()
    item = ground.item("USER#0-1", "PROFILE")
    item["name"], item["_rev"] = {"S": ""}, {"S": save.effects[0].base}
    assert ground.without_order() == set()


def test_a_report_counts_and_ends_with_the_verdict(ground: "Ground") -> None:
    assert report(check(ground.run())).endswith("No violation.")
    ground.remove("email#ann@0")
    told = report(check(ground.run()))
    assert "every value is guarded: User 0-1" in told
    assert told.endswith("1 VIOLATIONS.")


def _twice(mapping: Any, name: str, total: Decimal) -> Any:
    return _number(mapping, name, 2 * total)


_number = totals.number_of_total


@pytest.mark.parametrize(
    ("broken", "how", "found"),
    [
        ("dynaorm.plan.guards._unclaimed", lambda *_: None, "no value has two owners"),
        ("dynaorm.plan.totals.number_of_total", _twice, "totals add up"),
    ],
    ids=["claims without a condition", "totals counted twice"],
)
def test_a_library_that_is_broken_on_purpose_is_found_out(
    drawn: "Callable[[int, int], Ground]", monkeypatch: pytest.MonkeyPatch, broken: str, how: Any, found: str
) -> None:
    monkeypatch.setattr(broken, how)
    violations = check(drawn(4, 120).run()).violations
    assert found in {violation.invariant for violation in violations}

"""What has expired is absent, and nothing else is; the checkers know when."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.torture.journal import Effect, Observed, Record, Result
from tests.torture.model import SLACK, WALL

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

LEASE = {("every entity is linearizable", "Lease 0-1"), ("families are serializable", "Lease 0")}


def expire(ground: "Ground", seconds: int) -> None:
    """Let the lease expire so many seconds after it was inserted, in table and journals."""
    insert = ground.record("insert a lease", "Lease 0-1")
    until = (insert.begin + WALL) // 10**9 + seconds
    ground.item("LEASE#0-1", "LEASE")["until"] = {"N": str(until)}
    values = {**insert.effects[0].values, "until": until}
    for record in (insert, ground.record("read", "Lease 0-1")):
        effects = tuple(replace(one, values=values if one.values else {}) for one in record.effects)
        ground.change(record, effects=effects, results=(replace(record.results[0], values=values),))


def after(ground: "Ground", name: str, effect: Effect, *results: Result) -> Record:
    """Another operation, an hour and a half after the last one."""
    begin = max(one.end or 0 for one in ground.records) + 5400 * 10**9
    record = Record("2.1-1", name, begin, (effect,), begin + 1, "acknowledged", results)
    ground.records.append(record)
    return record


def test_a_lease_that_expired_may_be_found_or_not_only_about_that_time(ground: "Ground") -> None:
    expire(ground, 100)
    assert ground.without_order() == set()
    after(ground, "read", Effect("Lease 0-1", "read"), Result("Lease 0-1", None))
    assert ground.without_order() == set()


def test_a_lease_that_was_read_after_it_expired_is_found(ground: "Ground") -> None:
    expire(ground, -100)
    assert ground.without_order() == LEASE


def test_a_live_lease_that_was_not_read_is_found(ground: "Ground") -> None:
    read = ground.record("read", "Lease 0-1")
    ground.change(read, results=(Result("Lease 0-1", None),))
    assert ground.without_order() == LEASE


def test_a_lease_is_inserted_where_it_has_expired_and_nowhere_else(ground: "Ground") -> None:
    insert = ground.record("insert a lease", "Lease 0-1")
    again = after(ground, "insert a lease", insert.effects[0])
    ground.item("LEASE#0-1", "LEASE")["_rev"] = {"S": f"{again.id}-1"}
    assert ground.without_order() == set()
    begin = (insert.end or 0) + 2 * SLACK
    ground.change(again, begin=begin, end=begin + 1)
    assert ground.without_order() == LEASE


def test_an_expired_lease_can_be_deleted_and_not_changed(ground: "Ground") -> None:
    ground.remove("LEASE#0-1", "LEASE")
    record = after(ground, "delete by key", Effect("Lease 0-1", "delete"))
    assert ground.without_order() == set()
    ground.change(record, effects=(Effect("Lease 0-1", "change", values={"text": "x"}),))
    assert ground.without_order() == LEASE


def test_a_refusal_because_a_live_lease_was_absent_is_found(ground: "Ground") -> None:
    refused = after(ground, "delete by key", Effect("Lease 0-1", "delete"))
    changes = {"outcome": "refused", "observed": (Observed("Lease 0-1", "absent"),)}
    refused = ground.change(refused, **changes)
    assert ground.without_order() == set()
    insert = ground.record("insert a lease", "Lease 0-1")
    ground.change(refused, begin=(insert.end or 0) + 1, end=(insert.end or 0) + 2)
    assert ground.without_order() == LEASE

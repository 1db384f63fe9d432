"""What has expired is absent, and nothing else is; the checkers know when."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.torture.entities import Lease
from tests.torture.journal import Effect, Observed, Record, Result
from tests.torture.model import SLACK, WALL
from tests.torture.operations import inserting

if TYPE_CHECKING:
    from tests.torture.conftest import Ground
    from tests.torture.worker import Worker

LEASE = {("every entity is linearizable", "Lease 0-1")}


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


def test_a_refusal_may_show_the_revision_of_an_expired_lease_and_no_other(ground: "Ground") -> None:
    refused = after(ground, "delete", Effect("Lease 0-1", "delete", "2.1-0-1"))
    stored = ground.record("insert a lease", "Lease 0-1").results[0].revision
    for shown, found in ((stored, set()), ("2.1-9-1", LEASE)):
        observed = (Observed("Lease 0-1", "revision", shown),)
        refused = ground.change(refused, outcome="refused", observed=observed)
        assert ground.without_order() == found


def test_an_insert_that_was_cancelled_and_made_is_acknowledged_though_the_lease_has_expired(
    worked: "Callable[[Callable[[Worker], None]], Ground]",
) -> None:
    """The worker saves the object again, which finds out that it was made, and that it cannot be saved any more."""
    gone = datetime.fromtimestamp(int(time.time()) - 100, UTC)

    def work(worker: "Worker") -> None:
        for number in range(80):
            worker.perform(inserting(Lease(id=f"0-{number}", until=gone), is_plain=True))

    ground = worked(work)
    cancelled = [one for one in ground.records if set(one.struck) == {"cancelled"}]
    assert {one.outcome for one in cancelled} >= {"acknowledged"}
    assert not any(one.changed for one in ground.records)
    assert (ground.broken(), ground.without_order()) == (set(), set())

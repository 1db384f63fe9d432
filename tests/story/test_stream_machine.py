"""Whatever is done to a table, its stream tells it: the changes of entities add up to what a scan returns.

The records are delivered as Lambda does: in events that are cut anywhere, and again from any point.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from dynaorm import Entity, Key, Session
from dynaorm.streams import Changed, Deleted, Inserted, changes
from dynaorm.transport import Call, Transport
from tests.counted_rules import rule, run_counted
from tests.story.machine_model import POOLS, Values, app, expiry, values_of
from tests.story.test_state_machine import Machine


class Projection:
    """What a consumer of the stream knows, and how far it has read."""

    def __init__(self, engine: Transport) -> None:
        self.engine = engine
        self.entities: dict[Key[Any], Values] = {}
        table = engine.call(Call("DescribeTable", {"TableName": app.name}))["Table"]
        stream = {"StreamArn": table["LatestStreamArn"]}
        (shard,) = engine.call(Call("DescribeStream", stream))["StreamDescription"]["Shards"]
        self.start = {**stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}

    def read(self) -> list[Any]:
        """The records since the last call."""
        found: list[Any] = []
        iterator = self.engine.call(Call("GetShardIterator", self.start))["ShardIterator"]
        while True:
            reply = self.engine.call(Call("GetRecords", {"ShardIterator": iterator}))
            if not reply["Records"]:
                return found
            found += reply["Records"]
            iterator, last = reply["NextShardIterator"], found[-1]["dynamodb"]["SequenceNumber"]
            self.start |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}

    def deliver(self, records: list[Any]) -> None:
        for change in changes({"Records": records}, app):
            if isinstance(change, Deleted):
                self.entities.pop(change.key, None)
            else:
                assert isinstance(change, Inserted | Changed)
                self.entities[change.key] = values_of(change.new)

    def live(self, kind: type[Entity], now: float) -> dict[str, Values]:
        """The entities of a class that have not expired: DynamoDB deletes these later."""
        return {
            values["id"]: values
            for key, values in self.entities.items()
            if key.entity is kind and not ((end := expiry(values)) is not None and end <= now)
        }


def alternate(records: list[Any], before: set[Key[Any]]) -> set[Key[Any]]:
    """Check that each entity is inserted, changed and deleted in this order; return those that are there afterwards."""
    there = set(before)
    for change in changes({"Records": records}, app):
        assert (change.key in there) is not isinstance(change, Inserted)
        if isinstance(change, Deleted):
            there.discard(change.key)
        else:
            there.add(change.key)
        if isinstance(change, Changed):
            old, new = values_of(change.old), values_of(change.new)
            assert change.fields == {name for name in new if old[name] != new[name]}
    return there


class Streamed(Machine):
    """The operations of users on a table whose stream is read now and then."""

    def __init__(self, engine: Transport) -> None:
        engine.call(Call("DeleteTable", {"TableName": app.name}))
        create(engine)
        super().__init__(engine)
        self.projection = Projection(engine)

    def attempt(self, work: Any, wrong: Any, fault: Any = None) -> bool:  # noqa: ARG002 - see below
        """Without faults, which count on a clock that the server does not have: it remembers tokens by its own."""
        return super().attempt(work, wrong, None)

    @rule(data=st.data())
    def consume(self, data: st.DataObject) -> None:
        records = self.projection.read()
        end = data.draw(st.integers(0, len(records)))
        again = data.draw(st.integers(0, end))
        cut = data.draw(st.integers(again, len(records)))
        self.check([records[:end], records[again:cut], records[cut:]], alternate(records, self.there()))

    def teardown(self) -> None:
        records = self.projection.read()
        self.check([records, records[len(records) // 2 :]], alternate(records, self.there()))

    def there(self) -> set[Key[Any]]:
        return set(self.projection.entities)

    def check(self, events: list[list[Any]], after: set[Key[Any]]) -> None:
        for records in events:
            self.projection.deliver(records)
        assert self.there() == after
        for kind in POOLS:
            found: list[Any] = self.calm.scan(kind).all()
            assert self.projection.live(kind, self.clock.now()) == {one.id: values_of(one) for one in found}


def create(engine: Transport) -> None:
    Session(transport=engine).create_table(app)
    specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.call(Call("UpdateTable", {"TableName": app.name, "StreamSpecification": specification}))
    # The server would delete what has expired by its own clock.
    off = {"AttributeName": "until", "Enabled": False}
    engine.call(Call("UpdateTimeToLive", {"TableName": app.name, "TimeToLiveSpecification": off}))


def test_the_changes_of_any_story_add_up_to_the_table(ministack_line: tuple[Transport, Any]) -> None:
    engine = ministack_line[0]
    create(engine)

    class OnServer(Streamed):
        def __init__(self) -> None:
            super().__init__(engine)

    examples = settings().max_examples // 10
    run_counted(OnServer, settings(max_examples=examples, stateful_step_count=30))
    engine.call(Call("DeleteTable", {"TableName": app.name}))

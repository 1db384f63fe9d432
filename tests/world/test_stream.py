"""Whatever is done to a table, its stream tells it: the changes of entities add up to what the oracle holds.

The records are delivered as Lambda does: in events that are cut anywhere, and again from any point.
"""

from operator import itemgetter
from typing import Any

from hypothesis import strategies as st

from dynaorm import Key, Session
from dynaorm.streams import Changed, Deleted, Inserted, changes
from dynaorm.transport import Call, Transport
from tests.counted_rules import rule
from tests.world.cast import FACTS, TABLES, Login, Member, Page, Team, Values, app
from tests.world.machine import values_of
from tests.world.oracle import expiry
from tests.world.reads import Machine
from tests.world.test_world import created, run


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
        records: list[Any] = []
        iterator = self.engine.call(Call("GetShardIterator", self.start))["ShardIterator"]
        while True:
            reply = self.engine.call(Call("GetRecords", {"ShardIterator": iterator}))
            if not reply["Records"]:
                return records
            records += reply["Records"]
            iterator, last = reply["NextShardIterator"], records[-1]["dynamodb"]["SequenceNumber"]
            self.start |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}

    def deliver(self, records: list[Any]) -> None:
        for change in changes({"Records": records}, app):
            if isinstance(change, Deleted):
                self.entities.pop(change.key, None)
            else:
                assert isinstance(change, Inserted | Changed)
                self.entities[change.key] = values_of(change.new)


def alternate(records: list[Any], before: set[Key[Any]]) -> set[Key[Any]]:
    """Check that each entity is inserted, changed and deleted in this order; return those that are there afterwards."""
    there = set(before)
    for change in changes({"Records": records}, app):
        assert (change.key in there) is not isinstance(change, Inserted)
        if isinstance(change, Deleted):
            there.discard(change.key)
        else:
            there.add(change.key)
        if isinstance(change, Changed) and type(change.old) is type(change.new):
            old, new = values_of(change.old), values_of(change.new)
            assert change.fields == {name for name in new if old[name] != new[name]}
    return there


class Streamed(Machine):
    """The operations of users on a table whose stream is read now and then."""

    has_faults = False  # they count on a clock that the server does not have

    def __init__(self, engine: Transport) -> None:
        engine.call(Call("DeleteTable", {"TableName": app.name}))
        create_with_stream(engine)
        super().__init__(engine)
        self.projection = Projection(engine)

    @rule(data=st.data())
    def consume(self, data: st.DataObject) -> None:
        records = self.projection.read()
        end = data.draw(st.integers(0, len(records)))
        again = data.draw(st.integers(0, end))
        cut = data.draw(st.integers(again, len(records)))
        self.check_events(
            [records[:end], records[again:cut], records[cut:]], alternate(records, self.there())
        )

    def teardown(self) -> None:
        records = self.projection.read()
        self.check_events([records, records[len(records) // 2 :]], alternate(records, self.there()))
        super().teardown()

    def there(self) -> set[Key[Any]]:
        return set(self.projection.entities)

    def check_events(self, events: list[list[Any]], after: set[Key[Any]]) -> None:
        for records in events:
            self.projection.deliver(records)
        assert self.there() == after
        for kind in (Team, Member, Page, Login):
            told = [
                values
                for key, values in self.projection.entities.items()
                if isinstance(key.entity, type)
                and issubclass(key.entity, kind)
                and not ((end := expiry(values)) is not None and end <= self.now)
            ]
            live = self.world.live(kind, self.now)
            assert sorted(told, key=itemgetter("name")) == sorted(live, key=itemgetter("name")), FACTS[
                kind
            ].family


def create_with_stream(engine: Transport) -> None:
    Session(transport=engine).create_table(app)
    specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.call(Call("UpdateTable", {"TableName": app.name, "StreamSpecification": specification}))
    # The server would delete what has expired by its own clock.
    off = {"AttributeName": "until", "Enabled": False}
    engine.call(Call("UpdateTimeToLive", {"TableName": app.name, "TimeToLiveSpecification": off}))


def test_the_changes_of_a_stream_add_up_to_the_table(ministack_line: tuple[Transport, Any]) -> None:
    engine = ministack_line[0]
    created(engine, TABLES)

    class OnServer(Streamed):
        def __init__(self) -> None:
            super().__init__(engine)

    run(OnServer, 3, 20)
    for table in TABLES:
        engine.call(Call("DeleteTable", {"TableName": table.name}))

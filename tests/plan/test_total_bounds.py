"""Totals keep to the bounds of their fields: what is stored loads, whoever is counted."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from dynaorm import Aggregate, Entity, F, Key, Session, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError, InvalidValue
from dynaorm.flow.call import Call, Transport
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.integrity.run import repair
from dynaorm.item.condition import And, Attr, Compare, Or, equals, exists, missing
from dynaorm.plan.intent import NOTHING_READ, Deletion, Save
from dynaorm.plan.totals import is_in_bounds
from tests.plan.compiling import OWN_REVISION, plan_of, reads_of, saved, stored

app = Table("bounded")


class Room(Entity, table=app, pk="ROOM#{room}", sk="ROOM"):
    room: str
    guests: Annotated[int, Field(ge=0, le=2)] = 0
    weight: Annotated[Decimal, Field(lt=10)] = Decimal(0)
    label: str | None = None


class Guest(Entity, table=app, pk="ROOM#{room}", sk="GUEST#{name}"):
    room: str
    name: str
    weight: Decimal = Decimal(1)
    in_room = Aggregate(Room, count="guests", sum={"weight": "weight"})


def condition_of(intent: Any) -> Any:
    return plan_of(intent).actions[-1].action.condition


def test_an_increment_is_bound_towards_its_bounds_only() -> None:
    room = equals("_type", {"S": "Room"})
    few = Or((missing("guests"), Compare(Attr(("guests",)), "<=", {"N": "1"})))
    light = Or((missing("weight"), Compare(Attr(("weight",)), "<", {"N": "9"})))
    joined = condition_of(Save(Guest(room="r", name="a")))
    assert joined == And((Or((missing("PK"), And((room, OWN_REVISION)))), few, light))
    some = Compare(Attr(("guests",)), ">=", {"N": "1"})
    left = condition_of(Deletion(saved(Guest(room="r", name="a"))))
    assert left == And((exists("PK"), room, OWN_REVISION, some))


@pytest.fixture
def session(credentials: None) -> Iterator[Session]:
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        yield session


def test_a_full_target_takes_no_more_and_can_be_left(session: Session) -> None:
    first = session.save(Guest(room="r", name="a"))
    session.save(Guest(room="r", name="b"))
    message = r"Room.guests = .*3.*: would break ge=0 and le=2; Guest.in_room keeps it; delete or change what"
    for write in (
        lambda: session.save(Guest(room="r", name="c")),
        lambda: session.save_many([Guest(room="r", name="c")], per_transaction=25),
    ):
        with pytest.raises(Exception, match="guests") as refused:
            write()
        assert isinstance(getattr(refused.value, "failures", [(0, refused.value)])[0][1], InvalidValue)
    with pytest.raises(InvalidValue, match=message):
        session.save(Guest(room="r", name="c"))
    assert not session.exists(Guest, room="r", name="c")
    session.delete(first)
    session.save(Guest(room="r", name="c"))
    assert session.get_one(Room, room="r").guests == 2


def test_a_target_that_is_written_in_the_same_block_keeps_its_bounds(session: Session) -> None:
    room = session.save(Room(room="r"))
    blocks: list[Any] = [
        lambda tx: tx.save(Room(room="s")),
        lambda tx: tx.update(Key(Room, room="r"), F.label.set("x")),
        lambda tx: tx.update(room, {"label": "x"}),
        lambda tx: tx.check(Key(Room, room="r"), F.label == None),  # noqa: E711 - an expression
    ]
    for block in blocks:
        with pytest.raises(InvalidValue, match="guests"), session.transaction() as tx:
            block(tx)
            for name in "abc":
                tx.save(Guest(room="s" if block is blocks[0] else "r", name=name))
    assert session.get_one(Room, room="r") == Room(room="r")


@pytest.mark.parametrize("guests", [2, None], ids=["full", "empty"])
def test_a_total_that_is_known_is_judged_before_anything_is_sent(guests: int | None) -> None:
    joining = [Save(Guest(room="r", name=name)) for name in ("a" if guests else "abc")]
    item = stored(Room(room="r"), guests=guests)
    room: Room = mapping_of(Room).loader.hydrate(item)
    room.label = "x"
    for intents, reads in (((Save(room), *joining), NOTHING_READ), (joining, reads_of(app, item))):
        with pytest.raises(InvalidValue, match=r"Room\.guests = .*3.*: would break ge=0 and le=2"):
            plan_of(*intents, reads=reads)


def test_a_total_that_its_field_does_not_allow_is_reported_and_left(session: Session) -> None:
    session.save(Guest(room="r", name="a"))
    for name in "bc":  # by a program that keeps no totals
        item = {"PK": {"S": "ROOM#r"}, "SK": {"S": f"GUEST#{name}"}, "_type": {"S": "Guest"}}
        values = {"room": {"S": "r"}, "name": {"S": name}}
        put(session._transport, {**item, **values})
    (mended,) = repair(session, app)
    assert mended.outcome is Outcome.SKIPPED
    assert "guests is 1, and should be 3" in str(mended.finding)
    assert mended.finding.uncertain_because == "Room does not allow this guests"
    assert session.get_one(Room, room="r").guests == 1


def put(engine: Transport, item: Any) -> None:
    engine.call(Call("PutItem", {"TableName": app.name, "Item": item}))


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (
            Annotated[int, Field(multiple_of=2)],
            "has rules that an increment cannot keep; give it no others than ge",
        ),
        (Annotated[int, AfterValidator(abs)], "has rules that an increment cannot keep"),
        (Annotated[Decimal, Field(max_digits=3)], "has rules that an increment cannot keep"),
        (Annotated[int, Field(ge=1)], "begins at 0, which its bounds do not allow"),
    ],
    ids=["multiple", "validator", "digits", "not 0"],
)
def test_rules_that_an_increment_cannot_keep_are_refused(annotation: Any, message: str) -> None:
    table = Table("refused")

    class Box(Entity, table=table, pk="BOX#{box}", sk="B"):
        box: str
        things: annotation = 0

    with pytest.raises(DeclarationError, match=f"in_box: Box.things {message}"):

        class Thing(Entity, table=table, pk="BOX#{box}", sk="T#{name}"):
            box: str
            name: str
            in_box = Aggregate(Box, count="things")


@pytest.mark.parametrize(
    ("name", "total", "fits"),
    [("guests", -1, False), ("guests", 0, True), ("guests", 2, True), ("guests", 3, False), ("weight", 9, True),
     ("weight", 10, False), ("weight", -99, True)],
)  # fmt: skip
def test_a_total_may_be_stored_up_to_its_bounds(name: str, total: int, fits: bool) -> None:
    assert is_in_bounds(mapping_of(Room), name, Decimal(total)) is fits

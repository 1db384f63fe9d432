"""What is verified with a class: what its own entities hold, judged with everything that others say of it."""

from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, Session, Table, Unique, tools
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.iam import iam_policy
from dynaorm.transport import Call, Transport
from tests.cast.seen import items, put
from tests.iam_requests import WHERE, Recorder, allowed

docs, letters, shops, boxes = (Table(f"{name}-of-scopes") for name in ("docs", "letters", "shops", "boxes"))
held = Table("held-of-scopes", type_attribute=None, revision_attribute=None)
left = Table("left-of-scopes", guard_table=held)
right = Table("right-of-scopes", guard_table=held)


class Doc(Entity, table=docs, pk="DOC#{id}", sk="DOC"):
    id: str
    name: Annotated[str, Unique()]


class Letter(Doc):
    to: str = ""


class Ticket(Doc):
    seat: Annotated[str | None, Unique("seat")] = None


class Left(Entity, table=left, pk="LEFT#{id}", sk="LEFT"):
    id: str
    mail: Annotated[str, Unique(shared=True)]


class Right(Entity, table=right, pk="RIGHT#{id}", sk="RIGHT"):
    id: str
    mail: Annotated[str, Unique(shared=True)]


class Shop(Entity, table=shops, pk="SHOP#{shop}", sk="SHOP"):
    shop: str
    boxes: int = 0
    crates: int = 0


class Street(Entity, table=docs, pk="STREET#{street}", sk="STREET"):
    street: str
    crates: int = 0
    carts: int = 0


class Box(Entity, table=boxes, pk="BOX#{id}", sk="BOX"):
    id: str
    place: str
    in_shop = Aggregate(Shop, key={"shop": "place"}, count="boxes")


class Crate(Box, table=letters, pk="CRATE#{id}", sk="CRATE"):
    in_shop = Aggregate(Shop, key={"shop": "place"}, count="crates")
    in_street = Aggregate(Street, key={"street": "place"}, count="crates")


class Cart(Entity, table=right, pk="CART#{id}", sk="CART"):
    id: str
    place: str
    in_street = Aggregate(Street, key={"street": "place"}, count="carts")


@pytest.mark.parametrize(
    ("holder", "other", "verified", "home"),
    [
        (Doc(id="a", name="x"), Letter(id="b", name="y"), Letter, docs),
        (Letter(id="a", name="x"), Doc(id="b", name="y"), Doc, docs),
        (Left(id="a", mail="x"), Right(id="b", mail="y"), Right, held),
    ],
    ids=["of the base class", "of the derived class", "of another table"],
)
def test_repair_of_one_class_keeps_the_guards_of_another(
    session: Session, moto: Transport, holder: Entity, other: Entity, verified: Any, home: Table
) -> None:
    session.save_many([holder.model_copy(), other.model_copy()])
    before = items(moto, home)
    (right_one,) = (one for one in before if one.endswith("#x"))
    (other_one,) = (one for one in before if one.endswith("#y"))
    put(moto, {**before[right_one], "owner": before[other_one]["owner"]}, home)
    (finding,) = tools.verify(session, verified)
    assert (finding.kind, finding.entity) == (FindingKind.WRONG_OWNER, type(holder).__name__)
    (mended,) = tools.repair(session, verified)
    assert mended.outcome is Outcome.REPAIRED
    assert items(moto, home) == before


def test_a_missing_guard_of_the_base_is_found_with_the_base_alone(session: Session, moto: Transport) -> None:
    session.save(Doc(id="a", name="x"))
    (guard,) = (one for one in items(moto, docs).values() if "owner" in one)
    key = {name: guard[name] for name in ("PK", "SK")}
    moto.call(Call("DeleteItem", {"TableName": docs.name, "Key": key}))
    assert list(tools.verify(session, Letter)) == []
    assert [one.kind for one in tools.verify(session, Doc)] == [FindingKind.MISSING_GUARD]


def test_a_subclass_in_its_own_table_is_not_verified_with_its_base(session: Session, moto: Transport) -> None:
    """Its entities are read, because both are counted in one target. What else counts in its other target is not."""
    session.save_many([Shop(shop="a"), Street(street="a")])
    session.save_many([Box(id="a", place="a"), Crate(id="a", place="a"), Cart(id="a", place="a")])
    assert list(tools.verify(session, Box)) == []
    assert list(tools.repair(session, Box)) == []
    assert list(tools.verify(session, Crate)) == []


def test_targets_of_other_classes_are_not_read_by_verify(session: Session, moto: Transport) -> None:
    session.save(Street(street="a"))
    session.save_many([Right(id="a", mail="x"), Cart(id="a", place="a")])
    recorder = Recorder(moto)
    with Session(transport=recorder) as own:
        assert list(tools.verify(own, Right)) == []
    assert recorder.needed <= allowed(iam_policy(Right, **WHERE, actions="tools"))


def test_a_wrong_guard_is_found_with_classes_of_its_constraint(session: Session, moto: Transport) -> None:
    session.save(Ticket(id="a", name="x", seat="1"))
    stored = items(moto, docs)
    guard, entity = stored["seat#1 seat#1"], stored["DOC#a DOC"]
    moto.call(
        Call("DeleteItem", {"TableName": docs.name, "Key": {name: guard[name] for name in ("PK", "SK")}})
    )
    put(moto, {**entity, "PK": {"S": "DOC#b"}, "id": {"S": "b"}, "name": {"S": "y"}}, docs)
    session.save(Letter(id="c", name="z"))
    assert list(tools.verify(session, Letter)) == []
    assert FindingKind.DUPLICATE in {one.kind for one in tools.verify(session, Ticket)}

"""A session switches a stream on, and follows it."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, Session, Table, Unique, tools
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.streams import Changed, Deleted, Inserted, Internal, Unreadable
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport

app = Table("app", stream="NEW_AND_OLD_IMAGES")
plain = Table("app")


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    result: str = ""
    code: Annotated[str | None, Unique()] = None


@pytest.fixture
def session(moto: Transport) -> Session:
    return Session(transport=moto, clock=FakeClock())


def described(moto: Transport) -> Any:
    return moto.call(Call("DescribeTable", {"TableName": "app"}))["Table"]


def test_a_story_of_a_versioned_entity(session: Session, moto: Transport) -> None:
    session.create_table(app)
    audit = session.save(Audit(name="a", code="c"))
    session.update(audit, {"result": "good"})
    session.delete(audit)
    session.save(Audit(name="a"))
    broken: Any = {"PK": {"S": "AUDIT#b"}, "SK": {"S": "v0_A"}, "_type": {"S": "Audit"}}
    moto.call(Call("PutItem", {"TableName": "app", "Item": broken}))
    found = list(tools.follow(session, app, idle=0))
    assert [type(one) for one in found] == [Inserted, Changed, Deleted, Inserted, Unreadable]
    later = list(tools.follow(session, app, idle=0, after=found[1].checkpoint))
    assert [one.sequence for one in later] == [one.sequence for one in found[2:]]
    kinds = [
        one.kind for one in tools.follow(session, app, idle=0, internal=True) if isinstance(one, Internal)
    ]
    assert sorted(kinds) == ["guard", "guard", "version", "version", "version"]


def test_create_table_switches_the_stream_on_once(session: Session, moto: Transport) -> None:
    session.create_table(app)
    first = described(moto)
    assert first["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    session.create_table(app)
    assert described(moto)["LatestStreamArn"] == first["LatestStreamArn"]


def test_create_table_switches_the_stream_of_an_existing_table_on(session: Session, moto: Transport) -> None:
    session.create_table(plain)
    with pytest.raises(UsageError, match="the table 'app' has no stream"):
        next(tools.follow(session, app))
    session.create_table(app)
    session.save(Audit(name="a"))
    assert len(list(tools.follow(session, app, idle=0))) == 1


def test_a_stream_of_another_view_type_stays(session: Session, moto: Transport) -> None:
    session.create_table(Table("app", stream="KEYS_ONLY"))
    with pytest.raises(UsageError, match="carries KEYS_ONLY, not NEW_AND_OLD_IMAGES"):
        session.create_table(app)
    session.create_table(plain)
    assert described(moto)["StreamSpecification"]["StreamViewType"] == "KEYS_ONLY"


def test_a_view_type_that_does_not_exist_is_a_declaration_error() -> None:
    with pytest.raises(DeclarationError, match=r"stream='ALL'; write one of 'KEYS_ONLY', 'NEW_IMAGE'"):
        Table("app", stream="ALL")  # type: ignore[arg-type]  # which is the point

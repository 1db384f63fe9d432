"""Laws 1 and 3: a value that a function of the user's cannot take is refused or reported, however the function fails.

It is never replaced by the default of its field, as an attribute that is not stored would be.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import pytest
from pydantic import AfterValidator, BaseModel

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue

table = Table("failing-functions", indexes=[GlobalIndex("GSI1")])
FAILURES: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, OSError)
STRANGE: Final = "strange"
how: list[type[Exception]] = [ValueError]


def encoded(value: str) -> AttributeValue:
    if value == STRANGE:
        raise how[0]
    return {"S": value}


def decoded(stored: AttributeValue) -> str:
    if stored["S"] == STRANGE:
        raise how[0]
    return str(stored["S"])


def checked(value: str) -> str:
    if value == STRANGE:
        raise how[0]
    return value


Coded = Annotated[str, Attribute(encode=encoded, decode=decoded)]
Checked = Annotated[str, AfterValidator(checked)]


class Part(BaseModel):
    code: Coded = "default"
    checked: Checked = "default"


class Thing(Entity, table=table, pk="THING#{name}", sk="T#{number:02d}"):
    name: str
    number: int
    code: Coded = "default"
    part: Part = Part()
    parts: tuple[Part, ...] = ()
    checked: Checked = "default"
    count: int = 0
    by_code = Index("GSI1", pk="CODE#{code}", sk="{number:02d}")


@pytest.fixture(params=FAILURES, ids=lambda kind: str(kind.__name__))
def things(request: pytest.FixtureRequest, engine: Transport, transport: Transport) -> Iterator[Session]:
    how[0] = request.param
    session = Session(transport=transport)
    session.create_table(table)
    session.save_many([Thing(name="a", number=number, code="right") for number in range(3)])
    yield session
    engine.call(Call("DeleteTable", {"TableName": table.name}))


PLACES: Final[dict[str, Callable[[AttributeValue], AttributeValue]]] = {
    "code": lambda strange: strange,
    "part": lambda strange: {"M": {"code": strange}},
    "parts": lambda strange: {"L": [{"M": {"code": strange}}]},
    "checked": lambda strange: strange,
    "part.checked": lambda strange: {"M": {"checked": strange}},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_stored_value_that_a_function_cannot_take_is_reported(
    things: Session, engine: Transport, transport: Transport, place: str
) -> None:
    key = {"PK": {"S": "THING#a"}, "SK": {"S": "T#01"}}
    item = engine.call(Call("GetItem", {"TableName": table.name, "Key": key}))["Item"]
    name, *checked = place.split(".")
    item = {**item, name: PLACES[place]({"S": STRANGE})}
    engine.call(Call("PutItem", {"TableName": table.name, "Item": item}))
    reported: list[DecodeError] = []
    session = Session(transport=transport, on_decode_error=reported.append)
    assert [thing.number for thing in session.query(Thing, name="a")] == [0, 2]
    assert [row.number for row in session.query(Thing, name="a").values("number", name)] == [0, 2]
    problem = "checked" if checked else rf"- {name}"
    assert [bool(re.search(problem, str(one))) for one in reported] == [True, True]
    with pytest.raises(DecodeError, match=problem):
        things.get(Thing, name="a", number=1)
    with pytest.raises(DecodeError, match="was written, but it does not load"):
        things.update(Key(Thing, name="a", number=1), F.count.add(1))


CALLS: Final[dict[str, Callable[[Session], Any]]] = {
    "insert": lambda session: session.save(Thing(name="b", number=1, code=STRANGE)),
    "nested": lambda session: session.save(Thing(name="b", number=1, part=Part(code=STRANGE))),
    "set": lambda session: session.update(Key(Thing, name="a", number=1), F.code.set(STRANGE)),
    "upsert": lambda session: session.upsert(Key(Thing, name="b", number=1), F.code.set(STRANGE)),
    "filter": lambda session: session.query(Thing, name="a").filter(F.code == STRANGE).all(),
    "query": lambda session: session.query(Thing.by_code, code=STRANGE).all(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_value_that_encode_cannot_take_is_refused(things: Session, engine: Transport, call: str) -> None:
    before = engine.call(Call("Scan", {"TableName": table.name}))["Items"]
    with pytest.raises(InvalidValue, match="code"):
        CALLS[call](things)
    assert engine.call(Call("Scan", {"TableName": table.name}))["Items"] == before

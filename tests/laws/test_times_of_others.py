"""Law 3: a range of times on an index finds the rows of other writers, however they spell a time, or `verify` does."""

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from typing import Annotated, Any, Final

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, Key, Session, Table, tools
from dynaorm.errors import DecodeError
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
IN_UTC: Final = (
    "2024-01-01T12:00Z",
    "2024-01-01T12:00:00Z",
    "2024-01-01T12:00:00+0000",
    "2024-01-01T12:00:00-00:00",
    "2024-01-01T12:00:01Z",
    "2024-01-01T12:00:01.5Z",
    "2024-01-01T12:00:01.123Z",
    "2024-01-01T12:00:01.123456789Z",
    "2024-01-01T12:00:01.123456+00:00",
    "2024-01-01T12:00:02,5Z",
    "2024-01-01T12:00:02.000000Z",
)
ELSEWHERE: Final = (
    "2024-01-01T14:00:01+02:00",
    "2024-01-01T07:00:01.5-05:00",
    "2024-01-02T02:00:00+14:00",
    "2023-12-31T12:01:00-23:59",
    "2024-01-01 12:00:01Z",
    "2024-01-01 12:00:01.123456+00:00",
)
times = Table(
    "times-of-others",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("GSI2", projection="KEYS_ONLY"),
        GlobalIndex("Own", pk="kind", sk="at"),
        GlobalIndex("OwnKeys", pk="kind", sk="at", projection="KEYS_ONLY"),
    ],
)


class Event(Entity, table=times, pk="EVENT#{number}", sk="E"):
    number: int
    kind: str
    at: Annotated[datetime, Attribute("at")]
    made_up = Index("GSI1", pk="KIND#{kind}", sk="{at}")
    between = Index("GSI2", pk="KIND#{kind}", sk="AT#{at}#{number:02d}")
    own = Index("Own")
    own_keys = Index("OwnKeys")


class Log(Entity, table=times, pk="LOG#{number}", sk="AT#{at}"):
    number: int
    at: datetime


@pytest.fixture(scope="module")
def session(engine: Transport) -> Session:
    session = Session(transport=engine, clock=FakeClock())
    session.create_table(times)
    for number, text in enumerate([*IN_UTC, *ELSEWHERE]):
        item = {
            "PK": {"S": f"EVENT#{number}"},
            "SK": {"S": "E"},
            "_type": {"S": "Event"},
            "number": {"N": str(number)},
            "kind": {"S": "utc" if number < len(IN_UTC) else "elsewhere"},
            "at": {"S": text},
        }
        keys = {
            "GSI1PK": {"S": f"KIND#{item['kind']['S']}"},
            "GSI1SK": {"S": text},
            "GSI2PK": {"S": f"KIND#{item['kind']['S']}"},
            "GSI2SK": {"S": f"AT#{text}#{number:02d}"},
        }
        engine.call(Call("PutItem", {"TableName": times.name, "Item": {**item, **keys}}))
        line = {"PK": {"S": f"LOG#{number}"}, "SK": {"S": f"AT#{text}"}, "_type": {"S": "Log"}}
        line |= {"number": {"N": str(number)}, "at": {"S": text}}
        engine.call(Call("PutItem", {"TableName": times.name, "Item": line}))
    return session


COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq")
}
BOUNDS: Final = [NOON + timedelta(seconds=one) for one in (-86_400, 0, 1, 1.123456, 60)]


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (Event.made_up, "utc"),
        (Event.between, "utc"),
        *product([Event.own, Event.own_keys], ["utc", "elsewhere"]),
    ],
    ids=lambda one: one if isinstance(one, str) else str(one).rpartition(".")[2],
)
def test_a_range_finds_every_spelling_of_a_time(session: Session, index: Any, kind: str) -> None:
    query = session.query(index, kind=kind)
    rows = query.all()
    assert len(rows) == len(IN_UTC if kind == "utc" else ELSEWHERE)

    def numbers(found: Any) -> list[int]:
        return sorted(one.number for one in found)

    for name, bound in product(COMPARED, BOUNDS):
        expected = numbers(one for one in rows if COMPARED[name](one.at, bound))
        assert numbers(getattr(query, name)(at=bound).all()) == expected, (name, bound)
    for low, high in combinations(BOUNDS, 2):
        found = query.between(at=(low, high))
        assert numbers(found.all()) == numbers(one for one in rows if low <= one.at <= high), (low, high)
    assert query.ge(at=BOUNDS[2]).count() == len(query.ge(at=BOUNDS[2]).all())


def test_a_key_of_dynaorms_own_that_does_not_sort_as_its_time_is_reported(session: Session) -> None:
    query, missed = session.query(Event.made_up, kind="elsewhere"), set[int]()
    for name in ("ge", "lt"):
        found = [one.number for one in getattr(query, name)(at=BOUNDS[2]).all()]
        missed |= {one.number for one in query.all() if COMPARED[name](one.at, BOUNDS[2])} - {*found}
    assert missed
    findings = [one for one in tools.verify(session, times) if one.kind is FindingKind.INDEX_KEYS]
    reported = {one.item_key["PK"]["S"] for one in findings}
    assert {Key(Event, number=one).primary_key["PK"]["S"] for one in missed} <= reported


def test_a_primary_key_in_another_spelling_is_reported(engine: Transport, session: Session) -> None:
    """By every read that is not limited to times, and by verify."""
    findings = [one for one in tools.verify(session, times) if one.kind is FindingKind.UNREADABLE]
    in_findings = {one.item_key["PK"]["S"] for one in findings}
    for number, text in enumerate([*IN_UTC, *ELSEWHERE]):
        reported: list[DecodeError] = []
        reader = Session(transport=engine, clock=FakeClock(), on_decode_error=reported.append)
        is_canonical = text == "2024-01-01T12:00:02.000000Z"
        assert len(reader.query(Log, number=number).all()) == is_canonical == (not reported)
        assert (f"LOG#{number}" in in_findings) is not is_canonical

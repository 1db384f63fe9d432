"""Law: a field in the form of another library is that field everywhere: in keys, conditions, updates and reads."""

import operator
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, NumberKey, Session, Table, codecs, tools
from dynaorm.entity.marker import StoredForm
from dynaorm.errors import UsageError
from dynaorm.transport import Transport

TEXTS = (codecs.ISO_SECONDS, codecs.ISO_MILLISECONDS, codecs.PYNAMODB_UTC, codecs.PYTHON_ISO)
NUMBERS = (codecs.EPOCH_SECONDS, codecs.EPOCH_MILLISECONDS)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
TIMES = st.integers(-3_000_000, 3_000_000).map(lambda step: NOON + timedelta(microseconds=step))
NUMBER = count()
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    one.__name__: one
    for one in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
}


@cache
def made(key: StoredForm, second: StoredForm) -> Any:
    """A class of a table of its own, with one form in its sort key and another in the attribute of an index."""
    number = next(NUMBER)
    last = NumberKey("other") if second in NUMBERS else "other"
    table = Table(
        f"codecs-{number}", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk=last)], type_attribute=None
    )

    class Event(Entity, table=table, pk="EVENT", sk="AT#{at}#{number:03d}"):
        number: int
        at: Annotated[datetime, Attribute("happenedAt", codec=key)]
        other: Annotated[datetime | None, Attribute(codec=second)] = None
        by_other = Index("GSI1", pk="ALL#{at:%Y}")

    return table, Event


@pytest.fixture(scope="module")
def session(transport: Transport) -> Iterator[Session]:
    with Session(transport=transport) as session:
        yield session


@settings(max_examples=6)
@given(
    key=st.sampled_from(TEXTS),
    other=st.sampled_from((*TEXTS, *NUMBERS)),
    rows=st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=5),
    bound=TIMES,
    name=st.sampled_from(sorted(OPERATORS)),
)
def test_reads_are_filters_in_python(
    session: Session,
    key: StoredForm,
    other: StoredForm,
    rows: list[tuple[datetime, datetime]],
    bound: datetime,
    name: str,
) -> None:
    table, event = made(key, other)
    session.create_table(table)
    saved = [session.save(event(number=number, at=at, other=to)) for number, (at, to) in enumerate(rows)]
    # What was saved has what loads: the forms drop parts of a time.
    assert sorted(session.query(event), key=lambda one: one.number) == saved
    compare = OPERATORS[name]
    for field in ("at", "other"):
        found = session.scan(event).filter(compare(F[field], bound)).all()
        wanted = [one for one in saved if compare(getattr(one, field), bound)]
        assert sorted(found, key=lambda one: one.number) == wanted
    if name in ("lt", "le", "gt", "ge"):
        query = session.query(event)
        assert sorted(getattr(query, name)(at=bound), key=lambda one: one.number) == [
            one for one in saved if compare(one.at, bound)
        ]
        query = session.query(event.by_other, at=NOON)
        assert sorted(getattr(query, name)(other=bound), key=lambda one: one.number) == [
            one for one in saved if compare(one.other, bound)
        ]
    assert session.get_one(event, number=0, at=saved[0].at) == saved[0]
    changed = session.update(Key(event, number=0, at=saved[0].at), F.other.set(bound))
    assert session.refresh(saved[0]) == changed
    assert list(tools.verify(session, table)) == []
    session.delete_many(saved)


app = Table("opaque")


class Note(Entity, table=app, pk="NOTE#{id}", sk="NOTE"):
    id: str
    data: Annotated[dict[str, JsonValue] | None, Attribute(codec=codecs.PYNAMODB_JSON)] = None
    text: Annotated[str, Attribute(codec=codecs.COMPRESSED_TEXT)] = ""


@pytest.mark.parametrize(
    "condition",
    [
        F.data == {"a": 1},
        F.data.is_in({"a": 1}),
        F.text > "a",
        F.text == "a",
        F.text.begins_with("a"),
        F.text.contains("a"),
        F.text.between("a", "b"),
    ],
    ids=repr,
)
def test_what_dynamodb_cannot_compare_is_refused(session: Session, condition: Any) -> None:
    with pytest.raises(
        UsageError, match=r"is stored as codecs\.\w+, which DynamoDB cannot compare or search"
    ):
        session.scan(Note).filter(condition).all()


def test_what_cannot_be_compared_can_be_asked_for_and_changed(session: Session) -> None:
    session.create_table(app)
    session.save(Note(id="1"), overwrite=True)
    note = session.update(Key(Note, id="1"), F.data.set({"a": [1]}), F.text.set("long"))
    assert session.query(Note, id="1").filter(F.data.exists() & (F.data != None)).all() == [note]  # noqa: E711 - a condition
    session.update(Key(Note, id="1"), F.data.remove())
    assert session.query(Note, id="1").filter(F.data == None).count() == 1  # noqa: E711 - a condition


class Times(Entity, table=app, pk="TIMES#{id}", sk="TIMES"):
    id: str
    one: Annotated[datetime, Attribute(codec=codecs.ISO_SECONDS)]
    two: Annotated[datetime, Attribute(codec=codecs.ISO_SECONDS)]
    plain: datetime
    number: Annotated[datetime, Attribute(codec=codecs.EPOCH_SECONDS)]
    data: Annotated[dict[str, int], Attribute(codec=codecs.PYNAMODB_JSON)]
    more: Annotated[dict[str, int], Attribute(codec=codecs.PYNAMODB_JSON)]


def test_fields_are_compared_if_they_are_stored_in_one_form(session: Session) -> None:
    session.create_table(app)
    later = NOON + timedelta(hours=1)
    times = Times(id="1", one=NOON, two=later, plain=NOON, number=NOON, data={}, more={})
    session.save(times, overwrite=True)
    assert session.scan(Times).filter(F.one < F.two).all() == [times]
    assert session.scan(Times).filter(F.one == F.two).count() == 0
    for condition in (F.one == F.plain, F.plain < F.one, F.one == F.number, F.data == F.more):
        with pytest.raises(UsageError, match=r"cannot be compared: they are stored as .*codecs\."):
            session.scan(Times).filter(condition).all()

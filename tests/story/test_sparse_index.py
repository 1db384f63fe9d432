"""A sparse index, with the document's six students: a student without enrollment is never in it."""

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, TypeAlias

import pytest
from students import ROWS, Student, students

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table
from tests.story.engine import Engine

# The usual layout: index keys that are made of several fields.
app = Table("App", indexes=[GlobalIndex("GSI1")])


class AppStudent(Entity, table=app, pk="TERM#{term}", sk="STUDENT#{course}#{student_id}"):
    term: str
    course: str
    student_id: Annotated[str, Attribute("studentId")]
    creation_date: Annotated[date, Attribute("creationDate")]
    enrollment: date | None = None
    by_enrollment = Index("GSI1", pk="ENROLLED#{enrollment:%Y-%m}", sk="{enrollment}#{student_id}")


ENROLLED = ["23552", "72442", "98244"]
MAY = date(2020, 5, 10)

Layout: TypeAlias = Any
Way: TypeAlias = Callable[[Session, Any, date | None], object]


def student(kind: Layout, row: tuple[str, str, str, str, str | None]) -> Any:
    term, course, student_id, created, enrolled = row
    return kind(
        term=term,
        course=course,
        student_id=student_id,
        creation_date=date.fromisoformat(created),
        enrollment=None if enrolled is None else date.fromisoformat(enrolled),
    )


def key_of(one: Any) -> Key[Any]:
    return Key(type(one), term=one.term, course=one.course, student_id=one.student_id)


@pytest.fixture(params=[Student, AppStudent])
def kind(request: pytest.FixtureRequest, engine: Engine) -> Layout:
    """Either layout, with the document's students in its table."""
    found = request.param
    table = students if found is Student else app
    engine.create(table)
    with engine.session() as session:
        for row in ROWS:
            session.save(student(found, row))
    engine.forget()
    return found


def in_index(engine: Engine, kind: Layout) -> list[str]:
    """The students in the index, read with AWS's client."""
    table = students if kind is Student else app
    (name,) = table.indexes
    items = engine.client.scan(TableName=engine.name(table.name), IndexName=name)["Items"]
    return sorted(item["studentId"]["S"] for item in items)


def index_attributes(engine: Engine, kind: Layout, student_id: str) -> dict[str, str]:
    """The stored index keys of one student."""
    table = students if kind is Student else app
    names = {key.name for index in table.indexes.values() for key in (*getattr(index, "pk", ()), *index.sk)}
    (item,) = [one for one in engine.raw(table) if one["studentId"]["S"] == student_id]
    return {name: item[name]["S"] for name in sorted(names) if name in item}


# -- the document's table ----------------------------------------------------------------------------------------------


def test_the_items_are_the_documents_and_an_absent_enrollment_is_no_attribute(engine: Engine) -> None:
    engine.create(students)
    with engine.session() as session:
        for row in ROWS:
            session.save(student(Student, row))
    expected = [
        {
            "pk": {"S": term},
            "sk": {"S": f"{course}#{student_id}"},
            "term": {"S": term},
            "course": {"S": course},
            "studentId": {"S": student_id},
            "creationDate": {"S": created},
            **({"enrollment": {"S": enrolled}} if enrolled else {}),
        }
        for term, course, student_id, created, enrolled in ROWS
    ]
    assert engine.raw(students) == sorted(expected, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


# -- in and out --------------------------------------------------------------------------------------------------


def by_save(session: Session, one: Any, day: date | None) -> None:
    loaded = session.get_one(key_of(one))
    loaded.enrollment = day
    session.save(loaded)


def by_change(session: Session, one: Any, day: date | None) -> None:
    session.update(key_of(one), F.enrollment.remove() if day is None else F.enrollment.set(day))


@pytest.mark.parametrize("way", [by_save, by_change])
def test_a_value_set_changed_and_cleared_moves_a_student_into_within_and_out_of_the_index(
    engine: Engine, kind: Layout, way: Way
) -> None:
    late = student(kind, ROWS[5])
    assert index_attributes(engine, kind, "23512") == {}
    with engine.session() as session:
        for day in (date(2020, 4, 30), MAY):
            way(session, late, day)
            assert session.get_one(key_of(late)).enrollment == day
            found = session.query(kind.by_enrollment, enrollment=day).all()
            assert [one.student_id for one in found] == ["23512"]
            assert in_index(engine, kind) == sorted([*ENROLLED, "23512"])
        assert session.query(kind.by_enrollment, enrollment=date(2020, 4, 30)).all() == []
        assert index_attributes(engine, kind, "23512") == (
            {"enrollment": "2020-05-10"}
            if kind is Student
            else {"GSI1PK": "ENROLLED#2020-05", "GSI1SK": "2020-05-10#23512"}
        )
        way(session, late, None)
        assert session.get_one(key_of(late)).enrollment is None
    assert in_index(engine, kind) == ENROLLED
    assert index_attributes(engine, kind, "23512") == {}

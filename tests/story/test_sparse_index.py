"""A sparse index, with the document's six students: a student without enrollment is never in it."""

from collections.abc import Callable
from datetime import date
from typing import TypeAlias

import pytest
from students import ROWS, Student, students

from dynaorm import F, Key, Session
from tests.story.engine import Engine

ENROLLED = ["23552", "72442", "98244"]
LATE = Key(Student, term=ROWS[5][0], course=ROWS[5][1], student_id=ROWS[5][2])

Way: TypeAlias = Callable[[Session, date | None], object]


@pytest.fixture
def session(engine: Engine) -> Session:
    """A session on the table with the document's students."""
    engine.create(students)
    session = engine.session()
    for term, course, student_id, created, enrolled in ROWS:
        session.save(
            Student(
                term=term,
                course=course,
                student_id=student_id,
                creation_date=date.fromisoformat(created),
                enrollment=None if enrolled is None else date.fromisoformat(enrolled),
            )
        )
    return session


def in_index(engine: Engine) -> list[str]:
    """The students in the index, read with AWS's client."""
    (name,) = students.indexes
    items = engine.client.scan(TableName=engine.name(students.name), IndexName=name)["Items"]
    return sorted(item["studentId"]["S"] for item in items)


def test_the_items_are_the_documents_and_an_absent_enrollment_is_no_attribute(
    engine: Engine, session: Session
) -> None:
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
    assert in_index(engine) == ENROLLED


def by_save(session: Session, day: date | None) -> None:
    loaded = session.get_one(LATE)
    loaded.enrollment = day
    session.save(loaded)


def by_change(session: Session, day: date | None) -> None:
    session.update(LATE, F.enrollment.remove() if day is None else F.enrollment.set(day))


@pytest.mark.parametrize("way", [by_save, by_change])
def test_a_value_set_changed_and_cleared_moves_a_student_into_within_and_out_of_the_index(
    engine: Engine, session: Session, way: Way
) -> None:
    before = engine.raw(students)
    for day in (date(2020, 4, 30), date(2020, 5, 10)):
        way(session, day)
        found = session.query(Student.by_enrollment, enrollment=day).all()
        assert [one.student_id for one in found] == ["23512"]
        assert in_index(engine) == sorted([*ENROLLED, "23512"])
    assert session.query(Student.by_enrollment, enrollment=date(2020, 4, 30)).all() == []
    way(session, None)
    assert in_index(engine) == ENROLLED
    assert engine.raw(students) == before

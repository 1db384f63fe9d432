"""A sparse index: only the students who have enrolled are in it.

Run: python examples/students.py
"""

from datetime import date
from typing import Annotated, Any

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table, any_of

# The key of the index is an attribute of the students. A student without this attribute is not in the index.
students = Table(
    "Students",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex("GSI-1", pk="enrollment", sk=None)],
    type_attribute=None,
    revision_attribute=None,
)


# Two students may take one course in one term, so the sort key names the student as well.
class Student(Entity, table=students, pk="{term}", sk="{course}#{student_id}"):
    term: str
    course: str
    student_id: Annotated[str, Attribute("studentId")]
    creation_date: Annotated[date, Attribute("creationDate")]
    enrollment: date | None = None
    by_enrollment = Index("GSI-1")


ROWS = [
    ("202#2023", "CourseA", "23552", "2020-03-23", "2020-03-23"),
    ("202#2023", "CourseA", "48533", "2020-03-14", None),
    ("202#2025", "CourseB", "98244", "2020-02-06", "2020-03-22"),
    ("203#2025", "CourseB", "37134", "2020-05-04", None),
    ("203#2025", "CourseA", "72442", "2020-01-08", "2020-02-12"),
    ("203#2025", "CourseD", "23512", "2020-05-09", None),
]


def student(row: tuple[str, str, str, str, str | None]) -> Student:
    term, course, student_id, created, enrolled = row
    return Student(
        term=term,
        course=course,
        student_id=student_id,
        creation_date=date.fromisoformat(created),
        enrollment=None if enrolled is None else date.fromisoformat(enrolled),
    )


def in_index(client: Any) -> str:
    """The students in the index, read with botocore."""
    items = client.scan(TableName="Students", IndexName="GSI-1")["Items"]
    return ", ".join(sorted(item["studentId"]["S"] for item in items))


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(students)
        for row in ROWS:
            session.save(student(row))

        step("Six students, three of them in the index")
        show(client, students)
        console.print("In the index:", in_index(client))

        step("The students who enrolled on one of these days")
        days = any_of(date(2020, 2, 12), date(2020, 3, 23))
        found(session.query(Student.by_enrollment, enrollment=days).all())

        step("Enrolling puts a student into the index: with save, and with update")
        late = session.get_one(Student, term="203#2025", course="CourseD", student_id="23512")
        late.enrollment = date(2020, 5, 10)
        session.save(late)
        session.update(
            Key(Student, term="202#2023", course="CourseA", student_id="48533"),
            F.enrollment.set(date(2020, 3, 15)),
        )
        console.print("In the index:", in_index(client))

        step("Withdrawing removes a student from the index")
        late.enrollment = None
        session.save(late)
        session.update(
            Key(Student, term="202#2023", course="CourseA", student_id="48533"), F.enrollment.remove()
        )
        console.print("In the index:", in_index(client))
        show(client, students)


if __name__ == "__main__":
    main()

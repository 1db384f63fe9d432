"""Lexicographic order: upper case sorts before lower case, so names are sorted by a normalised key.

Run: python examples/people.py
"""

from typing import Annotated

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Attribute, Entity, Session, Table

people = Table("SampleTable", type_attribute=None, revision_attribute=None, key_fields="in_key")


class Written(Entity, table=people, pk="{initial}", sk="{last_name}"):
    """Sorted by the last name as it is written."""

    initial: str
    last_name: str
    name: Annotated[str, Attribute("Name")]


normalised = Table("Normalised", type_attribute=None, revision_attribute=None, key_fields="in_key")


class Person(Entity, table=normalised, pk="{initial}", sk="{last_name:upper}"):
    """Sorted by the last name in upper case; the name as it is written is stored as an attribute."""

    initial: str
    last_name: Annotated[str, Attribute("LastName")]
    name: Annotated[str, Attribute("Name")]


NAMES = {"DeBrie": "Alex DeBrie", "Dean": "James Dean", "Dern": "Laura Dern"}


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(people)
        session.create_table(normalised)
        for last_name, name in NAMES.items():
            session.save(Written(initial="D", last_name=last_name, name=name))
            session.save(Person(initial="D", last_name=last_name, name=name))

        step("As written, DeBrie comes before Dean: 'B' sorts before 'a'")
        console.print([person.last_name for person in session.query(Written, initial="D")])
        show(client, people)

        step("With {last_name:upper} they sort as people expect, and keep their spelling")
        console.print([person.last_name for person in session.query(Person, initial="D")])
        show(client, normalised)

        step("A query normalises the name that it looks for, too")
        console.print(session.get(Person, initial="D", last_name="debrie"))
        console.print(session.query(Person, initial="D").begins_with(last_name="de").all())

        step("'#' and digits sort before letters")
        for last_name in ("#Dash", "3Dee", "D'Arc", "D-Day", "D1"):
            session.save(Person(initial="*", last_name=last_name, name=last_name))
        console.print([person.last_name for person in session.query(Person, initial="*")])


if __name__ == "__main__":
    main()

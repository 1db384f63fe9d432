"""Unique constraints with the guard items in another table, still in one transaction.

Run: python examples/two_tables.py
"""

from typing import Annotated

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Attribute, Entity, Session, Table, Unique
from dynaorm.errors import UniqueViolation

guards = Table("UserGuards", pk="pk", sk=None)
users = Table("User", pk="pk", sk=None, guard_table=guards, type_attribute=None, revision_attribute=None)


class User(Entity, table=users, pk="{pk}"):
    pk: str
    user_name: Annotated[str, Unique(), Attribute("userName")]
    email: Annotated[str, Unique()]
    full_name: Annotated[str, Attribute("fullName")]


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(users)

        step("Bobby registers: his item in one table, his two guards in the other")
        bobby = User(
            pk="b201c1f2-238e-461f-88e6-0e606fbc3c51",
            user_name="btables",
            email="bobby.tables@gmail.com",
            full_name="Bobby Tables",
        )
        session.save(bobby)
        show(client, users)
        show(client, guards)

        step("Nobody else can take his address")
        try:
            session.save(
                User(pk="8ec436a8", user_name="caulfield", email="bobby.tables@gmail.com", full_name="Phony")
            )
        except UniqueViolation as refused:
            console.print(str(refused), style="red", markup=False)

        step("Bobby is deleted: both tables are empty")
        session.delete(bobby)
        show(client, users)
        show(client, guards)


if __name__ == "__main__":
    main()

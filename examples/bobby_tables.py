"""Unique user names and e-mail addresses, with the data of AWS's article on unique constraints.

Run: python examples/bobby_tables.py
"""

from typing import Annotated

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Attribute, Entity, Key, Session, Table, Unique
from dynaorm.errors import UniqueViolation

# The article's table: a partition key and nothing else, and items without the attributes _type and _rev.
users = Table("User", pk="pk", sk=None, type_attribute=None, revision_attribute=None)


class User(Entity, table=users, pk="{pk}"):
    pk: str
    user_name: Annotated[str, Unique(), Attribute("userName")]
    email: Annotated[str, Unique()]
    full_name: Annotated[str, Attribute("fullName")]
    phone_number: Annotated[str, Attribute("phoneNumber")]


def bobby() -> User:
    return User(
        pk="b201c1f2-238e-461f-88e6-0e606fbc3c51",
        user_name="btables",
        email="bobby.tables@gmail.com",
        full_name="Bobby Tables",
        phone_number="+1-202-555-0124",
    )


OTHERS = (
    User(
        pk="8ec436a8-97e6-4e72-aec2-b47668e96a94",
        user_name="jsmith",
        email="johnsmith@yahoo.com",
        full_name="John Smith",
        phone_number="+1-404-555-9325",
    ),
    User(
        pk="eed78b78-29f9-4893-a432-4c4f50b0d1c4",
        user_name="phonork",
        email="pphonork@calpoly.edu",
        full_name="Peter Phonorkus",
        phone_number="+1-805-555-0820",
    ),
)


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(users)

        step("1. Bobby registers: one transaction, three items")
        with session.transaction(token="TRANSACTION1") as tx:
            little_bobby = tx.save(bobby())
        show(client, users)

        step("2. The same transaction again, as if the answer had been lost: nothing changes")
        with session.transaction(token="TRANSACTION1") as tx:
            tx.save(bobby())
        show(client, users)

        step("3. A phony Bobby wants the same e-mail address")
        phony = User(
            pk="8ec436a8-97e6-4e72-aec2-b47668e96a94",
            user_name="caulfield",
            email="bobby.tables@gmail.com",
            full_name="Phony Bobby Tables",
            phone_number="+1-202-555-0124",
        )
        try:
            session.save(phony)
        except UniqueViolation as refused:
            console.print(str(refused), style="red", markup=False)
        show(client, users)

        step("4. Bobby changes his address: what save() will send, and why")
        little_bobby.email = "bobby@tables.com"
        console.print(session.plan(little_bobby).explain(), markup=False)
        session.save(little_bobby)
        show(client, users)

        step("5. Bobby is found by his new address, through its guard item")
        console.print(session.get_by(User, email="bobby@tables.com"))

        step("6. Bobby deletes himself: his three items are deleted together")
        session.delete(Key(User, pk=little_bobby.pk))
        show(client, users)

        step("7. The other items of the article")
        for user in OTHERS:
            session.save(user)
        show(client, users)


if __name__ == "__main__":
    main()

"""Which fields can be attributes under a prefix. ``declarations/prefixes.txt`` has those that cannot."""

from datetime import datetime
from typing import Annotated

import pytest
from pydantic import BaseModel

from dynaorm import Attribute, Entity, ExpiresAt, InKey, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError

Properties = Annotated[dict[str, str], Attribute(prefix="p.")]


def test_a_class_that_expires_by_a_member_of_another_class_is_refused() -> None:
    table = Table("app")

    class Space(Entity, table=table, pk="SPACE#{id}", sk="S"):
        id: str
        held: Properties

    with pytest.raises(DeclarationError, match=r"expires items by 'p.ttl', .* the prefix 'p.' of Space"):

        class Login(Entity, table=table, pk="LOGIN#{id}", sk="L"):
            id: str
            until: Annotated[datetime | None, ExpiresAt(), Attribute("p.ttl")] = None


def test_only_a_field_of_an_entity_has_a_prefix() -> None:
    class Inner(BaseModel):
        held: Properties

    with pytest.raises(DeclarationError, match=r"Inner.held: only a field of an entity has a prefix"):

        class Space(Entity, table=Table("app"), pk="SPACE#{id}", sk="S"):
            id: str
            inner: Inner


def test_a_field_in_a_key_does_not_count_as_an_attribute() -> None:
    class Space(Entity, table=Table("app"), pk="SPACE#{pid}", sk="S"):
        pid: Annotated[str, InKey()]
        held: Annotated[dict[str, int], Attribute(prefix="p")] = {}  # noqa: RUF012 - pydantic copies it

    assert mapping_of(Space).prefixes == ("p*",)

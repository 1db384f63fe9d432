"""What templates may name besides fields, and what they may not."""

from typing import Annotated

from pydantic import BaseModel, Field, computed_field

from dynaorm import Entity, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of


def app() -> Table:
    return Table("app", indexes=[GlobalIndex("GSI1")])


class Address(BaseModel):
    city: str
    lines: list[str] = []


class Thing(Entity, table=app(), pk="THING#{kind}", sk="{address.city}#{name}"):
    name: str
    address: Address
    home: Address | None = None
    token: Annotated[str, Field(repr=False)] = ""
    by_home = Index("GSI1", pk="HOME#{home.city:upper}", sk="{kind}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def kind(self) -> str:
        return self.name[0]

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def unused(self) -> int:
        return 1


def test_a_mapping_knows_its_computed_fields_and_the_nested_fields_in_its_keys() -> None:
    mapping = mapping_of(Thing)
    assert sorted(mapping.computed) == ["address.city", "home.city", "kind", "unused"]
    assert [mapping.computed[name].nullable for name in sorted(mapping.computed)] == [
        False,
        True,
        False,
        False,
    ]
    assert sorted(mapping.computed["home.city"].fields) == ["home"]
    assert sorted(mapping.computed["kind"].fields) == ["address", "home", "name", "token"]
    assert mapping.key_fields == ("kind", "address.city", "name")
    assert mapping.made_of.computed_key == mapping.computed["kind"].fields


def test_a_nested_field_of_a_secret_one_is_secret() -> None:
    class Secretive(Entity, table=app(), pk="SECRETIVE#{home.city}", sk="S"):
        home: Annotated[Address, Field(repr=False)]

    assert mapping_of(Secretive).secrets.keys == {"PK"}
    assert "home.city" in mapping_of(Secretive).secrets.fields

"""What templates may name besides fields, and what they may not."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, computed_field

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Stored, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Thing")


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


@refused("pk='THING#{adress.city}': {adress.city} names no field; did you mean {address.city}?")
def a_misspelt_nested_field() -> None:
    class Thing(Entity, table=app(), pk="THING#{adress.city}", sk="{address.city}"):
        address: Address


@refused("pk='THING#{address.lines}': {address.lines} names no field; did you mean {address.city}?")
def a_nested_field_without_a_text() -> None:
    class Thing(Entity, table=app(), pk="THING#{address.lines}", sk="{address.city}"):
        address: Address


@refused("pk='THING#{parts}': {parts} names no field; use one of name")
def a_computed_field_without_a_text() -> None:
    class Thing(Entity, table=app(), pk="THING#{parts}", sk="{name}"):
        name: str

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def parts(self) -> list[str]:
            return [self.name]


@refused("unique constraint 'pair': kind has no text form to compare; use a str, number, date, UUID or Enum")
def a_computed_field_without_a_text_in_a_constraint() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T", unique={"pair": ("kind", "name")}):
        name: Annotated[str, Unique()]

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def kind(self) -> Any:
            return self.name[0]


@refused("unique constraint 'pair': 'knd' is not a field; did you mean 'kind'?")
def a_misspelt_computed_field_in_a_constraint() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T", unique={"pair": ("knd", "name")}):
        name: str

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def kind(self) -> str:
            return self.name[0]


@refused("kind: InKey() says how a field is stored, and a computed field is not stored; drop it")
def a_marker_of_stored_fields_on_a_computed_one() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def kind(self) -> Annotated[str, InKey()]:
            return self.name[0]


@refused(
    "when= of Thing.short: Thing.kind is computed and not stored, so DynamoDB cannot look at it; name the fields that "
    "it is computed from. A filter of a query takes a computed field whose value has one text, and when= a function"
)
def a_computed_field_in_a_condition() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        short = Index("GSI1", pk="SHORT", sk="{name}", when=F.kind == "a")

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def kind(self) -> str:
            return self.name[0]


@refused("stored: Stored() keeps a computed field, and this field is stored anyway; drop it")
def a_field_that_is_stored_anyway() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="A"):
        name: str
        stored: Annotated[str, Stored()] = ""


@refused("many: Stored() needs a type whose values have one text; return a str, int, date or the like")
def a_stored_list() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="A"):
        name: str

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def many(self) -> Annotated[list[str], Stored()]:
            return [self.name]


@refused(
    "one: 'label' holds label in Table('app'); keep it under another name with Stored(...)",
    "two: 'PK' holds a key attribute in Table('app'); keep it under another name with Stored(...)",
    "three: '_rev' holds the revision in Table('app'); keep it under another name with Stored(...)",
)
def stored_values_under_taken_names() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="A"):
        name: str
        label: str = ""

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def one(self) -> Annotated[str, Stored("label")]:
            return ""

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def two(self) -> Annotated[str, Stored("PK")]:
            return ""

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def three(self) -> Annotated[str, Stored("_rev")]:
            return ""


@refused.each
def test_what_is_no_part_of_a_key_is_refused(case: Refusal[[]]) -> None:
    case.check()

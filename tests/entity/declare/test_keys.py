"""The primary key and index keys of a class, and the errors for invalid templates."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Generic, TypeVar

from typing_extensions import TypeAliasType

from dynaorm import Attribute, BinaryKey, Entity, GlobalIndex, Index, LocalIndex, NumberKey, Table
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of


def app() -> Table:
    return Table(
        "app",
        indexes=[
            GlobalIndex("GSI1"),
            GlobalIndex("Inverted", pk="SK", sk="PK"),
            GlobalIndex("Regions", pk=("tenant", "region"), sk=None),
            GlobalIndex("ByType", pk="_type", sk="SK"),
            LocalIndex("LSI1"),
        ],
    )


def test_a_class_has_a_place_in_every_index_it_names() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        region: str
        at: datetime
        by_time = Index("GSI1", pk="TICKETS", sk="{at}")
        inverted = Index("Inverted")
        regions = Index("Regions", pk=("T", "{region}"))
        local = Index("LSI1", sk="{region}")

    mapping = mapping_of(Ticket)
    values = {"slug": "x", "region": "eu", "at": datetime(2024, 1, 2, tzinfo=UTC)}
    assert index_keys(mapping, mapping.subject({}, values)) == {
        "GSI1PK": {"S": "TICKETS"},
        "GSI1SK": {"S": "2024-01-02T00:00:00.000000Z"},
        "tenant": {"S": "T"},
        "LSI1SK": {"S": "eu"},
    }
    parts = {name: [part.text for part in index.parts] for name, index in mapping.indexes.items()}
    assert parts == {
        "by_time": ["TICKETS", "{at}"],
        "inverted": ["A", "TICKET#{slug}"],
        "regions": ["T", "{region}"],
        "local": ["TICKET#{slug}", "{region}"],
    }


def test_an_entity_with_none_in_an_index_key_is_not_in_that_index() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        owner: str | None = None
        by_owner = Index("GSI1", pk="OWNER#{owner}", sk="{slug}")

    assert index_keys(mapping_of(Ticket), mapping_of(Ticket).subject({}, {"slug": "x", "owner": None})) == {}


def test_a_key_attribute_that_is_a_field_s_own_needs_no_template() -> None:
    log = Table(
        "log", pk="DeviceID", sk="State#Date", indexes=[GlobalIndex("ByOperator", pk="Operator", sk="Date")]
    )

    class Log(Entity, table=log):
        device: Annotated[str, Attribute("DeviceID")]
        state: Annotated[str, Attribute("State#Date")]
        operator: Annotated[str | None, Attribute("Operator")] = None
        date: Annotated[str, Attribute("Date")]
        by_operator = Index("ByOperator")

    mapping = mapping_of(Log)
    values = {"device": "d#1", "state": "W#2020", "operator": "Liz", "date": "2020"}
    assert mapping.primary_key(values) == {"DeviceID": {"S": "d#1"}, "State#Date": {"S": "W#2020"}}
    assert index_keys(mapping, mapping.subject({}, values)) == {}
    assert mapping.encode(values) == {
        "DeviceID": {"S": "d#1"},
        "State#Date": {"S": "W#2020"},
        "Operator": {"S": "Liz"},
        "Date": {"S": "2020"},
    }


def test_number_and_binary_keys_are_one_field_each() -> None:
    class Event(
        Entity, table=Table("app", pk=BinaryKey("digest"), sk=NumberKey("at")), pk="{digest}", sk="{at:epoch}"
    ):
        digest: Annotated[bytes, Attribute("hash")]
        at: Annotated[datetime, Attribute("time")]

    key = mapping_of(Event).primary_key({"digest": b"\x00", "at": datetime(1970, 1, 2, tzinfo=UTC)})
    assert key == {"digest": {"B": b"\x00"}, "at": {"N": "86400"}}


def test_an_index_of_a_mixin_is_inherited_and_an_index_may_be_annotated_as_a_class_variable() -> None:
    class Listed(Entity):
        slug: str
        by_slug: ClassVar = Index("GSI1", pk="LIST", sk="{slug}")

    class Ticket(Listed, table=app(), pk="TICKET#{slug}", sk="A"):
        pass

    assert list(mapping_of(Ticket).indexes) == ["by_slug"]
    assert list(Ticket.model_fields) == ["slug"]
    assert Ticket(slug="x").by_slug == Ticket.by_slug


def test_versions_are_kept_around_the_class_s_own_sort_key() -> None:
    class Audit(
        Entity, table=app(), pk="AUDIT#{slug}", sk="Audit", versioned="{sk}#v{version}", version_padding=4
    ):
        slug: str

    mapping = mapping_of(Audit)
    assert mapping.versioning is not None
    assert mapping.primary_key({"slug": "x"})["SK"] == {"S": "Audit#v0"}
    assert mapping.versioning.template.rewrap("Audit#v0", 12) == "Audit#v0012"


def test_a_versioned_class_needs_no_sort_key_template_where_versions_have_one() -> None:
    class Audit(Entity, table=app(), pk="AUDIT#{slug}", versioned="v_{version}"):
        slug: str

    assert mapping_of(Audit).primary_key({"slug": "x"})["SK"] == {"S": "v_0"}


def test_a_shard_may_stand_beside_another_field_in_the_primary_key() -> None:
    class Order(Entity, table=Table("app"), pk="ORDERS#{owner:shard8}", sk="ORDER#{number:03d}"):
        owner: str
        number: int

    class Named(Entity, table=Table("app"), pk="NAMED#{name:shard8}", sk="{name:upper}"):
        name: str

    assert mapping_of(Order).key_fields == ("owner", "number")
    assert mapping_of(Named).key_fields == ("name",)


T = TypeVar("T")
Owner = TypeAliasType("Owner", "str | None")
Tags = TypeAliasType("Tags", "T | list[Tags[T]]", type_params=(T,))


@dataclass
class Place(Generic[T]):
    floor: T | None = None


def test_a_type_is_read_alike_under_all_of_its_names() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{place.floor}", sk="{slug}"):
        slug: str
        owner: Owner
        tags: Tags[int]
        place: Place[int]
        by_owner = Index("GSI1", pk="OWNER#{owner}", sk="{slug}")

    mapping = mapping_of(Ticket)
    values = {"slug": "x", "owner": None, "tags": [1, [2]], "place": Place(7)}
    assert mapping.primary_key(values)["PK"] == {"S": "TICKET#7"}
    assert index_keys(mapping, mapping.subject({}, values)) == {}
    assert mapping.encode(values)["tags"] == {"L": [{"N": "1"}, {"L": [{"N": "2"}]}]}

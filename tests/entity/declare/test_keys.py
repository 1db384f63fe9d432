"""The primary key and index keys of a class, and the errors for invalid templates."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from typing_extensions import TypeAliasType

from dynaorm import Attribute, BinaryKey, Entity, GlobalIndex, Index, InKey, LocalIndex, NumberKey, Table
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Ticket")


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


@refused(
    "the class has no partition key template; add pk=\"...{field}...\" for 'PK'",
    "the class has no sort key template; add sk=\"...\" for 'SK'",
)
def no_key_at_all() -> None:
    class Ticket(Entity, table=app()):
        slug: str


@refused("sk='A', but Table('app') has no sort key; drop sk=, or give the table one")
def a_sort_key_in_a_table_without_one() -> None:
    class Ticket(Entity, table=Table("app", sk=None), pk="TICKET#{slug}", sk="A"):
        slug: str


@refused("versioned=True needs a table with a string or binary sort key; give Table('app') one")
def versions_in_a_table_with_a_number_as_sort_key() -> None:
    class Ticket(Entity, table=Table("app", sk=NumberKey("n")), pk="TICKET#{slug}", sk="{n}", versioned=True):
        slug: str
        n: int


@refused(
    "versioned='v{version}_{sk}': {sk} is the class's own sort key, which has no template; "
    "add sk=, or drop {sk}"
)
def versions_around_a_sort_key_that_is_missing() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", versioned=True):
        slug: str


@refused("by_slug: Table('app') has no index 'GSI9'; did you mean 'GSI1'?")
def an_index_of_a_name_much_like_another() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index("GSI9", pk="{slug}", sk="A")


@refused(
    "first: the class is in index 'GSI1' by second, too, and an item has one place in an index; "
    "give first a condition (when=), or drop it",
    "second: the class is in index 'GSI1' by first, too, and an item has one place in an index; "
    "give second a condition (when=), or drop it",
)
def one_index_twice() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        first = Index("GSI1", pk="A#{slug}", sk="A")
        second = Index("GSI1", pk="B#{slug}", sk="B")


@refused("local: a local index has the table's partition key; drop pk=")
def a_local_index_with_a_partition_key() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        local = Index("LSI1", pk="{slug}", sk="{slug}")


@refused("by_slug: sk: no template for 'GSI1SK'; add one, or a field stored under that name")
def an_index_without_a_sort_key_template() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index("GSI1", pk="{slug}")


@refused("inverted: pk: 'SK' is a key of the table and has its template; drop it")
def a_template_for_a_key_of_the_table() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        inverted = Index("Inverted", pk="{slug}")


@refused(
    "regions: pk='{slug}': the key is made of tenant, region; write a tuple of 2 templates",
    "regions: sk='A', but the index has no sort key; drop sk=",
)
def one_template_for_a_key_of_two_attributes() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        regions = Index("Regions", pk="{slug}", sk="A")


@refused("by_slug: pk=('{slug}', 'A'): the key is GSI1PK alone; write one template")
def two_templates_for_a_key_of_one_attribute() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index("GSI1", pk=("{slug}", "A"), sk="A")


@refused(
    "by_type: pk: '_type' is the type or revision attribute of Table('app'); key the index by another one"
)
def an_index_keyed_by_the_type_attribute() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_type = Index("ByType", pk="T#{slug}")


@refused(
    "slug: InKey(), but the field cannot be read back exactly from any key of the class; "
    "write {slug} without a spec in pk= or sk=, or store the field"
)
def a_field_in_an_index_key_that_another_field_can_take_away() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{number}", sk="A"):
        number: str
        slug: Annotated[str, InKey()]
        status: str | None = None
        by_slug = Index("GSI1", pk="{slug}", sk="STATUS#{status}")


@refused(
    "by_slug: 5 is not the name of an index; give a str",
    'by_slug: pk=5 is not a key template; write pk="..."',
    'by_slug: sk=(5,) is not a key template; write sk="..."',
)
def an_index_of_numbers() -> None:
    number: Any = 5

    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index(number, pk=number, sk=(number,))


@refused.each
def test_a_class_whose_keys_cannot_be_made_is_refused(case: Refusal[[]]) -> None:
    case.check()


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

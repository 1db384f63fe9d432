"""Classes that cannot be mapped, and what their authors are told: the class, the field, the remedy."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    NumberKey,
    Table,
    Unique,
    Versioned,
)
from dynaorm.errors import DeclarationError

CASES: list[tuple[Callable[[], None], tuple[str, ...]]] = []


def refused(*problems: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers a function that declares a class called Ticket, and the problems it is told."""

    def add(declaration: Callable[[], None]) -> Callable[[], None]:
        CASES.append((declaration, problems))
        return declaration

    return add


def app() -> Table:
    return Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("ByOwner", pk="owner_id", sk="made_at")])


@refused("unknown keyword verioned=; did you mean versioned=?")
def an_unknown_keyword() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", verioned=True):
        slug: str


@refused("pk='TICKET#{sulg}': {sulg} names no field; did you mean {slug}?")
def an_unknown_field() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{sulg}", sk="A"):
        slug: str


@refused(
    "pk='TICKET#{tags}': {tags}: a value of this field's type has no single text; "
    "use a field of type str, int, bool, datetime, date, UUID, Ksuid, Enum or the like"
)
def a_field_without_a_text_in_a_key() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{tags}", sk="A"):
        tags: list[str]


@refused(
    "sk='slug': it is the constant 'slug', which is also the name of a field; write {slug} for its value"
)
def a_key_that_is_a_constant_by_accident() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="slug"):
        slug: str


@refused(
    "sk='{a}{b}': {a}{b}: different values would have the same key, because nothing separates the fields; write {a}#{b}"
)
def two_fields_with_nothing_between() -> None:
    class Ticket(Entity, table=app(), pk="TICKET", sk="{a}{b}"):
        a: str
        b: str


@refused(
    "sk='{number}': {number} sorts as text in a string key, 10 before 9; "
    "write {number:06d}, or {number!s} if the order does not matter"
)
def an_unpadded_number_in_a_sort_key() -> None:
    class Ticket(Entity, table=app(), pk="TICKET", sk="{number}"):
        number: int


@refused("pk='{slug:uper}': {slug:uper} has an unknown spec 'uper'; did you mean 'upper'?")
def an_unknown_spec() -> None:
    class Ticket(Entity, table=app(), pk="{slug:uper}", sk="A"):
        slug: str


@refused(
    "pk='TICKET#{slug': a '{' is not part of a placeholder, and literal text cannot contain it; write {field}"
)
def an_open_brace() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug", sk="A"):
        slug: str


@refused("sk='{slug}': {slug} is text, and the key is a number; use an int, Decimal, date or datetime field")
def a_text_as_a_number_key() -> None:
    class Ticket(Entity, table=Table("app", sk=NumberKey("at")), pk="TICKET", sk="{slug}"):
        slug: str


@refused(
    "tags: Unique() stands inside the type, where it would mean a part of the value; "
    "write Annotated[<the whole type>, Unique()]"
)
def a_marker_inside_a_list() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        tags: list[Annotated[str, Unique()]]


@refused(
    "email: its annotation drops the Unique() that Person declared; repeat the marker, or drop the annotation"
)
def a_marker_that_a_subclass_drops() -> None:
    class Person(Entity):
        email: Annotated[str, Unique()]

    class Reporter(Person):
        pass

    class Ticket(Reporter, table=app(), pk="TICKET#{email}", sk="A"):
        email: str


@refused("email: Unique is a class; write Unique()", "phone: InKey is a class; write InKey()")
def a_marker_that_nobody_called() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{email}", sk="A"):
        email: Annotated[str, Unique]
        phone: Annotated[str, InKey] | None = None


@refused("email: Unique() is its default value; write Annotated[<its type>, Unique()]")
def a_marker_as_a_default() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{email}", sk="A"):
        email: str = Unique()  # type: ignore[assignment]


@refused("versioned=True needs a string or binary sort key, which Table('app') has not; give it one")
def versions_without_a_sort_key() -> None:
    class Ticket(Entity, table=Table("app", sk=None), pk="TICKET#{slug}", versioned=True):
        slug: str


@refused(
    "version: a versioned class keeps this name for the version's number; rename the field",
    "version_at: 'version_at' holds the version's time in Table('app'); "
    "store the field under another name with Attribute(...)",
)
def fields_that_a_versioned_class_keeps_for_itself() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", versioned=True):
        slug: str
        version: int
        version_at: datetime


@refused(
    "versioned='v_{sk}': {version} must occur exactly once; write v{version}_{sk}",
)
def a_version_template_without_a_version() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", versioned="v_{sk}"):
        slug: str


@refused("title: Versioned() in a class that keeps no versions; add versioned=True")
def a_versioned_field_in_a_class_without_versions() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        title: Annotated[str, Versioned()]


@refused(
    "owner_id: 'owner_id' is the key of an index, and every version would repeat it; "
    "key the index by an attribute of its own, or store the field under another name"
)
def a_plain_index_key_in_a_versioned_class() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", versioned=True):
        slug: str
        owner_id: str


@refused(
    "'version' is a key attribute of Table('app'), and a versioned class keeps the version's number there; "
    "rename the key, or drop versioned="
)
def versions_in_a_table_with_a_key_called_version() -> None:
    class Ticket(Entity, table=Table("app", pk="version"), pk="TICKET#{slug}", sk="A", versioned=True):
        slug: str


@refused("until: ExpiresAt() stands on a field that is no time; write datetime | None")
def an_expiry_that_is_no_time() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        until: Annotated[str, ExpiresAt()]


@refused("until and latest are both ExpiresAt(), and a table has one TTL attribute; keep one")
def two_expiries() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        until: Annotated[datetime, ExpiresAt()]
        latest: Annotated[datetime | None, ExpiresAt()] = None


@refused("until: a versioned class cannot expire; drop ExpiresAt() or versioned=")
def an_expiry_in_a_versioned_class() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", versioned=True):
        slug: str
        until: Annotated[datetime, ExpiresAt()]


@refused(
    "until: ExpiresAt() is stored in whole seconds, so the primary key cannot be made of it; use another field there"
)
def an_expiry_in_the_primary_key() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="{until}"):
        slug: str
        until: Annotated[datetime, ExpiresAt()]


@refused(
    "kind: '_type' holds the entity's name in Table('app'); store the field under another name with Attribute(...)",
    "etag: '_rev' holds the revision in Table('app'); store the field under another name with Attribute(...)",
)
def fields_under_the_names_of_bookkeeping() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        kind: Annotated[str, Attribute("_type")]
        etag: Annotated[str, Attribute("tag", formerly="_rev")]


@refused(
    "PK: 'PK' is a key attribute with a template of its own; "
    "write the template as {PK}, or store the field under another name with Attribute(...)",
    "SK: formerly='GSI1PK' is a key attribute, which a save cannot rename; drop it",
)
def fields_under_the_names_of_keys() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{PK}", sk="A"):
        PK: str
        SK: Annotated[str, Attribute("sort", formerly="GSI1PK")]


@refused(
    "owner_id: 'owner_id' is a key attribute of type S, which this field's type is not; "
    "change the type, or store the field under another name with Attribute(...)",
    "made_at: 'made_at' is an index key, which cannot be NULL, but None is not the field's default; write = None",
)
def fields_that_an_index_cannot_be_keyed_by() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        owner_id: int
        made_at: str | None = "today"


@refused("note: is stored as 'text', and so is body; rename one with Attribute(...)")
def two_fields_in_one_attribute() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{body}", sk="A"):
        body: Annotated[str, Attribute("text")]
        note: Annotated[str, Attribute("note", formerly="text")]


@refused("body: Attribute('') is no name; write Attribute(\"Name\")")
def a_field_without_an_attribute_name() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        body: Annotated[str, Attribute("")]


@refused(
    "slug: InKey(), but no key of the class gives the field back exactly; "
    "write {slug} without a spec in pk= or sk=, or store the field",
    "body: InKey(), but no key of the class gives the field back exactly; "
    "write {body} without a spec in pk= or sk=, or store the field",
)
def fields_that_no_key_gives_back() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug:upper}", sk="A"):
        slug: Annotated[str, InKey()]
        body: Annotated[str, InKey()]


@refused("by_owner: Table('app') has no index 'GSI2'; did you mean 'GSI1'?")
def an_unknown_index() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_owner = Index("GSI2", pk="OWNER#{slug}", sk="A")


@refused("by_owner: an Index is no field; write by_owner: ClassVar = Index(...)")
def an_index_annotated_as_a_field() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_owner: Index = Index("GSI1", pk="OWNER#{slug}", sk="A")


@refused(
    "pk= would change the key that Issue declared and its subclasses share; "
    "drop it, or give the class a table= of its own"
)
def a_subclass_with_another_key() -> None:
    class Issue(Entity, table=app(), pk="ISSUE#{slug}", sk="A"):
        slug: str

    class Ticket(Issue, pk="TICKET#{slug}"):
        pass


@refused(
    "Table('app') has no type attribute, so Ticket could not be told from Issue; "
    "give the table one, or the class a table= and keys of its own"
)
def a_subclass_that_could_not_be_told() -> None:
    class Issue(Entity, table=Table("app", type_attribute=None), pk="ISSUE#{slug}", sk="A"):
        slug: str

    class Ticket(Issue):
        pass


@refused("extra='allow' takes fields without a type, which cannot be stored; declare a dict field")
def fields_nobody_declared() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A", extra="allow"):
        slug: str


@refused("body: Any cannot be stored; use a type that DynamoDB has, or Attribute(encode=..., decode=...)")
def a_type_that_cannot_be_stored() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        body: Any


@refused(
    "price: its default 0.5 could not be stored: it is a float, not a Decimal; change the default or the type"
)
def a_default_of_another_type() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        price: Decimal = 0.5  # type: ignore[assignment]


class Inner(BaseModel):
    code: Annotated[str, Unique()]


@refused(
    "unknown keyword colour=; the keywords are table, pk, sk, name, unique, versioned, version_padding",
    "inner: Unique() stands inside the type, where it would mean a part of the value; "
    "write Annotated[<the whole type>, Unique()]",
    "pk='TICKET#{slug}': {slug} names no field; use one of number, until",
    "sk='{number}': {number} sorts as text in a string key, 10 before 9; "
    "write {number:06d}, or {number!s} if the order does not matter",
    "by_owner: Table('app') has no index 'Stock'; declare it: Table(..., indexes=[GlobalIndex('Stock')])",
    "until: ExpiresAt() stands on a field that is no time; write datetime | None",
    "unique constraint 'pair': 'numbr' is not a field; did you mean 'number'?",
)
def everything_wrong_at_once() -> None:
    class Ticket(
        Entity, table=app(), pk="TICKET#{slug}", sk="{number}", unique={"pair": ("numbr",)}, colour="red"
    ):
        number: int
        inner: Inner
        until: Annotated[str, ExpiresAt()]
        by_owner = Index("Stock", pk="OWNER#{number}", sk="A")


@pytest.mark.parametrize(
    ("declaration", "problems"), [pytest.param(*case, id=case[0].__name__) for case in CASES]
)
def test_a_class_that_cannot_be_mapped_is_refused_with_every_problem_and_its_remedy(
    declaration: Callable[[], None], problems: tuple[str, ...]
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declaration()
    assert str(caught.value) == "\n  - ".join(["Cannot map class Ticket:", *problems])
    assert caught.value.entity == "Ticket"
    assert caught.value.problems == problems


def test_a_refused_class_leaves_its_table_as_it_was() -> None:
    table = app()
    with pytest.raises(DeclarationError):

        class Ticket(Entity, table=table, pk="TICKET#{slug}", sk="A", unique={"pair": ("slug", "gone")}):
            slug: str
            until: Annotated[datetime, ExpiresAt()]

    assert (table.mappings, table.guarded, table.ttl_attribute, table.reserved) == ({}, {}, None, ())

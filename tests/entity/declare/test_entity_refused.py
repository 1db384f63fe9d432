"""Classes that cannot be mapped, and the errors for them."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, create_model

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
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Ticket")


def app() -> Table:
    return Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("ByOwner", pk="owner_id", sk="made_at")])


def row(
    name: str, *problems: str, fields: Mapping[str, Any] = MappingProxyType({"slug": str}), **keywords: Any
) -> None:
    """A case in which the class statement has these fields and keywords."""
    given = {"table": app(), "pk": "TICKET#{slug}", "sk": "A", **keywords}

    def declare() -> None:
        create_model("Ticket", __base__=Entity, __cls_kwargs__=given, **fields)

    declare.__name__ = name
    refused(*problems)(declare)


row(
    "an unknown field",
    "pk='TICKET#{sulg}': {sulg} names no field; did you mean {slug}?",
    pk="TICKET#{sulg}",
)
row(
    "a field without a text in a key",
    "pk='TICKET#{tags}': {tags}: a value of this field's type has no single text; "
    "use a field of type str, int, bool, datetime, date, UUID, Ksuid, Enum or the like",
    pk="TICKET#{tags}",
    fields={"tags": list[str]},
)
row(
    "a key that is a constant by accident",
    "sk='slug': it is the constant 'slug', which is also the name of a field; write {slug} for its value",
    sk="slug",
)
row(
    "two fields with nothing between",
    "sk='{a}{b}': {a}{b}: different values would have the same key, because nothing separates the fields; "
    "write {a}#{b}",
    pk="TICKET",
    sk="{a}{b}",
    fields={"a": str, "b": str},
)
row(
    "an unpadded number in a sort key",
    "sk='{number}': {number} sorts as text in a string key, 10 before 9; "
    "write {number:06d}, or {number!s} if the order does not matter",
    pk="TICKET",
    sk="{number}",
    fields={"number": int},
)
row(
    "an unknown spec",
    "pk='{slug:uper}': {slug:uper} has an unknown spec 'uper'; did you mean 'upper'?",
    pk="{slug:uper}",
)
row(
    "an open brace",
    "pk='TICKET#{slug': a '{' is not part of a placeholder, and literal text cannot contain it; write {field}",
    pk="TICKET#{slug",
)
row(
    "a text as a number key",
    "sk='{slug}': {slug} is text, and the key is a number; use an int, Decimal, date or datetime field",
    table=Table("app", sk=NumberKey("at")),
    pk="TICKET",
    sk="{slug}",
)
row(
    "a marker inside a list",
    "tags: Unique() stands inside the type, where it would mean a part of the value; "
    "write Annotated[<the whole type>, Unique()]",
    fields={"slug": str, "tags": list[Annotated[str, Unique()]]},
)


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


row(
    "a marker that nobody called",
    "email: Unique is a class; write Unique()",
    "phone: InKey is a class; write InKey()",
    pk="TICKET#{email}",
    fields={"email": Annotated[str, Unique], "phone": (Annotated[str, InKey] | None, None)},
)
row(
    "a marker as a default",
    "email: Unique() is its default value; write Annotated[<its type>, Unique()]",
    pk="TICKET#{email}",
    fields={"email": (str, Unique())},
)
row(
    "versions without a sort key",
    "versioned=True needs a table with a string or binary sort key; give Table('app') one",
    table=Table("app", sk=None),
    versioned=True,
    sk=None,
)
row(
    "fields that a versioned class keeps for itself",
    "version: a versioned class stores the version's number under this name; rename the field",
    "version_at: 'version_at' holds the version's time in Table('app'); "
    "store the field under another name with Attribute(...)",
    versioned=True,
    fields={"slug": str, "version": int, "version_at": datetime},
)
row(
    "a version template without a version",
    "versioned='v_{sk}': {version} must occur exactly once; write v{version}_{sk}",
    versioned="v_{sk}",
)
row(
    "a versioned field in a class without versions",
    "title: Versioned() in a class without versions; add versioned=True",
    fields={"slug": str, "title": Annotated[str, Versioned()]},
)
row(
    "a plain index key in a versioned class",
    "owner_id: 'owner_id' is the key of an index, and every version would repeat it; "
    "key the index by an attribute of its own, or store the field under another name",
    versioned=True,
    fields={"slug": str, "owner_id": str},
)
row(
    "versions in a table with a key called version",
    "'version' is a key attribute of Table('app'), and a versioned class stores the version's number there; "
    "rename the key, or drop versioned=",
    table=Table("app", pk="version"),
    versioned=True,
)
row(
    "an expiry that is no time",
    "until: ExpiresAt() needs a field that is a time; write datetime | None",
    fields={"slug": str, "until": Annotated[str, ExpiresAt()]},
)
row(
    "two expiries",
    "until and latest are both ExpiresAt(), and a table has one TTL attribute; keep one",
    fields={
        "slug": str,
        "until": Annotated[datetime, ExpiresAt()],
        "latest": (Annotated[datetime | None, ExpiresAt()], None),
    },
)
row(
    "an expiry in a versioned class",
    "until: a versioned class cannot expire; drop ExpiresAt() or versioned=",
    versioned=True,
    fields={"slug": str, "until": Annotated[datetime, ExpiresAt()]},
)
row(
    "an expiry in the primary key",
    "until: ExpiresAt() is not stored exactly, so the primary key cannot be made of it; use another field there",
    sk="{until}",
    fields={"slug": str, "until": Annotated[datetime, ExpiresAt()]},
)
row(
    "fields under the names of bookkeeping",
    "kind: '_type' holds the entity's name in Table('app'); store the field under another name with Attribute(...)",
    "etag: '_rev' holds the revision in Table('app'); store the field under another name with Attribute(...)",
    fields={
        "slug": str,
        "kind": Annotated[str, Attribute("_type")],
        "etag": Annotated[str, Attribute("tag", formerly="_rev")],
    },
)
row(
    "fields under the names of keys",
    "PK: 'PK' is a key attribute with a template of its own; "
    "write the template as {PK}, or store the field under another name with Attribute(...)",
    "SK: formerly='GSI1PK' is a key attribute, which a save cannot rename; drop it",
    pk="TICKET#{PK}",
    fields={"PK": str, "SK": Annotated[str, Attribute("sort", formerly="GSI1PK")]},
)
row(
    "fields that an index cannot be keyed by",
    "owner_id: 'owner_id' is a key attribute of type S, which this field's type is not; "
    "change the type, or store the field under another name with Attribute(...)",
    "made_at: 'made_at' is an index key, which cannot be NULL, but None is not the field's default; write = None",
    fields={"slug": str, "owner_id": int, "made_at": (str | None, "today")},
)
row(
    "two fields in one attribute",
    "note: is stored as 'text', and so is body; rename one with Attribute(...)",
    pk="TICKET#{body}",
    fields={
        "body": Annotated[str, Attribute("text")],
        "note": Annotated[str, Attribute("note", formerly="text")],
    },
)
row(
    "a field without an attribute name",
    "body: Attribute('') is no name; write Attribute(\"Name\")",
    fields={"slug": str, "body": Annotated[str, Attribute("")]},
)
row(
    "fields that no key gives back",
    "slug: InKey(), but the field cannot be read back exactly from any key of the class; "
    "write {slug} without a spec in pk= or sk=, or store the field",
    "body: InKey(), but the field cannot be read back exactly from any key of the class; "
    "write {body} without a spec in pk= or sk=, or store the field",
    pk="TICKET#{slug:upper}",
    fields={"slug": Annotated[str, InKey()], "body": Annotated[str, InKey()]},
)


@refused("by_owner: an Index is not a field; write by_owner: ClassVar = Index(...)")
def an_index_annotated_as_a_field() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_owner: Index = Index("GSI1", pk="OWNER#{slug}", sk="A")


@refused(
    "the primary key has only the shard of slug in it, so two entities of one shard would be one item; put the field "
    'itself into the key: sk="...{slug}"'
)
def a_key_of_a_shard_alone() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug:shard8}", sk="A"):
        slug: str


@refused(
    "the primary key has only the shard of slug and number in it, so two entities of one shard would be one item; put "
    'the field itself into the key: sk="...{slug}"'
)
def a_versioned_key_of_shards_alone() -> None:
    class Ticket(Entity, table=app(), pk="TICKET#{slug:shard8}", sk="A#{number:shard2}", versioned=True):
        slug: str
        number: int


@refused(
    "the primary key has only the shard of slug in it, so two entities of one shard would be one item; put the field "
    'itself into the key: pk="...{slug}"'
)
def a_key_of_a_shard_without_a_sort_key() -> None:
    class Ticket(Entity, table=Table("app", sk=None), pk="TICKET#{slug:shard8}"):
        slug: str


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


row(
    "fields nobody declared",
    "extra='allow' takes fields without a type, which cannot be stored; declare a dict field",
    extra="allow",
)
row(
    "a type that cannot be stored",
    "body: Any cannot be stored; it does not say how to load a value. Use dynaorm.AnyValue for whatever DynamoDB has, "
    "pydantic.JsonValue for None, bool, numbers, str, and lists and dicts of these, or a union of the types it can "
    "have, such as str | set[str]",
    fields={"slug": str, "body": Any},
)
row(
    "a default of another type",
    "price: its default 0.5 could not be stored: it is a float, not a Decimal; change the default or the type",
    fields={"slug": str, "price": (Decimal, 0.5)},
)


class Inner(BaseModel):
    code: Annotated[str, Unique()]


@refused(
    "unknown keyword colour=; the keywords are table, pk, sk, name, formerly, unique, versioned, version_padding",
    "inner: Unique() stands inside the type, where it would mean a part of the value; "
    "write Annotated[<the whole type>, Unique()]",
    "pk='TICKET#{slug}': {slug} names no field; use one of number, until",
    "sk='{number}': {number} sorts as text in a string key, 10 before 9; "
    "write {number:06d}, or {number!s} if the order does not matter",
    "by_owner: Table('app') has no index 'Stock'; declare it: Table(..., indexes=[GlobalIndex('Stock')])",
    "until: ExpiresAt() needs a field that is a time; write datetime | None",
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


@refused.each
def test_a_class_that_cannot_be_mapped_is_refused_with_every_problem_and_its_remedy(
    case: Refusal[[]],
) -> None:
    case.check()


def test_a_refused_class_leaves_its_table_as_it_was() -> None:
    table = app()
    rules = table.rules
    with pytest.raises(DeclarationError):

        class Ticket(Entity, table=table, pk="TICKET#{slug}", sk="A", unique={"pair": ("slug", "gone")}):
            slug: str
            until: Annotated[datetime, ExpiresAt()]

    assert table.rules is rules

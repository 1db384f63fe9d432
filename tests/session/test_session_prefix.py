"""A dict whose members are attributes of the item: what is sent, and what only such a dict has.

That it is a dict like any other is a law (``tests/laws/test_prefixes.py``).
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.description import describe, samples
from dynaorm.errors import InvalidValue, StaleEntity, UsageError
from dynaorm.testing import FaultyTransport, factory
from tests.cast.seen import items, operations, put

app = Table("prefixed", indexes=[GlobalIndex("some", projection=("p.owner", "_type"))])
plain = Table("prefixed-plain", type_attribute=None, revision_attribute=None)


class Space(Entity, table=app, pk="SPACE#{id}", sk="S"):
    id: str
    properties: Annotated[dict[str, str], Attribute(prefix="p.")] = {}  # noqa: RUF012 - pydantic copies it
    counts: Annotated[dict[str, int | None], Attribute(prefix="c.")] = {}  # noqa: RUF012 - pydantic copies it
    slug: Annotated[str | None, Unique()] = None
    by_slug = Index("some", pk="SLUG#{slug}", sk="{id}")


class Row(Entity, table=plain, pk="ROW#{id}", sk="R"):
    id: str
    cells: Annotated[dict[str, str], Attribute(prefix="c_")] = {}  # noqa: RUF012 - pydantic copies it


KEY = Key(Space, id="1")


def attributes(wire: FaultyTransport, beginning: str = "p.") -> dict[str, Any]:
    """The attributes of the first item that begin so."""
    (item,) = [one for one in items(wire, app).values() if one["SK"] == {"S": "S"}]
    return {name: next(iter(value.values())) for name, value in item.items() if name.startswith(beginning)}


def test_a_save_writes_the_members_that_changed(session: Session, wire: FaultyTransport) -> None:
    space = session.save(Space(id="1", properties={"a": "1", "b": "2", "c": "3"}))
    space.properties = {"a": "1", "b": "9", "new": "4"}
    request = session.plan(space).to_request()
    assert re.fullmatch(r"SET #n\d = :v0, #n\d = :v1, #n\d = :v2 REMOVE #n\d", request["UpdateExpression"])
    assert {*request["ExpressionAttributeNames"].values()} == {"p.b", "p.new", "p.c", "_rev"}
    session.save(space)
    assert attributes(wire) == {"p.a": "1", "p.b": "9", "p.new": "4"}


def test_an_attribute_that_has_only_the_prefix_is_no_member_and_stays(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Space(id="1", properties={"a": "1"}))
    (item,) = items(wire, app).values()
    put(wire, {**item, "p.": {"N": "1"}, "p.*": {"S": "star"}}, app)
    space = session.get_one(KEY)
    assert space.properties == {"a": "1", "*": "star"}
    space.properties = {}
    session.save(space)
    assert attributes(wire) == {"p.": "1"}


@pytest.mark.parametrize(
    ("change", "after", "sent"),
    [
        (F.properties.owner.set("eve"), {"p.owner": "eve", "p.b": "2"}, ["UpdateItem"]),
        (F.properties["new"].set("1"), {"p.owner": "ada", "p.b": "2", "p.new": "1"}, ["UpdateItem"]),
        (F.properties.owner.set_if_missing("eve"), {"p.owner": "ada", "p.b": "2"}, ["UpdateItem"]),
        (F.properties.owner.remove(), {"p.b": "2"}, ["UpdateItem"]),
        (F.properties["none"].remove(), {"p.owner": "ada", "p.b": "2"}, ["UpdateItem"]),
        (F.properties.set({"b": "3"}), {"p.b": "3"}, ["GetItem", "UpdateItem"]),
        ({"properties": {"b": "3"}}, {"p.b": "3"}, ["GetItem", "UpdateItem"]),
        (F.properties.set({}), {}, ["GetItem", "UpdateItem"]),
        (F.properties.remove(), {}, ["GetItem", "UpdateItem"]),
        (F.properties.set_if_missing({"z": "1"}), {"p.owner": "ada", "p.b": "2"}, ["GetItem"]),
    ],
)
def test_a_member_is_changed_by_key_in_one_request_and_the_whole_dict_is_read_first(
    session: Session, wire: FaultyTransport, change: Any, after: dict[str, str], sent: list[str]
) -> None:
    session.save(Space(id="1", properties={"owner": "ada", "b": "2"}))
    operations(wire)
    found = session.update(KEY, change)
    assert operations(wire) == sent
    assert attributes(wire) == after
    assert found == session.get(KEY)


WHOLE: dict[str, Callable[[], Any]] = {
    "exists": F.properties.exists,
    "missing": F.properties.missing,
    "==": lambda: F.properties == {"a": "1"},
    "!=": lambda: F.properties != {},
    "size": lambda: F.properties.size() > 1,
    "contains": lambda: F.properties.contains("a"),
    "== path": lambda: F.counts == F.properties,
}


@pytest.mark.parametrize("condition", WHOLE.values(), ids=WHOLE)
def test_no_condition_names_the_whole_dict(
    session: Session, wire: FaultyTransport, condition: Callable[[], Any]
) -> None:
    session.save(Space(id="1"))
    operations(wire)
    for read in (
        lambda: session.query(Space, id="1").filter(condition()).all(),
        lambda: session.update(KEY, F.slug.set("x"), condition=condition()),
    ):
        with pytest.raises(UsageError, match=r'any number of attributes.*name a member: F\.\w+\["key"\]'):
            read()
    assert operations(wire) == []


def test_a_key_that_is_empty_is_refused(session: Session) -> None:
    session.save(Space(id="1"))
    writes: list[Callable[[], Any]] = [
        lambda: session.save(Space(id="2", properties={"": "x"})),
        lambda: session.update(KEY, {"properties": {"": "x"}}),
    ]
    for write in writes:
        with pytest.raises(InvalidValue, match="has an empty key"):
            write()
    with pytest.raises(UsageError, match="has no part ''"):
        session.update(KEY, F.properties[""].set("x"))


def test_without_a_revision_the_members_that_are_known_are_the_condition(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Row(id="1", cells={"a": "1", "b": "2"}))
    mine, theirs = (session.get_one(Row, id="1") for _ in range(2))
    theirs.cells["a"] = "9"
    session.save(theirs)
    mine.cells = {"b": "3"}
    with pytest.raises(StaleEntity):
        session.save(mine)
    # Nobody knew of this member, and it stays; the object gets it.
    (item,) = items(wire, plain).values()
    put(wire, {**item, "c_more": {"S": "m"}}, plain)
    theirs.cells["b"] = "5"
    assert session.save(theirs).cells == {"a": "9", "b": "5", "more": "m"}


def test_samples_and_descriptions_name_the_attributes(session: Session) -> None:
    space = session.save(factory(Space)(properties={"a": "1"}))
    assert session.get(Space, id=space.id) == space
    (cls,) = [one for one in describe(app).classes if one.name == "Space"]
    assert [one.attribute for one in cls.fields if one.name == "properties"] == ["p.*"]
    names = {name for entry in samples(app) for name in entry.visible}
    assert not any(name.endswith("*") for name in names)

"""A dict whose members are attributes of the item: what is sent, and what only such a dict has.

That it is a dict like any other is a law (``tests/laws/test_prefixes.py``).
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from dynaorm import (
    Attribute,
    Changed,
    Entity,
    F,
    GlobalIndex,
    Index,
    Internal,
    Key,
    Session,
    Table,
    Unique,
    Versioned,
    changes,
    entity_of,
    inspect,
    item_of,
)
from dynaorm.describe import describe, samples
from dynaorm.errors import AlreadyExists, ConditionFailed, InvalidValue, StaleEntity, UsageError
from dynaorm.testing import FaultyTransport, Store, factory, stream_events
from tests.cast.seen import items, operations, put

app = Table("prefixed", indexes=[GlobalIndex("some", projection=("p.owner", "_type"))])
plain = Table("prefixed-plain", type_attribute=None, revision_attribute=None)


class Space(Entity, table=app, pk="SPACE#{id}", sk="S"):
    id: str
    properties: Annotated[dict[str, str], Attribute(prefix="p.")] = {}  # noqa: RUF012 - pydantic copies it
    counts: Annotated[dict[str, int | None], Attribute(prefix="c.")] = {}  # noqa: RUF012 - pydantic copies it
    slug: Annotated[str | None, Unique()] = None
    by_slug = Index("some", pk="SLUG#{slug}", sk="{id}")


class Page(Entity, table=app, pk="PAGE#{id}", sk="P", versioned=True):
    id: str
    meta: Annotated[dict[str, str], Attribute(prefix="m_"), Versioned()] = {}  # noqa: RUF012 - pydantic copies it
    views: int = 0


class Row(Entity, table=plain, pk="ROW#{id}", sk="R"):
    id: str
    cells: Annotated[dict[str, str], Attribute(prefix="c_")] = {}  # noqa: RUF012 - pydantic copies it


class Other(Entity, table=plain, pk="OTHER#{id}", sk="O"):
    """Its attribute begins as the members of rows, and is none."""

    id: str
    name: Annotated[str, Attribute("c_name")]


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


def test_a_number_is_added_to_a_member_that_need_not_be_there(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Space(id="1"))
    operations(wire)
    session.update(KEY, F.counts.n.add(2))
    assert session.update(KEY, F.counts.n.add(3), condition=F.counts["n"] == 2).counts == {"n": 5}
    assert operations(wire) == ["UpdateItem", "UpdateItem"]
    with pytest.raises(ConditionFailed):
        session.update(KEY, F.counts.n.add(3), condition=F.counts["n"] == 2)


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


@pytest.mark.parametrize(
    ("condition", "is_found"),
    [
        (F.properties.owner == "ada", True),
        (F.properties["owner"].begins_with("a"), True),
        (F.properties.owner.is_in(["eve"]), False),
        (F.properties["none"].missing(), True),
        (~(F.properties["none"] == "x"), True),
        (F.counts.none == None, True),  # noqa: E711 - its values may be None
        (F.counts.n > 4, True),
        (F.properties.owner == F.slug, False),
    ],
)
def test_a_filter_names_members(session: Session, condition: Any, is_found: bool) -> None:
    session.save(Space(id="1", properties={"owner": "ada"}, counts={"n": 5}))
    assert bool(session.scan(Space).filter(condition).all()) is is_found


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


def test_every_read_has_the_members(session: Session) -> None:
    space = session.save(Space(id="1", properties={"owner": "ada", "team": "x"}, slug="s"))
    found = [
        *session.query(Space, id="1"),
        *session.query(Space.by_slug, slug="s"),
        *session.query(Space.by_slug, slug="s").filter(F.properties.team == "x"),
        *session.scan(Space),
        *session.get_many([KEY]),
        *session.snapshot([KEY]),
        session.get_by(Space, slug="s"),
        entity_of(item_of(space), app),
    ]
    assert found == [space] * 8
    for query in (session.query(Space, id="1"), session.query(Space.by_slug, slug="s")):
        assert query.values("properties", "id").all() == [(space.properties, "1")]
    assert item_of(space)["p.team"] == {"S": "x"}


def test_a_refusal_holds_the_members_of_what_stands_there(session: Session) -> None:
    first = session.save(Space(id="1", properties={"owner": "ada"}))
    late = session.get_one(KEY)
    session.update(KEY, F.properties.owner.set("eve"))
    late.properties["owner"] = "bob"
    with pytest.raises(StaleEntity) as stale:
        session.save(late)
    with pytest.raises(AlreadyExists) as taken:
        session.save(Space(id="1"))
    with pytest.raises(ConditionFailed) as failed:
        session.update(KEY, F.properties.owner.set("bob"), condition=F.properties.owner == "ada")
    for error in (stale, taken, failed):
        assert error.value.stored.properties == {"owner": "eve"}
    deleted = session.delete(KEY, returning=True)
    assert deleted is not None
    assert deleted.properties == {"owner": "eve"}
    assert first.properties == {"owner": "ada"}


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


def test_another_class_of_the_table_has_such_attributes_of_its_own(
    session: Session, wire: FaultyTransport
) -> None:
    other, row = session.save(Other(id="1", name="n")), session.save(Row(id="1", cells={"name": "r"}))
    assert [session.scan(one).all() for one in (Other, Row)] == [[other], [row]]
    assert [one["c_name"]["S"] for one in items(wire, plain).values()] == ["n", "r"]
    with pytest.raises(AlreadyExists):
        session.save(Other(id="1", name="m"))


def test_batches_moves_and_transfers_have_the_members(
    session: Session, wire: FaultyTransport, tmp_path: Any
) -> None:
    rows = [Row(id=str(number), cells={"n": str(number)}) for number in range(3)]
    session.bulk_load(rows)
    assert sorted(one["c_n"]["S"] for one in items(wire, plain).values()) == ["0", "1", "2"]
    row = session.get_one(Row, id="2")
    row.id = "3"
    session.move(row)
    assert session.get_one(Row, id="3").cells == {"n": "2"}
    before, path = items(wire, plain), tmp_path / "rows.jsonl"
    session.dump(plain, path)
    assert b'"c_n":{"S":"2"}' in path.read_bytes()
    session.delete_many([inspect(one).key for one in session.scan(Row)])
    session.load(plain, path)
    assert items(wire, plain) == before


def test_a_stream_says_which_field_changed(wire: FaultyTransport) -> None:
    store = Store(wire, mark="stream")
    store.create(app)
    session = store.session()
    space = session.save(Space(id="1", properties={"a": "1"}))
    with stream_events(store) as event:
        session.update(space, F.properties.a.set("2"))
    (change,) = changes(event, app)
    assert isinstance(change, Changed)
    assert change.fields == {"properties"}
    assert (change.old.properties, change.new.properties) == ({"a": "1"}, {"a": "2"})


def test_a_stream_shows_a_version_as_it_is_stored(wire: FaultyTransport) -> None:
    store = Store(wire, mark="versions")
    store.create(app)
    with stream_events(store) as event:
        store.session().save(Page(id="1", meta={"a": "1"}))
    found = [one for one in changes(event, app, internal=True) if isinstance(one, Internal)]
    assert [one.new["m_a"] for one in found if one.new is not None] == [{"S": "1"}]


def test_samples_and_descriptions_name_the_attributes(session: Session) -> None:
    space = session.save(factory(Space)(properties={"a": "1"}))
    assert session.get(Space, id=space.id) == space
    (cls,) = [one for one in describe(app).classes if one.name == "Space"]
    assert [one.attribute for one in cls.fields if one.name == "properties"] == ["p.*"]
    names = {name for entry in samples(app) for name in entry.visible}
    assert not any(name.endswith("*") for name in names)

"""A revision that another library keeps, such as a number, is never replaced by dynaorm's text."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple, TypeAlias

import pytest

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, Key, Session, Table, Unique, tools
from dynaorm.errors import DecodeError
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.integrity.run import backfill, repair
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item


class Declared(NamedTuple):
    """A table whose items have a number as their revision, and its classes."""

    table: Table
    User: Any
    Note: Any
    Team: Any
    Page: Any

    @property
    def items(self) -> dict[str, Item]:
        keys = {"User": ("USER#n", "U"), "Note": ("NOTE#n", "N"), "Team": ("TEAM#n", "T")}
        return {name: self.stored(name, *key) for name, key in keys.items()}

    def stored(self, kind: str, pk: str, sk: str) -> Item:
        key = {"PK": {"S": pk}, "SK": {"S": sk}, str(self.table.revision_attribute): {"N": "7"}}
        return {**key, "_type": {"S": kind}, "name": {"S": "n"}}


def declared(table: Table) -> Declared:
    class Team(Entity, table=table, pk="TEAM#{name}", sk="T"):
        name: str
        members: int = 0

    class User(Entity, table=table, pk="USER#{name}", sk="U"):
        name: str
        city: str = "a"
        nick: Annotated[str | None, Unique()] = None
        team: str | None = None
        in_team = Aggregate(Team, count="members", key={"name": "team"})
        by_city = Index("GSI1", pk="CITY#{city}", sk="{name}")

    class Note(Entity, table=table, pk="NOTE#{name}", sk="N"):
        name: str
        text: str = ""

    class Page(Entity, table=table, pk="PAGE#{name}", sk="P", versioned=True):
        name: str
        text: str = ""

    return Declared(table, User, Note, Team, Page)


OURS = declared(Table("default-revision", indexes=[GlobalIndex("GSI1")]))
THEIRS = declared(Table("foreign-revision", indexes=[GlobalIndex("GSI1")], revision_attribute="version_lock"))

Write: TypeAlias = Callable[[Session, Declared], Any]


def changed(session: Session, of: Declared, **values: Any) -> Any:
    user = session.get_one(of.User, name="n")
    for name, value in values.items():
        setattr(user, name, value)
    return user


def in_block(session: Session, of: Declared) -> None:
    with session.transaction() as tx:
        tx.save(changed(session, of, city="b"))
        tx.save(of.Note(name="new"))


WRITES: dict[str, Write] = {
    "save": lambda session, of: session.save(changed(session, of, city="b")),
    "save in a block": in_block,
    "overwrite": lambda session, of: session.save(of.User(name="n"), overwrite=True),
    "overwrite without reading": lambda session, of: session.save(of.Note(name="n"), overwrite=True),
    "replacement": lambda session, of: session.save(of.Note(name="n"), replacing=F.name == "n"),
    "touch": lambda session, of: session.touch(changed(session, of)),
    "delete that returns": lambda session, of: session.delete(Key(of.Note, name="n"), returning=True),
    "update of an entity": lambda session, of: session.update(changed(session, of), {"city": "b"}),
    "update by key": lambda session, of: session.update(Key(of.User, name="n"), F.city.set("b")),
    "update without reading": lambda session, of: session.update(Key(of.Note, name="n"), F.text.set("b")),
    "upsert": lambda session, of: session.upsert(Key(of.User, name="n"), F.city.set("b")),
    "upsert without reading": lambda session, of: session.upsert(Key(of.Note, name="n"), F.text.set("b")),
    "delete of an entity": lambda session, of: session.delete(changed(session, of)),
    "delete by key": lambda session, of: session.delete(Key(of.User, name="n")),
    "delete without reading": lambda session, of: session.delete(Key(of.Note, name="n")),
    "move": lambda session, of: session.move(changed(session, of, name="m")),
    "a total": lambda session, of: session.save(of.User(name="other", team="n")),
}


@pytest.fixture(params=[OURS, THEIRS], ids=["_rev", "version_lock"])
def of(request: pytest.FixtureRequest) -> Declared:
    found: Declared = request.param
    return found


@pytest.fixture
def session(engine: Transport, of: Declared) -> Iterator[Session]:
    with Session(transport=engine) as session:
        session.create_table(of.table)
        for item in of.items.values():
            put(engine, of, item)
        yield session
    engine.call(Call("DeleteTable", {"TableName": of.table.name}))


def put(engine: Transport, of: Declared, item: Item) -> None:
    engine.call(Call("PutItem", {"TableName": of.table.name, "Item": item}))


def items(engine: Transport, of: Declared) -> list[Item]:
    found: list[Item] = engine.call(Call("Scan", {"TableName": of.table.name}))["Items"]
    return sorted(found, key=lambda item: str(item["PK"]))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_number_as_revision_is_refused_by_every_write(
    engine: Transport, session: Session, of: Declared, write: Write
) -> None:
    before = items(engine, of)
    with pytest.raises(DecodeError, match=r"is stored as N.*\n.*revision_attribute="):
        write(session, of)
    assert items(engine, of) == before


HISTORY: dict[str, Callable[[Session, Any], Any]] = {
    "purge": tools.purge,
    "prune": lambda session, page: tools.prune(session, page, keep=1),
    "restore": lambda session, page: session.restore(page, version=1),
    "insert again": lambda session, page: session.save(page.entity(name="h")),
    "overwrite": lambda session, page: session.save(page.entity(name="h"), overwrite=True),
    "upsert": lambda session, page: session.upsert(page),
}


# The others leave version 1 as it is.
@pytest.mark.parametrize(
    ("work", "sort"), [*((work, "v0_P") for work in HISTORY), ("purge", "v1_P"), ("prune", "v1_P")]
)
def test_a_history_with_another_revision_stays_as_it_is(
    engine: Transport, session: Session, of: Declared, work: str, sort: str
) -> None:
    page = session.save(of.Page(name="h"))
    session.update(page, {"text": "b"})
    session.delete(page)
    (found,) = (item for item in items(engine, of) if item["SK"] == {"S": sort})
    put(engine, of, {**found, str(of.table.revision_attribute): {"N": "7"}})
    before = items(engine, of)
    with pytest.raises(DecodeError, match="is stored as N '7'"):
        HISTORY[work](session, Key(of.Page, name="h"))
    assert items(engine, of) == before


@pytest.mark.parametrize("tool", [repair, backfill])
def test_no_tool_writes_to_an_item_with_another_revision(
    engine: Transport, session: Session, of: Declared, tool: Any
) -> None:
    put(engine, of, {**of.stored("Team", "TEAM#m", "T"), "name": {"S": "m"}, "members": {"N": "3"}})
    put(engine, of, of.stored("Page", "PAGE#n", "v0_P"))
    put(engine, of, of.stored("Page", "PAGE#n", "P"))
    before = items(engine, of)
    found = list(tool(session, of.table))
    assert all(one.is_left for one in found)
    kinds = {one.finding.kind for one in found if "is stored as N" in one.finding.uncertain_because}
    first_version = FindingKind.INCOMPLETE if tool is backfill else FindingKind.VERSION_MISSING
    index_keys = FindingKind.INCOMPLETE if tool is backfill else FindingKind.INDEX_KEYS
    assert kinds == {index_keys, first_version, FindingKind.TOTAL}
    assert items(engine, of) == before


def test_an_item_with_another_revision_can_be_read(session: Session, of: Declared) -> None:
    assert session.get_one(of.User, name="n").city == "a"


def test_an_item_without_revision_gets_one(engine: Transport, session: Session, of: Declared) -> None:
    attribute = str(of.table.revision_attribute)
    put(engine, of, {name: value for name, value in of.items["Note"].items() if name != attribute})
    session.update(Key(of.Note, name="n"), F.text.set("b"))
    (note,) = (item for item in items(engine, of) if item["PK"]["S"].startswith("NOTE"))
    assert note[attribute].keys() == {"S"}

"""A revision that is a number in a map: every verb raises it, and conditions name it."""

import types
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict

from dynaorm import (
    AnyValue,
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    NumberRevision,
    Session,
    Table,
    Transaction,
    Unique,
    inspect,
)
from dynaorm.errors import ConditionFailed, DeclarationError, DecodeError, UsageError
from dynaorm.item.value import Item
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Transport
from tests.cast.seen import items, operations, put

catalog = Table(
    "nested-revision",
    indexes=[GlobalIndex("GSI1")],
    revision_attribute=NumberRevision("system_info.version"),
)


class Info(BaseModel):
    owner: str
    hits: int = 0


class Doc(Entity, table=catalog, pk="DOC#{id}", sk="D"):
    id: str
    info: Annotated[Info, Attribute("system_info")]
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_text = Index("GSI1", pk="TEXT#{text}", sk="{id:shard2}#{id}")


class Shelf(Entity, table=catalog, pk="SHELF#{name}", sk="S"):
    """It does not declare the map."""

    name: str
    books: int = 0


class Note(Entity, table=catalog, pk="NOTE#{id}", sk="N"):
    id: str
    size: int = 0


DOC = Key(Doc, id="1")


def stored(moto: Transport, key: str = "DOC#1 D") -> Item:
    return items(moto, catalog)[key]


def info(moto: Transport, key: str = "DOC#1 D") -> dict[str, Any]:
    found: dict[str, Any] = stored(moto, key)["system_info"]["M"]
    return found


def test_an_insert_stores_the_first_number_in_the_map_that_the_class_declares(
    session: Session, moto: Transport
) -> None:
    doc = session.save(Doc(id="1", info=Info(owner="a")))
    assert stored(moto) == {
        "PK": {"S": "DOC#1"}, "SK": {"S": "D"}, "_type": {"S": "Doc"}, "id": {"S": "1"},
        "system_info": {"M": {"owner": {"S": "a"}, "hits": {"N": "0"}, "version": {"N": "1"}}},
        "text": {"S": ""}, "GSI1PK": {"S": "TEXT#"}, "GSI1SK": {"S": stored(moto)["GSI1SK"]["S"]},
    }  # fmt: skip
    assert inspect(doc).revision == "1"
    assert session.get(DOC) == doc


def test_a_save_is_one_update_that_keeps_what_no_class_knows_in_the_map(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    session.save(Doc(id="1", info=Info(owner="a")))
    put(moto, {**stored(moto), "system_info": {"M": {**info(moto), "more": {"S": "x"}}}}, catalog)
    doc = session.get_one(DOC)
    wire.calls.clear()
    doc.info.hits = 7
    session.save(doc)
    assert operations(wire) == ["UpdateItem"]
    assert info(moto) == {
        "owner": {"S": "a"}, "hits": {"N": "7"}, "more": {"S": "x"}, "version": {"N": "2"},
    }  # fmt: skip
    doc.text = "t"
    session.save(doc)
    assert info(moto)["version"] == {"N": "3"}
    assert inspect(doc).revision == "3"


def test_a_change_of_the_whole_map_keeps_the_number(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    session.save(Doc(id="1", info=Info(owner="a")))
    wire.calls.clear()
    updated = session.update(DOC, F.info.set(Info(owner="b")))
    assert operations(wire) == ["GetItem", "UpdateItem"]
    assert info(moto) == {"owner": {"S": "b"}, "hits": {"N": "0"}, "version": {"N": "2"}}
    assert inspect(updated).revision == "2"


FOREIGN = {"PK": {"S": "NOTE#1"}, "SK": {"S": "N"}, "_type": {"S": "Note"}, "id": {"S": "1"}}
SHELF = {"PK": {"S": "SHELF#a"}, "SK": {"S": "S"}, "_type": {"S": "Shelf"}, "name": {"S": "a"}}
NOTE = Key(Note, id="1")
MISSING = F.system_info.version.missing()


@pytest.mark.parametrize(
    "write",
    [
        lambda session: session.touch(session.get_one(NOTE)),
        lambda session: session.update(NOTE, F.size.add(1), condition=MISSING),
        lambda session: session.upsert(NOTE, F.size.add(1)),
        lambda session: session.save(Note(id="1"), overwrite=True),
    ],
    ids=["touch", "update", "upsert", "overwrite"],
)
def test_an_item_of_others_without_the_map_gets_it_with_its_first_write(
    session: Session, moto: Transport, write: Callable[[Session], Any]
) -> None:
    put(moto, FOREIGN, catalog)
    assert inspect(session.get_one(NOTE)).revision is None
    write(session)
    assert info(moto, "NOTE#1 N") == {"version": {"N": "1"}}


WRITES: dict[str, Callable[[Session], Any]] = {
    "save": lambda session: session.save(_later(session), condition=F.info.version == 1),
    "update": lambda session: session.update(DOC, F.text.set("n"), condition=F.info.version == 1),
    "upsert": lambda session: session.upsert(DOC, F.info.set(Info(owner="n")), condition=F.info.version == 1),
    "delete": lambda session: session.delete(DOC, condition=F.info.version == 1),
    "replace": lambda session: session.save(Doc(id="1", info=Info(owner="n")), replacing=F.info.version == 1),
    "check": lambda session: session.run(_checked),
}


def _later(session: Session) -> Doc:
    doc = session.get_one(DOC)
    doc.text = "n"
    return doc


def _checked(tx: Transaction) -> None:
    tx.check(DOC, F.info.version == 1)
    tx.save(Shelf(name="n"))


@pytest.mark.parametrize("write", WRITES)
def test_a_condition_of_every_verb_may_name_the_number(session: Session, write: str) -> None:
    doc = session.save(Doc(id="1", info=Info(owner="a")))
    session.touch(doc)
    with pytest.raises(ConditionFailed):
        WRITES[write](session)
    session.delete(doc)
    session.save(Doc(id="1", info=Info(owner="a")))
    WRITES[write](session)


@pytest.mark.parametrize(
    "write",
    [
        lambda session: session.update(DOC, F.info.version.set(9)),
        lambda session: session.update(DOC, F.info.version.add(1)),
        lambda session: session.upsert(DOC, F.info.version.remove()),
        lambda session: session.update(DOC, F.text.set("n"), F.info.version.set(9)),
    ],
    ids=["set", "add", "upsert", "beside"],
)
def test_no_change_may_name_the_number(session: Session, write: Callable[[Session], Any]) -> None:
    with pytest.raises(UsageError, match=r"info\.version is the revision .* which every write raises"):
        write(session)


def test_a_number_that_is_no_number_is_refused_by_every_write(session: Session, moto: Transport) -> None:
    session.save(Doc(id="1", info=Info(owner="a")))
    put(moto, {**stored(moto), "system_info": {"M": {**info(moto), "version": {"S": "x"}}}}, catalog)
    before = items(moto, catalog)
    doc = session.get_one(DOC)
    doc.text = "n"
    with pytest.raises(DecodeError, match=r"system_info\.version: is stored as S"):
        session.save(doc)
    with pytest.raises(DecodeError, match=r"system_info\.version: is stored as S"):
        session.update(DOC, F.text.set("n"))
    assert items(moto, catalog) == before


# -- declarations ------------------------------------------------------------------------------------------------------


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")


class Named(BaseModel):
    version: int = 0


@pytest.mark.parametrize(
    ("annotation", "default", "problem"),
    [
        (dict[str, AnyValue], ..., "declare it as a required field whose type is a model"),
        (Info | None, ..., "declare it as a required field whose type is a model"),
        (Info, Info(owner="x"), "declare it as a required field whose type is a model"),
        (str, ..., "declare it as a required field whose type is a model"),
        (Annotated[Info, Attribute(formerly="old")], ..., "declare it as a required field"),
        (Named, ..., "its type takes 'version', which holds the revision; drop that member"),
        (Extra, ..., "its type takes 'version', which holds the revision"),
    ],
)
def test_the_map_of_a_class_must_be_there_and_not_take_the_number(
    annotation: Any, default: Any, problem: str
) -> None:
    table = Table("nested-refused", revision_attribute=NumberRevision("held.version"))
    body: dict[str, Any] = {"__annotations__": {"id": str, "held": annotation}, "__module__": __name__}
    if default is not ...:
        body["held"] = default
    with pytest.raises(DeclarationError, match=problem):
        keywords = {"table": table, "pk": "H#{id}", "sk": "H"}
        types.new_class("Held", (Entity,), keywords, lambda own: own.update(body))


@pytest.mark.parametrize("name", ["held.", ".version", "held..version", "PK.version", "GSI1PK.version"])
def test_a_path_that_leads_nowhere_is_refused(name: str) -> None:
    with pytest.raises(DeclarationError):
        Table("nested-refused", indexes=[GlobalIndex("GSI1")], revision_attribute=NumberRevision(name))


def test_nothing_is_made_of_the_number() -> None:
    table = Table(
        "nested-refused", indexes=[GlobalIndex("GSI1")], revision_attribute=NumberRevision("version")
    )
    with pytest.raises(DeclarationError, match="version is the revision"):

        class Often(Entity, table=table, pk="O#{id}", sk="O"):
            id: str
            often = Index("GSI1", pk="OFTEN", sk="{id}", when=F.version > 9)

"""What programs with all declarations stored is never changed by a repair with only some of them."""

import types
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique, Versioned, tools
from dynaorm.integrity.run import backfill, repair
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.memory import MEMORY

Declared: TypeAlias = dict[str, Any]
"""Tables and entity classes by name."""

CLASSES = ("Person", "Guest", "Customer", "Page")
PARTS = ("desk", "by_desk", "nick", "version")
"""What a newer declaration of Person or Page has, and an older one may lack."""


def declared(classes: frozenset[str], parts: frozenset[str]) -> Declared:
    """The declarations of one program: all of them, or some."""
    guards = Table("guards", sk=None)
    indexes = [GlobalIndex("GSI1"), GlobalIndex("GSI2")]
    found: Declared = {
        "guards": guards,
        "staff": Table("staff", indexes=indexes, guard_table=guards),
        "other": Table("other", guard_table=guards),
    }
    staff = {"table": found["staff"], "pk": "TEAM#{team}"}

    def entity(name: str, bases: tuple[type, ...], body: dict[str, Any], **keywords: Any) -> None:
        body["__module__"] = __name__
        found[name] = types.new_class(name, bases, keywords, lambda namespace: namespace.update(body))

    entity("Team", (Entity,), _fields(team=str, members=int, hours=Decimal), sk="TEAM", **staff)
    if classes & {"Person", "Guest"}:
        entity("Person", (Entity,), _person(found["Team"], parts), sk="PERSON#{name}", **staff)
    if "Guest" in classes:
        entity("Guest", (found["Person"],), _fields(host=str))
    if "Customer" in classes:
        body = _fields(number=str, email=Annotated[str, Unique(shared=True)])
        entity("Customer", (Entity,), body, table=found["other"], pk="CUSTOMER#{number}", sk="C")
    if "Page" in classes:
        text = Annotated[str, Versioned()] if "version" in parts else str
        entity("Page", (Entity,), _fields(slug=str, text=text, note=str), pk="PAGE#{slug}", sk="P",
               versioned=True, table=found["staff"])  # fmt: skip
    return found


def _person(team: Any, parts: frozenset[str]) -> dict[str, Any]:
    email = Annotated[str | None, Unique(shared=True)]
    body = _fields(team=str, name=str, email=email, hours=Decimal)
    if "nick" in parts:
        body["__annotations__"]["nick"] = Annotated[str | None, Unique()]
    if parts & {"desk", "by_desk"}:
        body["__annotations__"]["desk"] = str | None
    if "by_desk" in parts:
        body["by_desk"] = Index("GSI2", pk="DESK#{desk}", sk="{name}")
    body |= {name: None for name in ("email", "nick", "desk") if name in body["__annotations__"]}
    body["by_team"] = Index("GSI1", pk="BY#{team}", sk="{name}")
    body["in_team"] = Aggregate(team, count="members", sum={"hours": "hours"})
    return body


def _fields(**annotations: Any) -> dict[str, Any]:
    numbers = {name: kind(0) for name, kind in annotations.items() if name in ("members", "hours")}
    return {"__annotations__": annotations, **numbers}


everything = declared(frozenset(CLASSES), frozenset(PARTS))
names = st.sampled_from("abc")
people = st.lists(
    st.tuples(st.sampled_from("xy"), names, st.booleans(), st.booleans(), st.integers(0, 9)),
    min_size=2,
    max_size=4,
    unique_by=lambda one: one[:2],
)


def store(session: Session, herd: Any) -> None:
    every = everything
    for table in ("staff", "other"):
        session.create_table(every[table])
    for team, name, is_guest, is_newer, hours in herd:
        value = f"{team}{name}"
        more = {"nick": value, "desk": "7"} if is_newer else {}
        kind, host = (every["Guest"], {"host": "h"}) if is_guest else (every["Person"], {})
        session.save(kind(team=team, name=name, email=value, hours=Decimal(hours), **more, **host))
        session.save(every["Customer"](number=value, email=f"{value}@customer"))
        page = session.save(every["Page"](slug=value, text="a", note="n"))
        page.text = "b"
        session.save(page)


def items(transport: Transport) -> Any:

    return [
        transport.call(Call("Scan", {"TableName": name}))["Items"] for name in ("staff", "other", "guards")
    ]


@settings(max_examples=15)
@given(
    herd=people,
    missing=st.sets(st.sampled_from((*CLASSES, *PARTS)), min_size=1, max_size=3),
    named=st.sampled_from(("staff", "Team", "Person")),
)
def test_a_program_with_few_declarations_changes_nothing_right(
    moto_transport: Transport, herd: Any, missing: set[str], named: str
) -> None:
    with MEMORY.empty():
        session = Session(transport=moto_transport, clock=FakeClock())
        store(session, herd)
        stored = items(moto_transport)
        older = declared(frozenset({*CLASSES} - missing), frozenset({*PARTS} - missing))
        target: Any = older.get(named, older["staff"])
        for work in (repair, backfill):
            event(f"{work.__name__}: {len(list(work(session, target)))} findings")
            assert items(moto_transport) == stored


@settings(max_examples=5)
@given(herd=people)
def test_with_all_of_them_there_is_nothing_to_find(moto_transport: Transport, herd: Any) -> None:
    with MEMORY.empty():
        session = Session(transport=moto_transport, clock=FakeClock())
        store(session, herd)
        assert list(tools.verify(session, everything["staff"], everything["other"])) == []

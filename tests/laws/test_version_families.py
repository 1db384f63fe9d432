"""The items of a versioned entity, in whatever state another program left them: each has one reading and one mend."""

import os
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Key, Session, Table, Unique, inspect, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import AlreadyExists, UnexpectedRefusal
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.laws.classes import NOON

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "25"))
_numbers = count()

Item = dict[str, Any]


def declared(padding: int) -> type[Any]:
    table = Table(f"families-{next(_numbers)}")

    class Doc(Entity, table=table, pk="DOC#{id}", sk="DOC", versioned=True, version_padding=padding):
        id: str
        title: Annotated[str, Unique()]
        body: str = ""

    return Doc


@dataclass(frozen=True)
class Family:
    """What is stored of one entity.

    Attributes:
        versions: the numbers of the stored versions.
        copy: "live", "tombstone", or nothing.
        number: the number in the latest copy or the tombstone; None for none.
        is_guarded: the guard item of the newest version's title is stored.
        unreadable: the versions that lack a field.
    """

    versions: frozenset[int]
    copy: str
    number: int | None
    is_guarded: bool
    unreadable: frozenset[int] = frozenset()

    @property
    def newest(self) -> int:
        return max(self.versions, default=0)

    @property
    def is_sound(self) -> bool:
        has_gap = bool(self.versions) and len(self.versions) != self.newest - min(self.versions) + 1
        if has_gap or self.unreadable:
            return False
        if not self.copy:
            return not self.versions and not self.is_guarded
        if self.copy == "tombstone":
            return self.number == self.newest and not self.is_guarded
        return bool(self.number) and self.number == self.newest and self.is_guarded


@st.composite
def families(draw: st.DrawFn) -> Family:
    versions = draw(st.frozensets(st.integers(1, 12), max_size=4))
    copy = draw(st.sampled_from(["", "live", "tombstone"]))
    some = st.sampled_from([*versions, max(versions, default=0), 0, 1, 3])
    number = draw(st.none() | some) if copy else None
    unreadable = (
        draw(st.sampled_from([frozenset(), frozenset(), frozenset(versions)])) if versions else frozenset()
    )
    return Family(versions, copy, number, draw(st.booleans()), unreadable)


def stored(engine: Transport, kind: type[Any], family: Family, padding: int) -> None:
    """Put the items as another program would leave them."""

    def put(item: Item) -> None:
        engine.call(Call("PutItem", {"TableName": name_of(kind), "Item": item}))

    for number in family.versions:
        item = content(number)
        if number in family.unreadable:
            del item["title"]
        put({**key(f"v{number:0{padding or 1}d}_DOC"), **item, **stamp(number)})
    latest = key("v0_DOC")
    if family.copy == "live":
        number = family.number or family.newest
        named = {"_type": {"S": "Doc"}, "_rev": {"S": "r"}}
        put(
            {
                **latest,
                **named,
                **content(number),
                **(stamp(family.number) if family.number is not None else {}),
            }
        )
    elif family.copy:
        put(
            {
                **latest,
                "deleted": {"BOOL": True},
                **(stamp(family.number) if family.number is not None else {}),
            }
        )
    if family.is_guarded:
        text = {"S": f"title#{title(family)}"}
        put({"PK": text, "SK": text, "owner": {"M": latest}})


def title(family: Family) -> str:
    """The title of the latest copy, or of the newest version."""
    return f"t{(family.number if family.copy == 'live' else None) or family.newest}"


def content(number: int) -> Item:
    return {"id": {"S": "a"}, "title": {"S": f"t{number}"}, "body": {"S": str(number)}}


def stamp(number: int) -> Item:
    return {"version": {"N": str(number)}, "version_at": {"S": f"2020-01-01T00:00:{number:02d}.000000Z"}}


def key(sort: str) -> Item:
    return {"PK": {"S": "DOC#a"}, "SK": {"S": sort}}


def name_of(kind: type[Any]) -> str:
    return mapping_of(kind).table.name


def items(engine: Transport, kind: type[Any]) -> dict[str, Item]:
    found = engine.call(Call("Scan", {"TableName": name_of(kind), "ConsistentRead": True}))["Items"]
    return {f"{one['PK']['S']} {one['SK']['S']}": one for one in found}


@settings(max_examples=EXAMPLES)
@given(family=families(), padding=st.sampled_from([0, 3]), data=st.data())
def test_every_state_is_found_mended_or_left_and_loses_nothing(
    engine: Transport, family: Family, padding: int, data: st.DataObject
) -> None:
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    kind = declared(padding)
    table = mapping_of(kind).table
    session.create_table(table)
    stored(engine, kind, family, padding)
    before = items(engine, kind)

    findings = list(tools.verify(session, table))
    event(f"{family.copy or 'nothing'}: {sorted({one.kind.value for one in findings})}")
    assert (findings == []) is family.is_sound

    told = list(tools.repair(session, table))
    assert {one.outcome for one in told} <= {Outcome.REPAIRED, Outcome.NEEDS_DECISION, Outcome.SKIPPED}
    after = items(engine, kind)
    # No version changes or goes, and no guard item of what may come back.
    kept = {name: item for name, item in before.items() if not name.endswith("v0_DOC")}
    if family.copy or not family.versions:
        kept = {name: item for name, item in kept.items() if not name.startswith("title#")}
    assert kept.items() <= after.items()
    # What is left needs a choice, also for the next run.
    assert not any(one.repairable for one in tools.verify(session, table))
    list(tools.repair(session, table))
    assert items(engine, kind) == after
    if family.copy == "live" and "DOC#a v0_DOC" in before:
        assert after["DOC#a v0_DOC"].items() >= content(family.number or family.newest).items()
    session.delete_table(table, name=table.name)


@settings(max_examples=EXAMPLES)
@given(
    oldest=st.integers(1, 3),
    length=st.integers(1, 11),
    copy=st.sampled_from(["", "tombstone"]),
    padding=st.sampled_from([0, 3]),
    data=st.data(),
)
def test_a_lost_latest_copy_keeps_its_history_and_comes_back(
    engine: Transport, oldest: int, length: int, copy: str, padding: int, data: st.DataObject
) -> None:
    """``copy``: nothing is left of it, or a tombstone of an earlier deletion."""
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    kind = declared(padding)
    table, name = mapping_of(kind).table, Key(kind, id="a")
    session.create_table(table)
    numbers = range(oldest, oldest + length)
    number = data.draw(st.integers(0, numbers[-1]), label="number of the tombstone")
    stored(engine, kind, Family(frozenset(numbers), copy, number if copy else None, is_guarded=True), padding)
    if not copy:
        assert [one.number for one in session.history(name)] == [*reversed(numbers)]
        assert session.get_one(name, as_of=NOON).body == str(numbers[-1])
    if not copy and oldest == 1:
        # A number that was used is not used again.
        with pytest.raises(AlreadyExists, match=r"repair"):
            session.save(kind(id="a", title="new"))
    list(tools.repair(session, table))
    assert [one.number for one in session.history(name)] == [*reversed(numbers)]
    if data.draw(st.booleans(), label="restore"):
        wanted = data.draw(st.sampled_from(numbers), label="version")
        entity = session.restore(name, version=wanted)
        assert (entity.title, entity.body) == (f"t{wanted}", str(wanted))
    else:
        entity = session.save(kind(id="a", title="new"))
    assert inspect(entity).version == numbers[-1] + 1
    assert session.get_by(kind, title=entity.title) == entity
    left = list(tools.verify(session, table))
    assert not any(one.repairable for one in left if "title#" not in repr(one.key)), left
    session.delete_table(table, name=table.name)


@settings(max_examples=EXAMPLES // 2)
@given(
    number=st.integers(1, 3),
    more=st.integers(1, 2),
    copy=st.sampled_from(["live", "tombstone"]),
    data=st.data(),
)
def test_a_version_nobody_counts_refuses_the_next_write(
    engine: Transport, number: int, more: int, copy: str, data: st.DataObject
) -> None:
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    kind = declared(0)
    table, name = mapping_of(kind).table, Key(kind, id="a")
    session.create_table(table)
    versions = range(1, number + more + 1)
    stored(engine, kind, Family(frozenset(versions), copy, number, is_guarded=copy == "live"), 0)
    before = items(engine, kind)
    verb = data.draw(
        st.sampled_from(
            [
                lambda: session.save(kind(id="a", title="new"), overwrite=True),
                lambda: (
                    session.update(name, {"body": "new"})
                    if copy == "live"
                    else session.save(kind(id="a", title="new"))
                ),
            ]
        )
    )
    with pytest.raises(UnexpectedRefusal, match="delete it, repair it, and restore the right version"):
        verb()
    assert items(engine, kind) == before
    # What the error advises.
    if copy == "live":
        session.delete(name)
    list(tools.repair(session, table))
    right = data.draw(st.sampled_from(versions), label="the right version")
    assert session.restore(name, version=right).body == str(right)
    assert list(tools.verify(session, table)) == []
    assert [one.number for one in session.history(name)] == [*reversed([*versions, versions[-1] + 1])]
    session.delete_table(table, name=table.name)

"""Law: when the validators of a class change, ``verify`` finds what is not stored as it loads, and repairs correct it.

Entities are saved under one class. A second class of the same table has other validators. A third one has none: what it
loads is what is stored. Python's ``==`` judges.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Annotated, Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from dynaorm import Entity, Session, tools
from dynaorm import Table as Declared
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, InvalidValue, UniqueViolation
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.integrity.run import backfill, repair
from dynaorm.testing import FakeClock
from dynaorm.tools import Finding
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.iam_requests import Recorder
from tests.laws.test_writes import plain
from tests.laws.written_classes import (
    INDEXES,
    LISTS,
    NUMBERS,
    SPECS,
    TEXT,
    TEXTS,
    Kind,
    Place,
    Spec,
    make,
    place_of,
)

# Each claims its text alone, and none is counted.
PLAIN = SPECS.map(
    lambda one: one._replace(computed=one.computed and not one.unique, conditional=False, counted=False)
)


class Anywhere(BaseModel):
    """A ``Place`` without rules."""

    city: str
    floor: int = 0


def _of(annotation: Any, default: Any, inputs: tuple[Any, ...] = ()) -> Kind:
    return Kind(annotation, default, inputs)


INT: Final = (_of(int, 0), _of(Annotated[int, AfterValidator(abs)], 0), _of(Annotated[int, Field(ge=0)], 0))
LIST: Final = (_of(list[str], []), _of(list[Annotated[str, AfterValidator(str.lower)]], []))
HOME: Final = (_of(Anywhere, Anywhere(city="rome")), _of(Place, Place(city="rome")))
# The first of each has no rules.
BARE: Final[Mapping[str, Any]] = {
    "text": TEXT[0],
    "number": INT[0],
    "many": LIST[0],
    "other": HOME[0],
    "rule": "",
}
CHANGES: Final = st.fixed_dictionaries(
    {
        "text": st.sampled_from(TEXT[1:5]),
        "number": st.sampled_from(INT),
        "many": st.sampled_from(LIST),
        "other": st.sampled_from(HOME),
        "rule": st.sampled_from(["", "", "derived", "filled"]),
    }
)
ROWS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.sampled_from([one for one in TEXTS if isinstance(one, str)]),
            "number": st.sampled_from([one for one in NUMBERS if isinstance(one, int)]),
            "many": st.sampled_from([one for one in LISTS[:4] if isinstance(one, list)]),
            "other": st.sampled_from([{"city": "Oslo"}, {"city": "bern", "floor": 2}]),
            "note": st.sampled_from([None, "Note"]),
            "by_others": st.booleans(),
        }
    ),
    min_size=1,
    max_size=3,
)


class Table(NamedTuple):
    """The stored entities, under three classes."""

    engine: Transport
    before: type[Entity]
    now: type[Entity]
    bare: type[Entity]

    def raw(self) -> list[Item]:
        found = self.engine.call(Call("Scan", {"TableName": "written", "ConsistentRead": True}))["Items"]
        return sorted(found, key=repr)

    def loaded(self, kind: type[Entity]) -> dict[str, dict[str, Any]]:
        """The values of every entity that loads."""
        problems: list[DecodeError] = []
        with Session(transport=self.engine, clock=FakeClock(), on_decode_error=problems.append) as session:
            return {str(vars(one)["name"]): plain(one) for one in session.scan(kind)}

    def session(self) -> Session:
        return Session(transport=self.engine, clock=FakeClock())


def declared(engine: Transport, spec: Spec, *changes: Mapping[str, Any]) -> Table:
    spec = spec._replace(name=TEXT[0], looks=False, expires=False)
    return Table(engine, *(make(spec._replace(**{**BARE, **one})) for one in (*changes, BARE)))


def fill(table: Table, rows: list[dict[str, Any]], *, versioned: bool) -> None:
    """Saves the rows under the first class. Then another writer takes members away, and adds one that no class has."""
    for item in table.raw():
        key = {name: item[name] for name in ("PK", "SK")}
        table.engine.call(Call("DeleteItem", {"TableName": "written", "Key": key}))
    with table.session() as session:
        for number, row in enumerate(rows):
            values = {name: value for name, value in row.items() if name != "by_others"}
            with suppress(UniqueViolation, InvalidValue, ValidationError):
                session.save(table.before.model_validate({**values, "name": f"n{number}"}))
    for item in table.raw():
        number = item["PK"]["S"].removeprefix("THING#n")
        if number.isdecimal() and rows[int(number)]["by_others"] and not versioned:
            other = {"city": item["other"]["M"]["city"], "added": {"SS": ["kept"]}}
            found = {name: value for name, value in item.items() if name != "many"}
            by_others = {**found, "other": {"M": other}}
            table.engine.call(Call("PutItem", {"TableName": "written", "Item": by_others}))


@pytest.fixture(scope="module")
def written(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Declared("written", indexes=INDEXES))
    return engine


def words_of(findings: Iterable[Finding], kind: FindingKind) -> dict[str, set[str]]:
    """The fields that findings of a kind name, by the name of the entity."""
    return {
        one.item_key["PK"]["S"].removeprefix("THING#"): {
            part.partition(" ")[0] for part in one.detail.split("; ")
        }
        for one in findings
        if one.kind is kind
    }


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "25")))
@given(
    spec=PLAIN,
    before=st.just(BARE) | CHANGES,
    now=CHANGES,
    rows=ROWS,
    tool=st.sampled_from([repair, backfill]),
)
def test_what_does_not_load_as_stored_is_repaired_once(
    written: Transport, spec: Spec, before: Any, now: Any, rows: list[dict[str, Any]], tool: Any
) -> None:
    table = declared(written, spec, before, now)
    fill(table, rows, versioned=spec.versioned)
    stored, loads = table.loaded(table.bare), table.loaded(table.now)
    differs = {
        name: {field for field, value in values.items() if value != stored[name][field]}
        for name, values in loads.items()
    }
    recorder = Recorder(written)
    with Session(transport=recorder, clock=FakeClock()) as session:
        found = list(tools.verify(session, table.now))
        assert words_of(found, FindingKind.STORED_VALUES) == {
            name: one for name, one in differs.items() if one
        }
        assert words_of(found, FindingKind.UNREADABLE).keys() == stored.keys() - loads.keys()
        list(tool(session, table.now))
        left = list(tools.verify(session, table.now))
    recorder.check([mapping_of(table.now).table], "tools")
    lost = [one for name, one in stored.items() if name not in loads]
    # Nobody can tell whether an item that cannot be read still holds the value of its guard.
    values = [one["text"] for one in (*loads.values(), *lost)]
    texts = Counter(text for text in values if spec.unique and text is not None)
    shared = {name for name, one in loads.items() if texts[one["text"]] > 1}
    unreadable = {FindingKind.UNREADABLE, FindingKind.NOT_JUDGED} if lost else set()
    choices = CHOICES | ({FindingKind.WRONG_OWNER} if lost else set()) if shared else set()
    assert {one.kind for one in left} <= unreadable | choices
    assert table.loaded(table.now) == loads
    assert {name: one for name, one in table.loaded(table.bare).items() if name not in shared} == {
        name: loads.get(name, one) for name, one in stored.items() if name not in shared
    }
    check_derived(table, spec, {name: one for name, one in loads.items() if name not in shared})
    after = table.raw()
    with table.session() as session:
        assert {one.outcome for one in tool(session, table.now)} <= {Outcome.NEEDS_DECISION, Outcome.SKIPPED}
    assert table.raw() == after


CHOICES: Final = {FindingKind.DUPLICATE, FindingKind.STORED_VALUES}


def check_derived(table: Table, spec: Spec, loads: Mapping[str, Mapping[str, Any]]) -> None:
    """The index keys, guards and newest versions are those of the values that load, and nothing else was lost."""
    items = table.raw()
    mains = {one["PK"]["S"].removeprefix("THING#"): one for one in items if one["SK"]["S"] in ("T", "v0_T")}
    for name, values in loads.items():
        main, text = mains[name], values["text"]
        place = place_of(spec, SimpleNamespace(**values)) if spec.indexed else None
        assert main.get("GSI1PK") == (None if place is None else {"S": place})
        if spec.unique and text is not None:
            (guard,) = [one for one in items if one["PK"]["S"] == f"claim#{text}"]
            assert guard["owner"]["M"] == {name: main[name] for name in ("PK", "SK")}
        if "many" not in main:
            assert main["other"]["M"]["added"] == {"SS": ["kept"]}

"""Laws 1 and 7: what is dumped and loaded is what was stored; as entities or as items, of any class."""

import os
from io import BytesIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Session, tools
from dynaorm.flow.table_definition import definition
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.laws.classes import NOON, YESTERDAY, Declared, Row, declare, rows, schemas
from tests.laws.test_reads import store

EXAMPLES = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "8")))


@EXAMPLES
@given(data=st.data())
def test_a_dump_gives_equal_items_and_equal_entities(
    engine: Transport, transport: Transport, data: st.DataObject
) -> None:
    schema = data.draw(schemas(), label="schema")
    declared = declare(schema)
    drawn = data.draw(rows(schema), label="rows")
    ends = ("", "-items", "-entities", "-readable")
    source, as_items, as_entities, as_readable = (
        Session(transport=transport, clock=FakeClock(NOON.timestamp()), table_names=f"{{}}{end}".format)
        for end in ends
    )
    stored = store(source, engine, declared, drawn)
    for end in ends[1:]:
        engine.call(Call("CreateTable", definition(declared.table, f"{declared.table.name}{end}")))
    try:
        lines = dumped(source, declared, segments=data.draw(st.integers(1, 3)))
        assert len(lines) == len(stored.items)
        assert tools.load(as_items, declared.table, BytesIO(b"".join(lines)), raw=True).stored == len(lines)
        assert dumped(as_items, declared) == lines
        loaded = tools.load(as_entities, declared.table, BytesIO(b"".join(lines)))
        assert loaded.is_complete
        check_entities(source, as_entities, declared, drawn)
        readable = dumped(source, declared, entities=True)
        loaded = tools.load(as_readable, declared.table, BytesIO(b"".join(readable)))
        assert (loaded.is_complete, loaded.left_out) == (True, {})
        check_entities(source, as_readable, declared, drawn)
        again = tools.load(as_entities, declared.table, BytesIO(b"".join(lines)))
        assert (again.stored, again.present) == (0, loaded.stored)
    finally:
        for end in ends:
            engine.call(Call("DeleteTable", {"TableName": f"{declared.table.name}{end}"}))


def dumped(session: Session, declared: Declared, **options: Any) -> list[bytes]:
    file = BytesIO()
    tools.dump(session, declared.table, file, **options)
    return sorted(file.getvalue().splitlines(keepends=True))


def check_entities(source: Session, target: Session, declared: Declared, drawn: tuple[Row, ...]) -> None:
    """Every live entity is there, and nothing is wrong with it, also with attributes that no class knows."""
    roots: list[Any] = [
        declared.classes[spec.name] for spec in declared.schema.classes if spec.parent is None
    ]
    for root in roots:
        wanted = {one.row: one for one in source.scan(root).all()}
        found = {one.row: one for one in target.scan(root).all()}
        assert found == wanted
        assert all(one.until != YESTERDAY for one in found.values())
    items = target._transport.call(Call("Scan", {"TableName": f"{declared.table.name}-entities"}))["Items"]
    for item in items:
        assert ("added" in item) == drawn[int(item["row"]["N"])].more
    assert list(tools.verify(target, declared.table)) == []

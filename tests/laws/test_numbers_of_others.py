"""Law 3: what a condition reads is compared by value, and a padded number that is spelled otherwise is reported."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, GlobalIndex, Index, Key, NumberKey, Session, Table, tools
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport

numbers = Table(
    "numbers-of-others",
    indexes=[GlobalIndex("Text"), GlobalIndex("Number", sk=NumberKey("NumberSK"))],
)
SPELLINGS: Final = {
    row: (number, text)
    for row, (number, text) in enumerate(
        (number, text)
        for number in (0, 7, 8, 10, 120)
        for text in (
            f"{number:04d}",
            f"{number}",
            f"{number:03d}",
            f"{number:06d}",
            f"+{number}",
            f"{number}.0",
        )
    )
}


class Count(Entity, table=numbers, pk="COUNT#{row}", sk="C"):
    row: int
    number: int
    by_text = Index("Text", pk="COUNTS", sk="N#{number:04d}")
    by_number = Index("Number", pk="COUNTS", sk="{number}")


@pytest.fixture(scope="module")
def session(transport: Transport) -> Session:
    session = Session(transport=transport, clock=FakeClock())
    session.create_table(numbers)
    for row, (number, text) in SPELLINGS.items():
        texts = {"PK": f"COUNT#{row}", "SK": "C", "_type": "Count", "TextPK": "COUNTS", "NumberPK": "COUNTS"}
        item = {name: {"S": content} for name, content in {**texts, "TextSK": f"N#{text}"}.items()}
        values = {"row": str(row), "number": str(number), "NumberSK": f"{Decimal(text):f}"}
        item |= {name: {"N": content} for name, content in values.items()}
        transport.call(Call("PutItem", {"TableName": numbers.name, "Item": item}))
    return session


CONDITIONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": lambda number, bound: number == bound,
    "lt": lambda number, bound: number < bound,
    "le": lambda number, bound: number <= bound,
    "gt": lambda number, bound: number > bound,
    "ge": lambda number, bound: number >= bound,
}


@given(name=st.sampled_from(sorted(CONDITIONS)), bound=st.sampled_from([0, 7, 8, 9, 10, 120]))
def test_a_number_is_found_by_its_value_or_its_key_is_reported(
    session: Session, name: str, bound: int
) -> None:
    wanted = {row for row, (number, _) in SPELLINGS.items() if CONDITIONS[name](number, bound)}
    ask: Any = getattr(session.query(Count.by_text), name)(number=bound)
    found = {one.row for one in ask}
    assert found <= wanted
    assert ask.count() == len(found)
    assert {row for row in wanted if SPELLINGS[row][1] == f"{SPELLINGS[row][0]:04d}"} <= found
    by_number: Any = getattr(session.query(Count.by_number), name)(number=bound)
    assert {one.row for one in by_number} == wanted


def test_every_key_that_a_condition_may_leave_out_is_reported(session: Session) -> None:
    assert len(session.query(Count.by_text).all()) == len(SPELLINGS)
    findings = [one for one in tools.verify(session, numbers) if one.kind is FindingKind.INDEX_KEYS]
    reported = {one.item_key["PK"]["S"] for one in findings}
    spelled = {row for row, (number, text) in SPELLINGS.items() if text != f"{number:04d}"}
    assert reported == {Key(Count, row=row).primary_key["PK"]["S"] for row in spelled}

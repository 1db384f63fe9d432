"""One item is judged as ``verify`` judges it, as far as that needs no other holders of a value."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from dynaorm import tools
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.integrity.run import findings_of, stored_item
from dynaorm.tools import Finding
from dynaorm.transport import Transport
from tests.integrity.conftest import created
from tests.integrity.damages import portions
from tests.integrity.zoo import TABLES, Raw


@pytest.fixture
def zoo(ministack_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Raw]:
    for raw in created(Raw(ministack_line[1], unique_name, ministack_line[0])):
        raw.fill()
        yield raw


def found(findings: Iterable[Finding]) -> set[tuple[FindingKind, str, str]]:
    return {(one.kind, one.table, repr(sorted(one.item_key.items()))) for one in findings}


@pytest.mark.parametrize("number", range(len(portions())))
def test_the_findings_of_all_items_are_those_of_verify(zoo: Raw, number: int) -> None:
    for damage in portions()[number]:
        damage.do(zoo)
    of_all = found(one for one in tools.verify(zoo.session, *TABLES) if one.kind is not FindingKind.TOTAL)
    of_each: set[tuple[FindingKind, str, str]] = set()
    for table in TABLES:
        for item in zoo.items(table)[table.name]:
            key = {name: item[name] for name in table.key_names}
            assert stored_item(zoo.session, table, key) is not None
            findings = findings_of(zoo.session, table, key)
            assert findings is not None
            of_each |= found(findings)
    # Whether an item holds the value of a guard without an owner is known only after all items were read.
    assert {kind for kind, *_ in of_all - of_each} <= {FindingKind.ORPHAN_GUARD}
    # That another entity than the owner holds the value is seen from there, and not from the guard.
    for kind, table_name, key_text in of_each - of_all:
        assert kind is FindingKind.ORPHAN_GUARD
        assert {one for one, *place in of_all if place == [table_name, key_text]} & {
            FindingKind.WRONG_OWNER,
            FindingKind.DUPLICATE,
        }

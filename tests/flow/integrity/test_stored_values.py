"""What loads otherwise each time is reported, and left.

That what validators change once is found and stored as it loads, is a law: ``tests/laws/test_changed_validators.py``.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import Entity, GlobalIndex, Session, Table
from dynaorm.flow.call import Transport
from dynaorm.integrity.run import repair
from dynaorm.testing.clock import FakeClock
from tests.integrity.zoo import Raw, key_of, text
from tests.memory import MEMORY

SETTINGS: Any = {"indexes": [GlobalIndex("GSI1")]}
new = Table("changed", **SETTINGS)


class Growing(Entity, table=new, pk="GROWING#{name}", sk="G"):
    name: str
    text: Annotated[str, AfterValidator(lambda text: f"{text}!")] = ""


@pytest.fixture
def raw(moto_line: tuple[Transport, Any]) -> Iterator[Raw]:
    with MEMORY.empty():
        transport, client = moto_line
        found = Raw(client, str, transport)
        found.create(new)
        yield found
        client.delete_table(TableName="changed")


@pytest.fixture
def session(raw: Raw) -> Iterator[Session]:
    with Session(transport=raw.transport, clock=FakeClock()) as session:
        yield session


def test_values_that_change_each_time_are_reported_and_left(raw: Raw, session: Session) -> None:
    raw.put(new, {**key_of("GROWING#n", "G"), "_type": text("Growing"), "name": text("n"), "text": text("a")})
    before = raw.items(new)
    (mended,) = repair(session, new)
    assert str(mended.finding).endswith(
        "text is 'a' and loads as 'a!' (uncertain: its validators change what they return, "
        "so nothing loads as it is stored)"
    )
    assert raw.items(new) == before

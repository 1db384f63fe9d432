"""A field that is stored in the primary key alone, and is a key of an index itself."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, InKey, NumberKey, Session, Table, item_of

alone = Table("in-key-alone", indexes=[GlobalIndex("ByRow", pk="kind", sk=NumberKey("row"))])
by_table = Table("in-key-by-table", indexes=[GlobalIndex("ByRow", pk="kind", sk="row")], key_fields="in_key")


class Marked(Entity, table=alone, pk="MARKED#{row:03d}", sk="M"):
    row: Annotated[int, InKey()]
    kind: str | None
    by_row = Index("ByRow")


class ByTable(Entity, table=by_table, pk="TABLE#{row}", sk="T"):
    row: str
    kind: str | None
    by_row = Index("ByRow")


@pytest.mark.parametrize(
    ("kind", "row"), [pytest.param(Marked, 1, id="InKey"), pytest.param(ByTable, "1", id="by the table")]
)
def test_its_attribute_comes_and_goes_with_the_other_keys_of_the_index(
    kind: Any, row: Any, session: Session
) -> None:
    entity: Any = session.save(kind(row=row, kind="x"))
    assert session.query(kind.by_row, kind="x").all() == [entity]
    assert list(session.verify(kind)) == []
    entity.kind = None
    session.save(entity)
    assert session.query(kind.by_row, kind="x").all() == []
    assert "row" not in item_of(session.refresh(entity))
    assert list(session.verify(kind)) == []

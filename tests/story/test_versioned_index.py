"""An index of a versioned class lists the latest copies only."""

from typing import Annotated

from dynaorm import Entity, GlobalIndex, Index, Table, Unique
from tests.story.engine import Engine

app = Table("audits", indexes=[GlobalIndex("GSI1"), GlobalIndex("Inverted", pk="SK", sk="PK")])


class Audit(Entity, table=app, pk="EQUIPMENT#{equipment}", sk="Audit", versioned=True):
    equipment: str
    auditor: str
    code: Annotated[str | None, Unique()] = None
    by_auditor = Index("GSI1", pk="AUDITOR#{auditor}", sk="{equipment}")
    everywhere = Index("Inverted")


def test_an_index_lists_latest_copies_alone(engine: Engine) -> None:
    engine.create(app)
    session = engine.session()
    for equipment in ("1", "2", "3"):
        audit = session.save(Audit(equipment=equipment, auditor="liz"))
        audit.code = f"C{equipment}"
        session.save(audit)
    moved = session.get_one(Audit, equipment="2")
    moved.auditor = "sue"
    session.save(moved)
    assert [audit.equipment for audit in session.query(Audit.by_auditor, auditor="liz")] == ["1", "3"]
    assert [audit.auditor for audit in session.query(Audit.by_auditor, auditor="sue")] == ["sue"]
    assert all(
        "GSI1PK" not in item for item in engine.raw(app) if item["SK"]["S"].startswith(("v1", "v2", "v3"))
    )
    # An index with the table's own keys also holds versions, guards and tombstones.
    session.delete(moved)
    assert [audit.equipment for audit in session.query(Audit.everywhere)] == ["1", "3"]
    assert [key.fields for key in session.scan(Audit).keys().all()] == [
        {"equipment": "1"},
        {"equipment": "3"},
    ]

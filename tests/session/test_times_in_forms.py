"""What a form of a time drops is dropped from the object, too, wherever the time is and whatever the write sends."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, computed_field

from dynaorm import Attribute, Entity, GlobalIndex, Index, Session, Table, inspect
from dynaorm.codecs import ISO_SECONDS

app = Table("times-in-forms", indexes=[GlobalIndex("GSI1")])
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
JUST_AFTER = NOON.replace(microsecond=5)


class Seen(BaseModel):
    at: Annotated[datetime | None, Attribute("seenAt", codec=ISO_SECONDS)] = None


class Visit(Entity, table=app, pk="VISIT#{id}", sk="VISIT"):
    id: str
    at: Annotated[datetime, Attribute(codec=ISO_SECONDS)] = NOON
    seen: Seen = Seen()
    all_seen: Annotated[list[Seen], Field(default_factory=list)]
    by_name: Annotated[dict[str, Seen], Field(default_factory=dict)]
    exactly = Index("GSI1", pk="EXACTLY#{is_exact}", sk="{id}")

    @computed_field  # type: ignore[prop-decorator]  # mypy issue 1362
    @property
    def is_exact(self) -> str:
        times = [self.at, self.seen.at, *(one.at for one in self.all_seen)]
        return "yes" if any(one is not None and one.microsecond for one in times) else "no"


def in_a_block(session: Session, visit: Visit) -> None:
    with session.transaction() as tx:
        tx.save(visit)


SAVES: list[Callable[[Session, Any], object]] = [
    Session.save,
    in_a_block,
    lambda session, visit: session.save_many([visit]),
]
TIMES: dict[str, Any] = {
    "at": JUST_AFTER,
    "seen": Seen(at=JUST_AFTER),
    "all_seen": [Seen(at=JUST_AFTER)],
    "by_name": {"liz": Seen(at=JUST_AFTER)},
}


@pytest.mark.parametrize("name", sorted(TIMES))
@pytest.mark.parametrize("save", SAVES)
def test_a_saved_object_has_the_times_that_are_stored(
    session: Session, save: Callable[[Session, Any], object], name: str
) -> None:
    visit = Visit(id="1", **{name: TIMES[name]})
    save(session, visit)
    stored = session.get_one(Visit, id="1")
    assert visit == stored
    assert session.query(Visit.exactly, is_exact="no").all() == [stored]
    setattr(visit, name, TIMES[name])
    save(session, visit)  # which sends nothing, because the same is stored
    assert visit == stored
    assert inspect(visit).changes == {}
    assert list(session.verify(Visit)) == []

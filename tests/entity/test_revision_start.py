"""``NumberRevision(start=...)``: where the numbers of a revision begin, on every road that writes an item first."""

import pytest

from dynaorm import Entity, F, Key, NumberRevision, Session, Table, inspect
from dynaorm.errors import DeclarationError
from dynaorm.flow.call import Transport
from tests.cast.seen import items

zero = Table("from-zero", revision_attribute=NumberRevision("version", start=-1))


class Turn(Entity, table=zero, pk="TURN#{name}", sk="T"):
    name: str
    count: int = 0


def version(moto: Transport) -> str:
    return str(items(moto, zero)["TURN#a T"]["version"]["N"])


def test_the_first_write_stores_the_number_after_the_start(session: Session, moto: Transport) -> None:
    turn = session.save(Turn(name="a"))
    assert (version(moto), inspect(turn).revision) == ("0", "0")
    turn.count = 1
    session.save(turn)
    assert version(moto) == "1"
    session.update(Key(Turn, name="a"), F.count.add(1))
    assert version(moto) == "2"


def test_an_upsert_that_creates_begins_there_too(session: Session, moto: Transport) -> None:
    for number in "01":
        session.upsert(Key(Turn, name="a"), F.count.add(1))
        assert version(moto) == number


@pytest.mark.parametrize("start", ["0", 1.5, True, None])
def test_a_start_that_is_no_whole_number_is_refused(start: object) -> None:
    with pytest.raises(DeclarationError, match="start="):
        Table("t", revision_attribute=NumberRevision("version", start=start))  # type: ignore[arg-type]

"""Places of one class in one partition are read together."""

from dynaorm import Entity, F, GlobalIndex, Index, Session, Table
from dynaorm.description import AccessPattern, describe
from dynaorm.testing import FakeClock, FaultyTransport
from dynaorm.transport import Transport
from tests.description.asking import check_questions

board = Table("board", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


class Task(Entity, table=board, pk="TASK#{number}", sk="TASK"):
    number: int
    owner: str
    helper: str = "nobody"
    done: bool = False
    to_do = Index("GSI1", pk="OWNER#{owner}", sk="1#{number:03d}", when=F.done == False)  # noqa: E712 - a condition
    was_done = Index("GSI1", pk="OWNER#{owner}", sk="2#{number:03d}", when=F.done == True)  # noqa: E712 - the same
    own = Index("GSI2", pk="PERSON#{owner}", sk="{number:03d}", when=F.done == False)  # noqa: E712 - the same
    helped = Index("GSI2", pk="PERSON#{helper}", sk="{number:03d}", when=F.done == True)  # noqa: E712 - the same


def together() -> list[AccessPattern]:
    return [one for one in describe(board).questions if one.kind == "collection"]


def test_places_of_one_class_with_one_partition_are_a_collection() -> None:
    (question,) = together()
    assert question.text == "Every Task of one owner in to_do and was_done, together"
    assert question.places == {"Task": ("to_do", "was_done")}
    assert question.call() == "session.collection(Task.to_do, Task.was_done, owner=...)"


def test_places_that_other_fields_lead_to_are_none() -> None:
    assert "GSI2" not in {one.index for one in together()}


def test_every_entity_of_both_places_is_found(moto: Transport) -> None:
    wire = FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock()) as session:
        session.create_table(board)
        for number in range(6):
            session.save(
                Task(number=number, owner="ab"[number % 2], helper="ba"[number % 2], done=number > 2)
            )
        assert check_questions(session, wire, board)["collection"] == 6

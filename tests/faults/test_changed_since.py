"""A change of an object after a write without an answer is kept, whatever that write gives the object."""

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from dynaorm import Attribute, Entity, F, Table
from dynaorm.testing import Fault, lost_answer, lost_request
from tests.faults.entities import ONE_TRY
from tests.faults.store import Store

app = Table("app")

LOST = pytest.mark.parametrize("fault", [lost_answer, lost_request])


class Place(BaseModel):
    city: Annotated[str, AfterValidator(str.strip)] = ""


class Point:
    """A value of another library. Two of them are never equal."""

    def __init__(self, x: int) -> None:
        self.x = x


def decoded(stored: Any) -> Point:
    return Point(int(stored["N"]))


class Note(Entity, table=app, pk="NOTE#{name}", sk="NOTE", versioned=True):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    name: str
    title: Annotated[str, AfterValidator(str.lower)] = ""
    tags: list[Annotated[str, AfterValidator(str.lower)]] = Field(default_factory=list)
    place: Place = Place()
    at: Annotated[
        Point,
        AfterValidator(lambda point: Point(min(point.x, 9))),
        Attribute(encode=lambda point: {"N": str(point.x)}, decode=decoded),
    ] = Point(0)


def retitle(note: Note) -> None:
    note.title = "mine"


def tag(note: Note) -> None:
    note.tags.append("mine")


def relocate(note: Note) -> None:
    note.place.city = "mine"


def point(note: Note) -> None:
    note.at = Point(5)


CHANGES = pytest.mark.parametrize("change", [retitle, tag, relocate, point])
COPIES = pytest.mark.parametrize(
    "copied",
    [lambda note: note, copy.copy, copy.deepcopy, lambda note: pickle.loads(pickle.dumps(note))],
    ids=["itself", "copy", "deepcopy", "pickled"],
)


def unsaved(name: str = "1") -> Note:
    """A note with values that validation changes."""
    note = Note(name=name, tags=["a"])
    note.title, note.at = "TITLE", Point(20)
    note.tags.append("B")
    note.place.city = " Leeds "
    return note


def texts(note: Note) -> tuple[Any, ...]:
    return note.title, note.tags, note.place.city, note.at.x


@LOST
@CHANGES
@COPIES
def test_a_change_made_before_a_save_is_settled_is_saved(
    moto: Store, fault: Callable[[], Fault], change: Callable[[Note], None], copied: Callable[[Note], Note]
) -> None:
    session, _ = moto.line(fault(), retry=ONE_TRY)
    note = unsaved()
    moto.unknown(lambda: session.save(note))
    note = copied(note)
    change(note)
    session.save(note)
    expected = unsaved()
    change(expected)
    expected.title, expected.tags = expected.title.lower(), [tag.lower() for tag in expected.tags]
    expected.place.city, expected.at = expected.place.city.strip(), Point(min(expected.at.x, 9))
    assert texts(note) == texts(expected)
    assert texts(session.get_one(Note, name="1")) == texts(expected)


def test_an_object_without_a_later_change_gets_what_was_stored(moto: Store) -> None:
    session, _ = moto.line(lost_answer(), retry=ONE_TRY)
    note = unsaved()
    plan = moto.unknown(lambda: session.save(note))
    assert session.resume(plan)
    assert texts(note) == ("title", ["a", "b"], "Leeds", 9)


def test_a_change_made_before_a_plan_is_resumed_is_kept(moto: Store) -> None:
    session, _ = moto.line(lost_answer(), retry=ONE_TRY)
    note = unsaved()
    plan = moto.unknown(lambda: session.save(note))
    note.title = "Mine"
    assert session.resume(plan)
    assert texts(note) == ("Mine", ["a", "b"], "Leeds", 9)


@LOST
def test_a_change_of_the_updated_field_is_saved(moto: Store, fault: Callable[..., Fault]) -> None:
    session, _ = moto.line(fault(at=2), retry=ONE_TRY)
    note = session.save(Note(name="1"))
    moto.unknown(lambda: session.update(note, F.title.set("theirs"), F.tags.append("b")))
    note.title = "mine"
    session.save(note)
    assert session.get_one(Note, name="1").title == "mine"
    assert note.title == "mine"


@LOST
def test_a_change_made_before_a_restoration_is_settled_is_saved(
    moto: Store, fault: Callable[..., Fault]
) -> None:
    session, _ = moto.line(fault(operation="TransactWriteItems", at=3), retry=ONE_TRY)
    note = session.save(Note(name="1", title="one", tags=["one"]))
    note.title, note.tags = "two", ["two"]
    session.save(note)
    moto.unknown(lambda: session.restore(note, version=1))
    note.title = "mine"
    session.save(note)
    restored = ["one"] if fault is lost_answer else note.tags
    assert (note.title, note.tags) == ("mine", restored)
    stored = session.get_one(Note, name="1")
    assert (stored.title, stored.tags) == ("mine", restored)

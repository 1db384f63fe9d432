"""Images of items that were stored otherwise: another revision, a former name of the class, a NULL."""

from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Key, NumberKey, NumberRevision, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import DecodeError, KeyChanged
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.image import (
    UNSTORABLE,
    changes_of,
    loaded_key,
    new_image,
    refuse_other_revision,
    under_present_names,
    unvalidated_changes,
)

app = Table("image-stored")
numbered = Table("image-numbered", revision_attribute=NumberRevision("_rev"))
readings = Table("image-readings", pk="device", sk=NumberKey("at"))
spots = Table("image-spots", indexes=[GlobalIndex("GSI1")])
unrevised = Table("image-unrevised", revision_attribute=None)


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T", formerly=("Issue",)):
    number: int
    status: str = "open"
    owner: Annotated[str | None, Attribute("holder")] = None
    parts: list[str] = []  # noqa: RUF012


class Numbered(Entity, table=numbered, pk="NUMBERED#{number}", sk="N"):
    number: int


class Unrevised(Entity, table=unrevised, pk="U#{number}", sk="U"):
    number: int


class Reading(Entity, table=readings, pk="{device}", sk="{at}"):
    device: str
    at: int


class Spot(Entity, table=spots, pk="SPOT#{name}", sk="S"):
    name: str
    row: Annotated[str, InKey()] = "r"
    seat: Annotated[str, InKey()] = "s"
    by_row = Index("GSI1", pk="ROW#{row}", sk="{seat}")


TICKET: Item = {
    "PK": {"S": "TICKET#7"},
    "SK": {"S": "T"},
    "_type": {"S": "Ticket"},
    "_rev": {"S": "w1"},
    "number": {"N": "7"},
    "parts": {"L": []},
}


def ticket(**attributes: AttributeValue) -> Any:
    return mapping_of(Ticket).hydrate({**TICKET, **attributes})


@pytest.mark.parametrize(
    ("kind", "revision", "said"),
    [
        (
            Ticket,
            {"N": "7"},
            (
                "Cannot write Ticket from the item PK='TICKET#7', SK='T':\n"
                "  - _rev: is stored as N '7', and dynaorm's revisions are text\n"
                "If another library keeps a number there, write "
                "revision_attribute=NumberRevision(name), or use another name"
            ),
        ),
        (
            Numbered,
            {"S": "w1"},
            (
                "Cannot write Numbered from the item PK='NUMBERED#7', SK='N':\n"
                "  - _rev: is stored as S 'w1', and the table declares a whole number there\nGive the table another "
                "revision_attribute="
            ),
        ),
    ],
)
def test_a_revision_of_another_kind_is_refused_with_the_declaration_that_fits(
    kind: type[Entity], revision: AttributeValue, said: str
) -> None:
    mapping = mapping_of(kind)
    key = Key(kind, number=7)
    with pytest.raises(DecodeError) as raised:
        refuse_other_revision(mapping, {**key.primary_key, "_rev": revision})
    assert str(raised.value) == said
    assert (raised.value.entity, raised.value.key) == (kind.__name__, key.primary_key)
    for fitting in ({}, {"_rev": {"S": "w1"} if kind is Ticket else {"N": "7"}}):
        refuse_other_revision(mapping, {**key.primary_key, **fitting})
    refuse_other_revision(mapping_of(Unrevised), {"PK": {"S": "U#7"}, "SK": {"S": "U"}, "_rev": revision})


@pytest.mark.parametrize("kind", ["Ticket", "Issue", "Other"])
def test_the_next_change_gives_an_item_the_present_name_of_its_class(kind: str) -> None:
    found = under_present_names(mapping_of(Ticket), {**TICKET, "_type": {"S": kind}})
    assert found == {**TICKET, "_type": {"S": "Other" if kind == "Other" else "Ticket"}}
    untyped = {name: value for name, value in TICKET.items() if name != "_type"}
    assert under_present_names(mapping_of(Ticket), untyped) == untyped


def test_another_spelling_of_a_number_is_the_same_key() -> None:
    mapping = mapping_of(Reading)
    stored: Item = {"device": {"S": "d"}, "at": {"N": "7.0"}, "_type": {"S": "Reading"}}
    reading = mapping.hydrate(stored)
    state = state_of(reading)
    assert state is not None
    loaded_key(mapping, vars(reading), state)
    reading.at = 8
    with pytest.raises(KeyChanged):
        loaded_key(mapping, vars(reading), state)


def test_each_field_that_lives_in_a_key_is_compared() -> None:
    mapping, spot = mapping_of(Spot), Spot(name="a")
    loaded = mapping.hydrate(new_image(mapping, Key(Spot, name="a").primary_key, vars(spot)))
    state = state_of(loaded)
    assert state is not None
    loaded.row = "z"
    assert changes_of(mapping, vars(loaded), state) == {"row": None}


def test_a_value_that_cannot_be_stored_differs() -> None:
    one = ticket()
    one.status, one.parts = 5, ["wheel"]
    state = state_of(one)
    assert state is not None
    assert unvalidated_changes(mapping_of(Ticket), vars(one), state) == {
        "status": UNSTORABLE,
        "parts": {"L": [{"S": "wheel"}]},
    }


@pytest.mark.parametrize("renewed", [frozenset(), frozenset({"owner"})], ids=["plain", "renewed"])
def test_a_value_takes_the_place_of_a_stored_null(renewed: frozenset[str]) -> None:
    one = ticket(holder={"NULL": True})
    state = state_of(one)
    assert state is not None
    assert changes_of(mapping_of(Ticket), vars(one), state, renewed=renewed) == {}
    one.owner = "liz"
    found = changes_of(mapping_of(Ticket), vars(one), state, renewed=renewed)
    assert found == {"owner": {"S": "liz"}}

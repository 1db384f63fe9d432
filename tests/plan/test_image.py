"""Images: what differs from what was loaded, and what follows from it."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, model_validator

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Table,
)
from dynaorm.entity.key_part import BOOKKEEPING
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import validated
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import DecodeError, KeyChanged, StaleEntity, UsageError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.stored import loaded_key, refuse_other_revision, writable_state
from dynaorm.plan.values import (
    UNSTORABLE,
    apply_field_changes,
    changes_of,
    new_image,
    unvalidated_changes,
    with_current_names,
    with_unknown_attributes,
)
from tests.plan.cast import Loose, Numbered, Stock
from tests.plan.compiling import NOW

app = Table("image-app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T", formerly=("Issue",)):
    number: int
    status: str = "open"
    owner: Annotated[str | None, Attribute("holder", formerly=("owner_name", "who"))] = None
    parts: list[str] = Field(default_factory=list)
    weight: float = 1.0
    points: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")
    by_points = Index("GSI2", pk="POINTS", sk="{points:06d}")


class Lease(Entity, table=app, pk="LEASE#{name}", sk="L"):
    name: str
    row: Annotated[str, InKey()] = "r"
    place: Annotated[str, InKey()] = "p"
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_until = Index("GSI1", pk="UNTIL#{until:%Y-%m-%dT%H:%M:%S.%f}", sk="{name}")
    by_place = Index("GSI2", pk="PLACE#{place}", sk="{row}")


TICKET: Item = {
    "PK": {"S": "TICKET#7"},
    "SK": {"S": "T"},
    "_type": {"S": "Ticket"},
    "_rev": {"S": "w1"},
    "number": {"N": "7"},
    "status": {"S": "open"},
    "parts": {"L": []},
    "weight": {"N": "1"},
    "GSI1PK": {"S": "STATUS#open"},
    "GSI1SK": {"S": "000007"},
    "legacy": {"BOOL": True},
}


def loaded_ticket(**attributes: AttributeValue | None) -> Any:
    item = {**TICKET, **attributes}
    return mapping_of(Ticket).loader.hydrate({name: one for name, one in item.items() if one is not None})


def changes(entity: Any) -> dict[str, AttributeValue | None]:
    state = state_of(entity)
    assert state is not None
    return changes_of(mapping_of(type(entity)), vars(entity), state)


def advanced(entity: Any) -> dict[str, AttributeValue]:
    state = state_of(entity)
    assert state is not None
    return apply_field_changes(mapping_of(type(entity)), state.item, changes(entity), {})


def test_keys_of_an_index_without_a_changed_field_are_not_rendered() -> None:
    """Another writer stored a value that the key of the index cannot hold."""
    one = loaded_ticket(points={"N": "-5"})
    one.status = "done"
    assert advanced(one) == {
        **TICKET,
        "points": {"N": "-5"},
        "status": {"S": "done"},
        "GSI1PK": {"S": "STATUS#done"},
    }


@pytest.mark.parametrize("former", ["owner_name", "who"])
def test_former_names_are_read_and_renamed_by_the_next_change(former: str) -> None:
    one = loaded_ticket(**{former: {"S": "o"}})
    assert one.owner == "o"
    assert changes(one) == {}
    one.weight = 2.0
    after = advanced(one)
    assert after["holder"] == {"S": "o"}
    assert former not in after


@pytest.mark.parametrize("kind", ["Ticket", "Issue", "Other", None])
def test_the_next_change_gives_an_item_the_present_names_of_its_class_and_attributes(
    kind: str | None,
) -> None:
    item: Item = {"holder": {"S": "new"}, "who": {"S": "old"}, **({"_type": {"S": kind}} if kind else {})}
    found: Item = {"holder": {"S": "new"}}
    if kind:
        found = {**found, "_type": {"S": "Other" if kind == "Other" else "Ticket"}}
    assert with_current_names(mapping_of(Ticket), item) == found


def test_only_loaded_live_latest_entities_may_be_written() -> None:
    mapping = mapping_of(Ticket)
    with pytest.raises(UsageError, match="this Ticket is new"):
        writable_state(mapping, None, NOW)
    with pytest.raises(UsageError, match="restore"):
        writable_state(mapping, Loaded(TICKET, read_only=True), NOW)
    expiring = Loaded({**TICKET, "until": {"N": str(int(NOW))}})
    assert writable_state(mapping, expiring, NOW - 1) is expiring
    with pytest.raises(StaleEntity) as raised:
        writable_state(mapping, expiring, NOW)
    assert (raised.value.key, raised.value.expected) == (Key(Ticket, number=7), "w1")
    assert str(raised.value) == (
        "Key(Ticket, number=7) has expired since it was loaded; "
        "insert it anew: session.save(detached(entity, ...)) with another expiry"
    )
    assert expiring.item["until"] == {"N": str(int(datetime.fromtimestamp(NOW, UTC).timestamp()))}


def test_a_changed_primary_key_is_refused_with_both_keys() -> None:
    one = loaded_ticket()
    one.number = 8
    state = state_of(one)
    assert state is not None
    with pytest.raises(KeyChanged) as raised:
        loaded_key(mapping_of(Ticket), vars(one), state)
    error = raised.value
    assert (error.before, error.after) == (Key(Ticket, number=7), Key(Ticket, number=8))
    assert (error.entity, error.fields) == ("Ticket", ("number",))


def test_the_index_keys_of_a_new_entity_have_its_values_as_they_are_stored() -> None:
    lease = Lease(name="n", place="x", until=datetime(2030, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC))
    mapping = mapping_of(Lease)
    values = validated(mapping, vars(lease)).values
    assert new_image(mapping, mapping.primary_key.of(values), values) == {
        "PK": {"S": "LEASE#n"},
        "SK": {"S": "L"},
        "GSI1PK": {"S": "UNTIL#2030-01-02T03:04:05.000000"},
        "GSI1SK": {"S": "n"},
        "GSI2PK": {"S": "PLACE#x"},
        "GSI2SK": {"S": "r"},
        "_type": {"S": "Lease"},
        "name": {"S": "n"},
        "until": {"N": "1893553445"},
    }


class Room(BaseModel):
    floor: Annotated[int, AfterValidator(abs)] = 0


class Plan(Entity, table=app, pk="PLAN#{name}", sk="P", versioned=True):
    name: str
    rooms: list[Room] = Field([])
    label: str | None = None

    @model_validator(mode="after")
    def named(self) -> "Plan":
        vars(self)["label"] = self.name.upper()
        return self


def test_what_keys_guards_and_versions_are_made_of_is_stored_as_it_loads_by_every_save() -> None:
    rooms: Any = [{"M": {"floor": {"N": "1"}}}, {"M": {"floor": {"N": "-2"}, "legacy": {"S": "kept"}}}]
    item: Item = {"PK": {"S": "PLAN#p"}, "SK": {"S": "v0_P"}, "name": {"S": "p"}, "rooms": {"L": rooms}}
    mapping = mapping_of(Plan)
    plan = mapping.loader.hydrate(item)
    state = state_of(plan)
    assert state is not None
    assert changes_of(mapping, vars(plan), state) == {}
    assert changes_of(mapping, vars(plan), state, renewed=mapping.derived_fields) == {
        "rooms": {"L": [rooms[0], {"M": {"floor": {"N": "2"}, "legacy": {"S": "kept"}}}]},
        "label": {"S": "P"},
    }


# -- items that were stored otherwise ----------------------------------------------------------------------------------


readings = Table("image-readings", pk="device", sk=NumberKey("at"))


class Reading(Entity, table=readings, pk="{device}", sk="{at}"):
    device: str
    at: int


@pytest.mark.parametrize(
    ("kind", "revision", "said"),
    [
        (
            Stock,
            {"_rev": {"N": "7"}},
            (
                "Cannot write Stock from the item PK='STOCK#7', SK='S':\n"
                "  - _rev: is stored as N '7', and dynaorm's revisions are text\n"
                "If another library keeps a number there, write "
                "revision_attribute=NumberRevision(name), or use another name"
            ),
        ),
        (
            Numbered,
            {"number": {"S": "w1"}},
            (
                "Cannot write Numbered from the item PK='NUMBERED#7', SK='N':\n"
                "  - number: is stored as S 'w1', and the table declares a whole number there\nGive the table another "
                "revision_attribute="
            ),
        ),
    ],
)
def test_a_revision_of_another_kind_is_refused_with_the_declaration_that_fits(
    kind: type[Entity], revision: Item, said: str
) -> None:
    mapping = mapping_of(kind)
    key = mapping.primary_key.of(dict.fromkeys(mapping.key_fields, "7"))
    with pytest.raises(DecodeError) as raised:
        refuse_other_revision(mapping, {**key, **revision})
    assert str(raised.value) == said
    assert (raised.value.entity, raised.value.key) == (kind.__name__, key)
    for fitting in ({}, {"_rev": {"S": "w1"}, "number": {"N": "7"}}):
        refuse_other_revision(mapping, {**key, **fitting})
    refuse_other_revision(mapping_of(Loose), {"PK": {"S": "LOOSE#7"}, "SK": {"S": "L"}, **revision})


def test_another_spelling_of_a_number_is_the_same_key() -> None:
    mapping = mapping_of(Reading)
    stored: Item = {"device": {"S": "d"}, "at": {"N": "7.0"}, "_type": {"S": "Reading"}}
    reading = mapping.loader.hydrate(stored)
    state = state_of(reading)
    assert state is not None
    loaded_key(mapping, vars(reading), state)
    reading.at = 8
    with pytest.raises(KeyChanged):
        loaded_key(mapping, vars(reading), state)


def test_each_field_that_lives_in_a_key_is_compared() -> None:
    mapping, lease = mapping_of(Lease), Lease(name="a", place="x")
    loaded: Any = mapping.loader.hydrate(new_image(mapping, mapping.primary_key.of(vars(lease)), vars(lease)))
    loaded.row = "z"
    assert changes(loaded) == {"row": None}


def test_a_value_that_cannot_be_stored_differs() -> None:
    one = loaded_ticket()
    one.status, one.parts = 5, ["wheel"]
    state = state_of(one)
    assert state is not None
    assert unvalidated_changes(mapping_of(Ticket), vars(one), state) == {
        "status": UNSTORABLE,
        "parts": {"L": [{"S": "wheel"}]},
    }


@pytest.mark.parametrize("renewed", [frozenset(), frozenset({"owner"})], ids=["plain", "renewed"])
def test_a_value_takes_the_place_of_a_stored_null(renewed: frozenset[str]) -> None:
    one = loaded_ticket(holder={"NULL": True})
    state = state_of(one)
    assert state is not None
    assert changes_of(mapping_of(Ticket), vars(one), state, renewed=renewed) == {}
    one.owner = "liz"
    found = changes_of(mapping_of(Ticket), vars(one), state, renewed=renewed)
    assert found == {"owner": {"S": "liz"}}


@pytest.mark.parametrize("name", [*BOOKKEEPING, "owner", "PK2"])
def test_what_no_class_knows_is_as_in_the_item_that_an_entity_comes_from_whatever_it_is_called(
    name: str,
) -> None:
    other: AttributeValue = {"S": "of another program"}
    image: Item = {"number": {"N": "1"}}
    assert with_unknown_attributes(mapping_of(Ticket), image, {**image, name: other}) == {
        **image,
        name: other,
    }

"""Images: what differs from what was loaded, and what follows from it."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    NumberRevision,
    Table,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import validated
from dynaorm.entity.state import Loaded, state_of
from dynaorm.entity.template.version import BOOKKEEPING
from dynaorm.errors import DecodeError, KeyChanged, StaleEntity, UsageError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changed_fields import UNSTORABLE, changes_of, unvalidated_changes
from dynaorm.plan.image import advance, new_image, over_origin, under_present_names
from dynaorm.plan.writable import loaded_key, refuse_other_revision, writable_state

NOW = 1_700_000_000.0

app = Table("image-app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T"):
    number: int
    status: str = "open"
    owner: Annotated[str | None, Attribute("holder", formerly=("owner_name", "who"))] = None
    tags: set[str] = Field(default_factory=set)
    parts: list[str] = Field(default_factory=list)
    weight: float = 1.0
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")
    by_owner = Index("GSI2", pk="OWNER#{owner}", sk="{number:06d}")


class Shout(Entity, table=app, pk="SHOUT#{name}", sk="S"):
    name: str
    text: str
    level: int = 3

    @field_validator("text")
    @classmethod
    def upper(cls, text: str) -> str:
        return text.upper()


class Lease(Entity, table=app, pk="LEASE#{name}", sk="L"):
    name: str
    place: Annotated[str | None, InKey()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_until = Index("GSI1", pk="UNTIL#{until:%Y-%m-%dT%H:%M:%S.%f}", sk="{name}")
    by_place = Index("GSI2", pk="PLACE#{place}", sk="{name}")


class Score(Entity, table=app, pk="SCORE#{name}", sk="S"):
    name: str
    points: int = 0
    level: int = 1
    by_points = Index("GSI1", pk="POINTS", sk="{points:06d}")
    by_level = Index("GSI2", pk="LEVEL", sk="{level:06d}")


both = Table("image-both", indexes=[GlobalIndex("GSI1", pk="X", sk="Y"), GlobalIndex("GSI2", pk="X", sk="Z")])


class Both(Entity, table=both, pk="BOTH#{name}", sk="B"):
    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="BOTH", sk="{one}")
    by_other = Index("GSI2", pk="BOTH", sk="{other}")


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


def ticket(**attributes: AttributeValue) -> Any:
    return mapping_of(Ticket).loader.hydrate({**TICKET, **attributes})


def changes(entity: Any) -> dict[str, AttributeValue | None]:
    state = state_of(entity)
    assert state is not None
    return changes_of(mapping_of(type(entity)), vars(entity), state)


def advanced(entity: Any) -> dict[str, AttributeValue]:
    state = state_of(entity)
    assert state is not None
    return advance(mapping_of(type(entity)), state.item, changes(entity), {})


def test_a_default_taken_for_an_absent_attribute_is_no_change() -> None:
    item = {"PK": {"S": "SHOUT#s"}, "SK": {"S": "S"}, "name": {"S": "s"}, "text": {"S": "A"}}
    one = mapping_of(Shout).loader.hydrate(item)
    assert one.level == 3
    assert changes(one) == {}
    one.level = 4
    assert changes(one) == {"level": {"N": "4"}}


def test_keys_of_an_index_without_a_changed_field_are_not_rendered() -> None:
    """Another writer stored a value that the key of the index cannot hold."""
    item: Item = {"PK": {"S": "SCORE#a"}, "SK": {"S": "S"}, "_type": {"S": "Score"}, "name": {"S": "a"}}
    score: Any = mapping_of(Score).loader.hydrate({**item, "points": {"N": "-5"}})
    score.level = 2
    assert advanced(score) == {
        **item,
        "points": {"N": "-5"},
        "level": {"N": "2"},
        "GSI2PK": {"S": "LEVEL"},
        "GSI2SK": {"S": "000002"},
    }


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", None, {"X": {"S": "BOTH"}, "Y": {"S": "a"}}),
        (None, "b", {"X": {"S": "BOTH"}, "Z": {"S": "b"}}),
        (None, None, {}),
    ],
)
def test_a_key_attribute_of_two_indexes_goes_only_with_the_last(
    one: str | None, other: str | None, expected: Item
) -> None:
    mapping = mapping_of(Both)
    values = {"name": "n", "one": "a", "other": "b"}
    entity: Any = mapping.loader.hydrate(new_image(mapping, mapping.primary_key.of(values), values))
    entity.one, entity.other = one, other
    assert {name: value for name, value in advanced(entity).items() if name in "XYZ"} == expected


@pytest.mark.parametrize("former", ["owner_name", "who"])
def test_former_names_are_read_and_renamed_by_the_next_change(former: str) -> None:
    one = ticket(**{former: {"S": "o"}})
    assert one.owner == "o"
    assert changes(one) == {}
    one.weight = 2.0
    after = advanced(one)
    assert after["holder"] == {"S": "o"}
    assert former not in after


def test_the_present_name_wins_over_a_former_one() -> None:
    found = under_present_names(mapping_of(Ticket), {"holder": {"S": "new"}, "who": {"S": "old"}})
    assert found == {"holder": {"S": "new"}}


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
    one = ticket()
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
        "GSI2SK": {"S": "n"},
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


others = Table("image-stored")
numbered = Table("image-numbered", revision_attribute=NumberRevision("_rev"))
readings = Table("image-readings", pk="device", sk=NumberKey("at"))
spots = Table("image-spots", indexes=[GlobalIndex("GSI1")])
unrevised = Table("image-unrevised", revision_attribute=None)


class Complaint(Entity, table=others, pk="TICKET#{number}", sk="T", formerly=("Issue",)):
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


ISSUE: Item = {
    "PK": {"S": "TICKET#7"},
    "SK": {"S": "T"},
    "_type": {"S": "Complaint"},
    "_rev": {"S": "w1"},
    "number": {"N": "7"},
    "parts": {"L": []},
}


def issue(**attributes: AttributeValue) -> Any:
    return mapping_of(Complaint).loader.hydrate({**ISSUE, **attributes})


@pytest.mark.parametrize(
    ("kind", "revision", "said"),
    [
        (
            Complaint,
            {"N": "7"},
            (
                "Cannot write Complaint from the item PK='TICKET#7', SK='T':\n"
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
    for fitting in ({}, {"_rev": {"S": "w1"} if kind is Complaint else {"N": "7"}}):
        refuse_other_revision(mapping, {**key.primary_key, **fitting})
    refuse_other_revision(mapping_of(Unrevised), {"PK": {"S": "U#7"}, "SK": {"S": "U"}, "_rev": revision})


@pytest.mark.parametrize("kind", ["Complaint", "Issue", "Other"])
def test_the_next_change_gives_an_item_the_present_name_of_its_class(kind: str) -> None:
    found = under_present_names(mapping_of(Complaint), {**ISSUE, "_type": {"S": kind}})
    assert found == {**ISSUE, "_type": {"S": "Other" if kind == "Other" else "Complaint"}}
    untyped = {name: value for name, value in ISSUE.items() if name != "_type"}
    assert under_present_names(mapping_of(Complaint), untyped) == untyped


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
    mapping, spot = mapping_of(Spot), Spot(name="a")
    loaded = mapping.loader.hydrate(new_image(mapping, Key(Spot, name="a").primary_key, vars(spot)))
    state = state_of(loaded)
    assert state is not None
    loaded.row = "z"
    assert changes_of(mapping, vars(loaded), state) == {"row": None}


def test_a_value_that_cannot_be_stored_differs() -> None:
    one = issue()
    one.status, one.parts = 5, ["wheel"]
    state = state_of(one)
    assert state is not None
    assert unvalidated_changes(mapping_of(Complaint), vars(one), state) == {
        "status": UNSTORABLE,
        "parts": {"L": [{"S": "wheel"}]},
    }


@pytest.mark.parametrize("renewed", [frozenset(), frozenset({"owner"})], ids=["plain", "renewed"])
def test_a_value_takes_the_place_of_a_stored_null(renewed: frozenset[str]) -> None:
    one = issue(holder={"NULL": True})
    state = state_of(one)
    assert state is not None
    assert changes_of(mapping_of(Complaint), vars(one), state, renewed=renewed) == {}
    one.owner = "liz"
    found = changes_of(mapping_of(Complaint), vars(one), state, renewed=renewed)
    assert found == {"owner": {"S": "liz"}}


@pytest.mark.parametrize("name", [*BOOKKEEPING, "owner", "PK2"])
def test_what_no_class_knows_is_as_in_the_item_that_an_entity_comes_from_whatever_it_is_called(
    name: str,
) -> None:
    other: AttributeValue = {"S": "of another program"}
    image: Item = {"number": {"N": "1"}}
    assert over_origin(mapping_of(Ticket), image, {**image, name: other}) == {**image, name: other}

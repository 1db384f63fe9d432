"""Partial updates: what they touch, when they need what is stored, and what follows from them."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, InKey, Table, Unique, Versioned
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.item.update import AddTo, Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.edit import edited_image, stored_changes, touched
from dynaorm.plan.given_values import valid_changes

app = Table("edit-app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Address(BaseModel):
    city: str = ""
    zip: str = ""


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T"):
    number: int
    status: str | None = "open"
    queue: str = "q"
    visits: Annotated[int, Field(ge=0)] = 0
    title: Annotated[str, Attribute("name_of_it")] = ""
    required: str
    tags: set[str] = Field(default_factory=set)
    parts: list[str] = Field(default_factory=list)
    address: Address = Address()
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{queue}")


class Sticky(Entity, table=app, pk="STICKY#{name}", sk="S"):
    name: str
    place: Annotated[str | None, InKey()] = None
    note: str = ""
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{name}")


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="A", unique={"badge": ("tenant", "number")}):
    name: str
    email: Annotated[str | None, Unique()] = None
    tenant: str = "t"
    number: int = 0
    note: str = ""
    until: Annotated[datetime | None, ExpiresAt()] = None


class Picky(Entity, table=app, pk="PICKY#{name}", sk="P"):
    name: str
    desk: Annotated[str | None, Unique(when=lambda picky: picky.note == "x")] = None
    note: str = ""


class Fleeting(Entity, table=app, pk="FLEETING#{name}", sk="F"):
    name: str
    until: Annotated[datetime | None, ExpiresAt()] = None


class Document(Entity, table=app, pk="DOC#{name}", sk="D", versioned=True):
    name: str
    text: str = ""


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    result: Annotated[str, Versioned()] = ""
    note: str = ""


class Twofold(Entity, table=app, pk="TWOFOLD#{name}", sk="T"):
    name: str
    one: str | None = None
    other: str | None = None
    size: int = 0
    note: Annotated[str, Attribute("note", formerly=("remark",))] = ""
    by_one = Index("GSI1", pk="ONE#{one}", sk="{one}")
    by_other = Index("GSI2", pk="OTHER#{other}", sk="{other}")


class Needy(Entity, table=app, pk="NEEDY#{name}", sk="N"):
    name: str
    status: str | None
    tags: set[str]
    name_of_it: str


class Encoded(Entity, table=app, pk="ENCODED#{name}", sk="E"):
    name: str
    parts: Annotated[list[str], Attribute(encode=list, decode=list)] = Field(default_factory=list)


@pytest.mark.parametrize(
    ("entity", "change", "error", "message"),
    [
        (Ticket, F.visit.add(1), UnknownField, "visits"),
        (Ticket, F.number.set(2), UsageError, r"part of the primary key.*session\.move"),
        (Ticket, F.visits.set(-1), InvalidValue, r"Ticket\.visits = -1"),
        (Ticket, F.visits.set("one"), InvalidValue, r"Ticket\.visits"),
        (Ticket, F.required.remove(), InvalidValue, "cannot be removed"),
        (Ticket, F.required.set(None), InvalidValue, r"Ticket\.required"),
        (Ticket, F.visits.set_if_missing(-1), InvalidValue, r"Ticket\.visits = -1"),
        (Ticket, F.tags.append("x"), UsageError, r"Ticket\.tags is not a list"),
        (Ticket, F.visits.prepend(1), UsageError, r"Ticket\.visits is not a list"),
        (Ticket, F.address.city.append("x"), UsageError, r"Ticket\.address\.city is not a list"),
        (Ticket, F.parts.discard("x"), UsageError, r"Ticket\.parts is not a set"),
        (Sticky, F.place.remove(), UsageError, "index key alone"),
    ],
)
def test_what_can_never_be_is_refused_without_reading(
    entity: type[Entity], change: Change, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        touched(mapping_of(entity), (change,))
        valid_changes(mapping_of(entity), (change,))


def test_stored_changes_are_in_stored_names_and_values() -> None:
    changes = (F.title.set("t"), F.visits.add(2), F.tags.add({"a"}), F.address.city.set("c"))
    assert stored_changes(mapping_of(Ticket), changes) == (
        SetTo(("name_of_it",), {"S": "t"}),
        AddTo(("visits",), {"N": "2"}),
        AddTo(("tags",), {"SS": ["a"]}),
        SetTo(("address", "city"), {"S": "c"}),
    )


class Labelled(Entity, table=app, pk="LABELLED#{name}", sk="L"):
    name: str
    labels: set[str] | None = None


@pytest.mark.parametrize(
    ("stored", "change", "expected"),
    [
        ({"L": []}, F.labels.add("a"), {"SS": ["a"]}),
        ({"L": []}, F.labels.discard("a"), {"L": []}),
        ({"SS": ["a"]}, F.labels.discard("a"), {"L": []}),
        ({"SS": ["a", "b"]}, F.labels.discard("a"), {"SS": ["b"]}),
        (None, F.labels.discard("a"), None),
    ],
)
def test_an_empty_set_stays_one_where_absence_means_none(
    stored: AttributeValue | None, change: Change, expected: AttributeValue | None
) -> None:
    key: Item = {"PK": {"S": "LABELLED#l"}, "SK": {"S": "L"}, "name": {"S": "l"}}
    item = key if stored is None else {**key, "labels": stored}
    after, _ = edited_image(mapping_of(Labelled), item, (change,))
    assert after == (key if expected is None else {**key, "labels": expected})


def test_an_outcome_that_could_not_be_read_is_refused() -> None:
    class Sized(Entity, table=app, pk="SIZED#{name}", sk="S"):
        name: str
        size: tuple[str, str] = ("", "")

    item: Item = {
        "PK": {"S": "SIZED#s"},
        "SK": {"S": "S"},
        "name": {"S": "s"},
        "size": {"L": [{"S": "a"}, {"S": "b"}]},
    }
    with pytest.raises(InvalidValue, match=r"Sized.size: its new value has 3 members, not 2"):
        edited_image(mapping_of(Sized), item, (F.size.append("c"),))


TICKET: Item = {
    "PK": {"S": "TICKET#7"},
    "SK": {"S": "T"},
    "_type": {"S": "Ticket"},
    "number": {"N": "7"},
    "status": {"S": "open"},
    "queue": {"S": "q"},
    "visits": {"N": "4"},
    "name_of_it": {"S": "t"},
    "required": {"S": "r"},
    "parts": {"L": [{"S": "p"}]},
    "address": {"M": {"city": {"S": "c"}, "zip": {"S": "z"}}},
    "GSI1PK": {"S": "STATUS#open"},
    "GSI1SK": {"S": "q"},
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([F.visits.add(2)], {"visits": {"N": "6"}}),
        ([F.parts.append("r", "s")], {"parts": {"L": [{"S": "p"}, {"S": "r"}, {"S": "s"}]}}),
        ([F.tags.add({"b", "a"})], {"tags": {"SS": ["a", "b"]}}),
        ([F.address.city.set("d")], {"address": {"M": {"city": {"S": "d"}, "zip": {"S": "z"}}}}),
        ([F.status.set("done")], {"status": {"S": "done"}, "GSI1PK": {"S": "STATUS#done"}}),
        ([F.title.set_if_missing("u")], {}),
    ],
)
def test_an_edit_of_a_known_item_is_worked_out_here(
    changes: list[Change], expected: dict[str, AttributeValue]
) -> None:
    after, names = edited_image(mapping_of(Ticket), TICKET, tuple(changes))
    assert after == {**TICKET, **expected}
    assert names == {str(change.path[0]) for change in changes}


def test_leaving_an_index_takes_its_keys_away() -> None:
    after, _ = edited_image(mapping_of(Ticket), TICKET, (F.status.set(None),))
    assert not {"GSI1PK", "GSI1SK"} & after.keys()


def test_a_field_that_lives_in_an_index_key_is_rendered_into_it() -> None:
    item: Item = {
        "PK": {"S": "STICKY#s"}, "SK": {"S": "S"}, "name": {"S": "s"}, "note": {"S": ""},
        "GSI1PK": {"S": "PLACE#here"}, "GSI1SK": {"S": "s"},
    }  # fmt: skip
    after, names = edited_image(mapping_of(Sticky), item, (F.place.set("there"),))
    assert after == {**item, "GSI1PK": {"S": "PLACE#there"}}
    assert names == {"place"}


def test_the_stored_image_is_not_touched() -> None:
    before = repr(TICKET)
    edited_image(mapping_of(Ticket), TICKET, (F.parts.append("x"), F.address.city.set("y")))
    assert repr(TICKET) == before


def test_every_change_of_an_edit_is_made_also_after_one_that_is_none_of_an_attribute() -> None:
    account = stored_changes(mapping_of(Account), (F.email.set(None), F.note.set("x")))
    assert account == (Remove(("email",)), SetTo(("note",), {"S": "x"}))
    sticky = stored_changes(mapping_of(Sticky), (F.place.set("there"), F.note.set("x")))
    assert sticky == (SetTo(("note",), {"S": "x"}),)


@pytest.mark.parametrize("change", [F.tags.remove(), F.status.remove()])
def test_a_required_field_whose_absence_has_a_meaning_can_be_removed(change: Change) -> None:
    assert touched(mapping_of(Needy), (change,))
    with pytest.raises(InvalidValue) as refusal:
        touched(mapping_of(Needy), (F.name_of_it.remove(),))
    assert (refusal.value.field, refusal.value.value) == ("name_of_it", None)
    assert refusal.value.problem == "cannot be removed, because the class requires it"
    assert refusal.value.remedy == "set F.name_of_it to a value"


class Placed(Entity, table=app, pk="PLACED#{name}", sk="P"):
    name: str
    spot: Annotated[str, InKey()] = "s"
    by_spot = Index("GSI1", pk="SPOT#{spot}", sk="{name}")


@pytest.mark.parametrize(
    ("entity", "change", "remedy"),
    [
        (Sticky, F.place.remove(), "write F.place.set(None)"),
        (Sticky, F.place.set_if_missing("x"), "write F.place.set(...)"),
        (Placed, F.spot.remove(), "write F.spot.set(...)"),
    ],
)
def test_a_field_that_lives_in_an_index_key_alone_is_set(
    entity: type[Entity], change: Change, remedy: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        touched(mapping_of(entity), (change,))
    assert refusal.value.remedy == remedy


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (F.number.set(1), "load the entity, change the field and session.move(entity)"),
        (F.tags.append("x"), "write F.field.add({...}) for a set, F.field.set(...) for anything else"),
        (F.parts.discard({"x"}), "write F.field.set(...), or F.field[0].remove() for an element of a list"),
    ],
)
def test_a_change_that_cannot_be_made_comes_with_the_one_that_can(change: Change, remedy: str) -> None:
    with pytest.raises(UsageError) as refusal:
        touched(mapping_of(Ticket), (change,))
    assert refusal.value.remedy == remedy


def test_a_list_of_an_application_s_own_encoding_can_be_appended_to() -> None:
    assert touched(mapping_of(Encoded), (F.parts.append("x"),))


def test_an_edit_dynamodb_could_not_make_comes_with_a_remedy() -> None:
    with pytest.raises(UsageError) as refusal:
        edited_image(mapping_of(Ticket), {**TICKET, "parts": {"S": "no list"}}, (F.parts.append("x"),))
    assert refusal.value.remedy == "set the whole field: F.parts.set(...)"


def test_what_is_stored_as_absence_is_not_set_where_nothing_is_stored() -> None:
    assert stored_changes(mapping_of(Account), (F.until.set_if_missing(None),)) == ()
    assert stored_changes(mapping_of(Ticket), (F.tags.set_if_missing(set()),)) == ()

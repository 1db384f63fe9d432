"""Partial updates: what they touch, when they need what is stored, and what follows from them."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, InvalidValue, KeyChanged, UnknownField, UsageError
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.edit import check_changes, edited_image, validate_changes
from dynaorm.plan.intent import Save
from tests.plan.cast import Held, Parcel, Size
from tests.plan.compiling import plan_of, stored

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


class Placed(Entity, table=app, pk="PLACED#{name}", sk="P"):
    name: str
    spot: Annotated[str, InKey()] = "s"
    by_spot = Index("GSI1", pk="SPOT#{spot}", sk="{name}")


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="A", unique={"badge": ("tenant", "number")}):
    name: str
    email: Annotated[str | None, Unique()] = None
    tenant: str = "t"
    number: int = 0
    note: str = ""
    until: Annotated[datetime | None, ExpiresAt()] = None


def _listed(parts: list[str]) -> AttributeValue:
    return {"L": [{"S": part} for part in parts]}


def _unlisted(value: AttributeValue) -> list[str]:
    return [part["S"] for part in value["L"]]


class Needy(Entity, table=app, pk="NEEDY#{name}", sk="N"):
    """What it requires may have an absence with a meaning."""

    name: str
    status: str | None
    tags: set[str]
    name_of_it: str
    labels: set[str] | None = None
    size: tuple[str, str] = ("", "")
    parts: Annotated[list[str], Attribute(encode=_listed, decode=_unlisted)] = Field(default_factory=list)


@pytest.mark.parametrize(
    ("entity", "change", "error", "message"),
    [
        (Ticket, F.visit.add(1), UnknownField, "visits"),
        (
            Ticket,
            F.number.set(2),
            UsageError,
            r"part of the primary key.*; load the entity, change .*session\.move\(entity\)$",
        ),
        (Ticket, F.visits.set(-1), InvalidValue, r"Ticket\.visits = -1"),
        (Ticket, F.visits.set("one"), InvalidValue, r"Ticket\.visits"),
        (Ticket, F.required.remove(), InvalidValue, "cannot be removed"),
        (Ticket, F.required.set(None), InvalidValue, r"Ticket\.required"),
        (Ticket, F.visits.set_if_missing(-1), InvalidValue, r"Ticket\.visits = -1"),
        (
            Ticket,
            F.tags.append("x"),
            UsageError,
            r"Ticket\.tags is not a list; write F\.field\.add\(\{...\}\) for a set",
        ),
        (Ticket, F.visits.prepend(1), UsageError, r"Ticket\.visits is not a list"),
        (Ticket, F.address.city.append("x"), UsageError, r"Ticket\.address\.city is not a list"),
        (
            Ticket,
            F.parts.discard("x"),
            UsageError,
            r"Ticket\.parts is not a set; .*or F\.field\[0\]\.remove\(\)",
        ),
        (Held, F.place.remove(), UsageError, r"index key alone.*; write F\.place\.set\(None\)$"),
        (Held, F.place.set_if_missing("x"), UsageError, r"; write F\.place\.set\(\.\.\.\)$"),
        (Placed, F.spot.remove(), UsageError, r"; write F\.spot\.set\(\.\.\.\)$"),
    ],
)
def test_what_can_never_be_is_refused_without_reading(
    entity: type[Entity], change: Change, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check_changes(mapping_of(entity), (change,))
        validate_changes(mapping_of(entity), (change,))


NEEDY: Item = {"PK": {"S": "NEEDY#l"}, "SK": {"S": "N"}, "name": {"S": "l"}}


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
    key: Item = {**NEEDY, "name_of_it": {"S": "l"}}
    item = key if stored is None else {**key, "labels": stored}
    after, _ = edited_image(mapping_of(Needy), item, (change,))
    assert after == (key if expected is None else {**key, "labels": expected})


def test_an_outcome_that_could_not_be_read_is_refused() -> None:
    item: Item = {**NEEDY, "name_of_it": {"S": "l"}, "size": {"L": [{"S": "a"}, {"S": "b"}]}}
    with pytest.raises(InvalidValue, match=r"Needy.size: its new value has 3 members, not 2"):
        edited_image(mapping_of(Needy), item, (F.size.append("c"),))


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


def test_the_stored_image_is_not_touched() -> None:
    before = repr(TICKET)
    made, names = edited_image(mapping_of(Ticket), TICKET, (F.parts.append("x"), F.status.set("y")))
    parts = {"L": [{"S": "p"}, {"S": "x"}]}
    assert made == {**TICKET, "parts": parts, "status": {"S": "y"}, "GSI1PK": {"S": "STATUS#y"}}
    assert names == {"parts", "status"}
    assert repr(TICKET) == before


@pytest.mark.parametrize("change", [F.tags.remove(), F.status.remove()])
def test_a_required_field_whose_absence_has_a_meaning_can_be_removed(change: Change) -> None:
    check_changes(mapping_of(Needy), (change,))
    with pytest.raises(InvalidValue) as refusal:
        check_changes(mapping_of(Needy), (F.name_of_it.remove(),))
    assert (refusal.value.field, refusal.value.value) == ("name_of_it", None)
    assert refusal.value.problem == "cannot be removed, because the class requires it"
    assert refusal.value.remedy == "set F.name_of_it to a value"


def test_a_list_of_an_application_s_own_encoding_can_be_appended_to() -> None:
    check_changes(mapping_of(Needy), (F.parts.append("x"),))
    with pytest.raises(UsageError):
        check_changes(mapping_of(Needy), (F.name.set("x"),))


def test_an_edit_dynamodb_could_not_make_comes_with_a_remedy() -> None:
    with pytest.raises(UsageError) as refusal:
        edited_image(mapping_of(Ticket), {**TICKET, "parts": {"S": "no list"}}, (F.parts.append("x"),))
    assert refusal.value.remedy == "set the whole field: F.parts.set(...)"


# -- values that others are computed from ------------------------------------------------------------------------------


computed = Table("edit-computed", indexes=[GlobalIndex("GSI1")])


class Person(Entity, table=computed, pk="PERSON#{slug}", sk="P"):
    name: Annotated[str, Field(max_length=5)]
    nick: Annotated[str, Field(min_length=1)] = "n"
    note: str = ""
    by_initial = Index("GSI1", pk="INITIAL#{initial}", sk="{nick}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def slug(self) -> str:
        return self.name.lower()

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def initial(self) -> str:
        if self.nick == "?":
            raise ValueError("no initial")
        return self.nick[0]


PERSON = stored(Person(name="Liz"))


def test_a_partial_update_leaves_the_key_that_is_computed_as_it_is() -> None:
    made, _ = edited_image(mapping_of(Person), PERSON, (F.name.set("LIZ"),))
    assert made == {**PERSON, "name": {"S": "LIZ"}}
    with pytest.raises(KeyChanged) as caught:
        edited_image(mapping_of(Person), PERSON, (F.name.set("Bob"),))
    assert (
        repr((caught.value.before, caught.value.after))
        == "(Key(Person, slug='liz'), Key(Person, slug='bob'))"
    )
    assert caught.value.fields == ("slug",)
    assert str(caught.value) == (
        "this update would change the primary key of Key(Person, slug='liz') to that of Key(Person, slug='bob'); "
        "load the entity, change its fields and call session.move(entity)"
    )


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ((F.nick.set(""),), InvalidValue, "Person.nick = ''"),
        ((F.nick.set("?"), F.name.set("Elizabeth")), InvalidValue, "Person.name = 'Elizabeth'"),
        ((F.nick.set("?"), F.name.set("Bob")), KeyChanged, "Person"),
        (
            (F.nick.set("?"),),
            InvalidValue,
            "Person.initial: cannot be computed (ValueError: no initial); correct the function, or the fields",
        ),
    ],
    ids=["its own rule", "the rule of another field", "another key", "no rule"],
)
def test_a_value_that_nothing_can_be_computed_from_is_refused_by_the_rule_that_it_breaks(
    changes: tuple[Change, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        edited_image(mapping_of(Person), PERSON, changes)
    assert said in str(caught.value)


def test_what_is_stored_in_a_strict_class_is_validated_as_leniently_as_it_loads() -> None:
    before: dict[str, Any] = stored(Parcel(name="a", size=Size(2, 3)))
    made, _ = edited_image(mapping_of(Parcel), before, (F.size.width.set(4),))
    assert made == {**before, "size": {"M": {"width": {"N": "4"}, "height": {"N": "3"}}}}


# -- what validation makes of an edit ----------------------------------------------------------------------------------


validated = Table("edit-validated", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
Upper = Annotated[str, AfterValidator(str.upper)]


class Part(BaseModel):
    name: Upper
    size: int = 0


class Chest(Entity, table=validated, pk="CHEST#{number}", sk="C"):
    number: int
    part: Annotated[Part | None, Attribute("content", formerly=("part",))] = None
    parts: list[Part] = Field(default_factory=list)
    by_name: dict[str, Part] = Field(default_factory=dict)
    other: Part = Part(name="A")


LEGACY: Item = {"name": {"S": "A"}, "legacy": {"N": "1"}}
SECOND: AttributeValue = {"M": {**LEGACY, "name": {"S": "Z"}}}
CHEST: Item = {
    "PK": {"S": "CHEST#1"}, "SK": {"S": "C"}, "_type": {"S": "Chest"}, "number": {"N": "1"},
    "part": {"M": LEGACY}, "parts": {"L": [{"M": LEGACY}, SECOND]},
    "by_name": {"M": {"k": {"M": LEGACY}}},
}  # fmt: skip
UNCHECKED = Part.model_construct(name="c", size=0)
C: AttributeValue = {"M": {"name": {"S": "C"}, "size": {"N": "0"}}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((F.part.name.set("b"),), {"content": {"M": {**LEGACY, "name": {"S": "B"}}}}),
        ((F.parts[0].name.set("b"),), {"parts": {"L": [{"M": {**LEGACY, "name": {"S": "B"}}}, SECOND]}}),
        ((F.parts.append(UNCHECKED),), {"parts": {"L": [*CHEST["parts"]["L"], C]}}),
        ((F.part.set(UNCHECKED),), {"content": {"M": {"name": {"S": "C"}, "legacy": {"N": "1"}}}}),
        ((F.part.set_if_missing(UNCHECKED),), {}),
        ((F.part.set(None),), {"content": None}),
        # Only the map that is set is merged: the others are what the edit gives.
        ((F.parts.set([Part(name="A")]),), {"parts": {"L": [{"M": LEGACY}]}}),
        ((F.by_name.set({"k": Part(name="A"), "l": UNCHECKED}),), {"by_name": {"M": {"k": {"M": LEGACY}, "l": C}}}),
        ((F.other.set(UNCHECKED),), {"other": C}),
    ],
)  # fmt: skip
def test_members_that_no_class_knows_survive_a_corrected_edit(
    changes: tuple[Change, ...], expected: dict[str, AttributeValue | None]
) -> None:
    made, names = edited_image(mapping_of(Chest), CHEST, changes)
    renamed = {("content" if name == "part" else name): value for name, value in CHEST.items()}
    assert made == {name: value for name, value in {**renamed, **expected}.items() if value is not None}
    assert names == {str(change.path[0]) for change in changes}


# -- values that other values decide -----------------------------------------------------------------------------------


class Article(Entity, table=validated, pk="ARTICLE#{number}", sk="A"):
    number: int
    title: Annotated[str, Unique()]
    slug: str = ""
    code: Upper = "X"
    tag: Upper | None = None
    words: Annotated[str, Field(default_factory=lambda: "none")]
    shelf: Annotated[str | None, InKey()] = None
    kind: Upper = "K"
    by_shelf = Index("GSI1", pk="SHELF#{shelf}", sk="{number:06d}")
    by_kind = Index("GSI2", pk="KIND#{kind}", sk="{number:06d}")

    @field_validator("words")
    @classmethod
    def start_with_the_title(cls, words: str, info: ValidationInfo) -> str:
        title = str(info.data.get("title"))
        return words if words.startswith(title) or words == "none" else f"{title}: {words}"

    @model_validator(mode="after")
    def follow_the_title(self) -> Self:
        # `object.__setattr__` in effect: an assignment would only mark the fields as set.
        vars(self)["slug"] = self.title.lower()
        if self.title == "Moved":
            vars(self)["shelf"] = "m"
        return self


ARTICLE: Item = {
    "PK": {"S": "ARTICLE#1"}, "SK": {"S": "A"}, "_type": {"S": "Article"}, "number": {"N": "1"},
    "title": {"S": "One"}, "slug": {"S": "one"}, "code": {"S": "X"}, "kind": {"S": "K"},
    "GSI1PK": {"S": "SHELF#a"}, "GSI1SK": {"S": "000001"}, "GSI2PK": {"S": "KIND#K"}, "GSI2SK": {"S": "000001"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("stored", "changes", "expected", "names"),
    [
        pytest.param({}, (F.title.set("Two"),), {"title": {"S": "Two"}, "slug": {"S": "two"}}, {"title", "slug"},
                     id="a field follows another one"),
        pytest.param({}, (F.tag.set("t"),), {"tag": {"S": "T"}}, {"tag"}, id="its own validator"),
        pytest.param({}, (F.title.set("Moved"),),
                     {"title": {"S": "Moved"}, "slug": {"S": "moved"}, "GSI1PK": {"S": "SHELF#m"}},
                     {"title", "slug", "shelf"}, id="a field that lives in an index key"),
        pytest.param({"code": {"S": "x"}}, (F.tag.set("t"),), {"tag": {"S": "T"}}, {"tag"},
                     id="a value that is stored in another form stays"),
        pytest.param({"code": {"S": "x"}}, (F.title.set("Two"),), {"title": {"S": "Two"}, "slug": {"S": "two"}},
                     {"title", "slug"}, id="and stays beside one that follows the edit"),
        pytest.param({"code": {"S": "x"}}, (F.code.set("y"),), {"code": {"S": "Y"}}, {"code"},
                     id="unless the edit names it"),
        pytest.param({"kind": {"S": "k"}, "GSI2PK": {"S": "KIND#k"}}, (F.tag.set("t"),),
                     {"tag": {"S": "T"}, "kind": {"S": "K"}, "GSI2PK": {"S": "KIND#K"}}, {"tag", "kind"},
                     id="or a key is made of it"),
        pytest.param({"slug": {"S": "old"}}, (F.tag.set("T"),), {"tag": {"S": "T"}}, {"tag"},
                     id="a value that another field decides stays, if it loads the same"),
        pytest.param({"slug": None}, (F.title.set("Two"),), {"title": {"S": "Two"}, "slug": {"S": "two"}},
                     {"title", "slug"}, id="an absent value that is decided now"),
        pytest.param({"code": None}, (F.tag.set("T"),), {"tag": {"S": "T"}}, {"tag"},
                     id="an absent default stays absent"),
    ],
)  # fmt: skip
def test_validation_corrects_what_the_edit_decides_and_nothing_else(
    stored: dict[str, AttributeValue | None],
    changes: tuple[Change, ...],
    expected: dict[str, AttributeValue],
    names: set[str],
) -> None:
    before = {name: value for name, value in {**ARTICLE, **stored}.items() if value is not None}
    made, named = edited_image(mapping_of(Article), before, changes)
    assert made == {**before, **expected}
    assert named == names


# -- what a stored value says ------------------------------------------------------------------------------------------


class Shelf(Entity, table=validated, pk="SHELF-OF#{number}", sk="S", versioned=True):
    number: int
    parts: list[Part] = Field(default_factory=list)
    note: str = ""


def _m(**members: AttributeValue) -> AttributeValue:
    return {"M": members}


LOW, HIGH, ODD = {"S": "a"}, {"S": "A"}, {"BOOL": True}
SHELF: Item = {
    "PK": {"S": "SHELF-OF#1"}, "SK": {"S": "v0_S"}, "_type": {"S": "Shelf"}, "_rev": {"S": "w1"},
    "number": {"N": "1"}, "note": {"S": ""}, "version": {"N": "1"}, "version_at": {"S": "2024-01-01T00:00:00.000000Z"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ({"L": [_m(name=HIGH)]}, None),
        ({"L": [_m(name=HIGH, size={"N": "0.0"}, odd=ODD)]}, None),
        ({"L": []}, None),
        ({"L": [_m(name=LOW)]}, {"L": [_m(name=HIGH)]}),
        ({"L": [_m(name=LOW, odd=ODD)]}, {"L": [_m(name=HIGH, odd=ODD)]}),
        ({"L": [_m(name=HIGH, odd=ODD), _m(name=LOW)]}, {"L": [_m(name=HIGH, odd=ODD), _m(name=HIGH)]}),
    ],
)
def test_a_version_says_what_loads_and_only_what_says_something_else_is_corrected(
    stored: AttributeValue, expected: AttributeValue | None
) -> None:
    shelf: Item = {**SHELF, "parts": stored}
    made, names = edited_image(mapping_of(Shelf), shelf, (F.note.set("n"),))
    assert made == {**shelf, "note": {"S": "n"}, "parts": expected or stored}
    assert names == ({"note"} if expected is None else {"note", "parts"})
    entity = mapping_of(Shelf).loader.hydrate(shelf)
    entity.note = "n"
    saved = plan_of(Save(entity)).actions[0].after
    assert saved is not None
    assert saved["parts"] == (expected or stored)


class Sized(Entity, table=validated, pk="SIZED#{number}", sk="S"):
    number: int
    name: str
    low: Annotated[int, Field(ge=0)] = 0
    high: int = 0

    @model_validator(mode="after")
    def ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


SIZED: Item = {
    "PK": {"S": "SIZED#1"},
    "SK": {"S": "S"},
    "number": {"N": "1"},
    "name": {"S": "n"},
    "high": {"N": "5"},
}


@pytest.mark.parametrize(
    "spoiled",
    [
        {name: value for name, value in SIZED.items() if name != "name"},
        {**SIZED, "low": {"N": "-1"}},
        {**SIZED, "low": {"N": "9"}},
    ],
)
def test_what_was_wrong_before_an_edit_is_an_error_of_the_stored_item(spoiled: Item) -> None:
    mapping = mapping_of(Sized)
    with pytest.raises(DecodeError, match="PK='SIZED#1'"):
        edited_image(mapping, spoiled, (F.high.set(7),))


@pytest.mark.parametrize(("change", "made"), [(F.low.set(2), ("2", "5")), (F.high.set(9), ("8", "9"))])
def test_an_edit_may_mend_what_was_wrong_before(change: Change, made: tuple[str, str]) -> None:
    found, _ = edited_image(mapping_of(Sized), {**SIZED, "low": {"N": "8"}}, (change,))
    assert (found["low"]["N"], found["high"]["N"]) == made

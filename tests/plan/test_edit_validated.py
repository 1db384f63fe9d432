"""What validation makes of a partial update: the values that it corrects, and what it leaves as it is stored."""

from collections.abc import Callable
from typing import Annotated, Self

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.item.update import Change, SetIfMissing, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.edit import edited_image
from dynaorm.plan.given_values import valid_changes
from dynaorm.plan.intent import Save
from tests.plan.compiling import plan_of

app = Table("edit-validated", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
Upper = Annotated[str, AfterValidator(str.upper)]


class Part(BaseModel):
    name: Upper
    size: int = 0


class Box(Entity, table=app, pk="BOX#{number}", sk="B"):
    number: int
    part: Part | None = None
    parts: list[Part] = Field(default_factory=list)
    by_name: dict[str, Part] = Field(default_factory=dict)
    note: Annotated[str, Attribute("remark", formerly=("comment",))] = ""


LEGACY: Item = {"name": {"S": "A"}, "legacy": {"N": "1"}}
BOX: Item = {
    "PK": {"S": "BOX#1"},
    "SK": {"S": "B"},
    "_type": {"S": "Box"},
    "number": {"N": "1"},
    "part": {"M": LEGACY},
    "parts": {"L": [{"M": LEGACY}, {"M": {**LEGACY, "name": {"S": "Z"}}}]},
    "by_name": {"M": {"k": {"M": LEGACY}}},
    "comment": {"S": "as written by an older version"},
}


def after(box: Item, **changed: AttributeValue) -> dict[str, AttributeValue]:
    """The item under its present attribute names, with these changes."""
    renamed = {("remark" if name == "comment" else name): value for name, value in box.items()}
    return {**renamed, **changed}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.part.name.set("b"), {"part": {"M": {**LEGACY, "name": {"S": "B"}}}}),
        (F.parts[0].name.set("b"), {"parts": {"L": [{"M": {**LEGACY, "name": {"S": "B"}}}, BOX["parts"]["L"][1]]}}),
        (F.by_name["k"].name.set("b"), {"by_name": {"M": {"k": {"M": {**LEGACY, "name": {"S": "B"}}}}}}),
        (
            F.parts.append(Part.model_construct(name="c", size=0)),
            {"parts": {"L": [*BOX["parts"]["L"], {"M": {"name": {"S": "C"}, "size": {"N": "0"}}}]}},
        ),
        (
            F.part.set(Part.model_construct(name="c", size=0)),
            {"part": {"M": {"name": {"S": "C"}, "legacy": {"N": "1"}}}},
        ),
        (
            F.parts[1].set(Part.model_construct(name="c", size=2)),
            {
                "parts": {
                    "L": [BOX["parts"]["L"][0], {"M": {**LEGACY, "name": {"S": "C"}, "size": {"N": "2"}}}]
                }
            },
        ),
        (F.note.set("n"), {"remark": {"S": "n"}}),
    ],
)  # fmt: skip
def test_members_that_no_class_knows_survive_a_corrected_edit(
    change: Change, expected: dict[str, AttributeValue]
) -> None:
    made, names = edited_image(mapping_of(Box), BOX, (change,))
    assert made == after(BOX, **expected)
    assert names == {str(change.path[0])}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Only the map that is set is merged: the others are what the edit gives.
        ((F.part.set(Part(name="C")), F.parts.set([Part(name="A")])),
         {"part": {"M": {**LEGACY, "name": {"S": "C"}}}, "parts": {"L": [{"M": LEGACY}]}}),
        ((F.part.set(None), F.note.set("n")), {"part": None, "remark": {"S": "n"}}),
        ((F.part.set_if_missing(Part(name="C")),), {}),
        ((F.by_name.set({"k": Part(name="A"), "l": Part(name="B")}),),
         {"by_name": {"M": {"k": {"M": LEGACY}, "l": {"M": {"name": {"S": "B"}, "size": {"N": "0"}}}}}}),
    ],
)  # fmt: skip
def test_a_nested_value_that_is_set_keeps_what_no_class_knows(
    changes: tuple[Change, ...], expected: dict[str, AttributeValue | None]
) -> None:
    made, _ = edited_image(mapping_of(Box), BOX, changes)
    wanted = {**after(BOX), **expected}
    assert made == {name: value for name, value in wanted.items() if value is not None}


def test_a_nested_value_that_is_set_is_merged_with_the_one_under_a_former_name() -> None:
    class Crate(Entity, table=app, pk="CRATE#{number}", sk="C"):
        number: int
        part: Annotated[Part | None, Attribute("content", formerly=("part",))] = None

    crate: Item = {**after({}, PK={"S": "CRATE#1"}, SK={"S": "C"}, _type={"S": "Crate"}, number={"N": "1"})}
    made, _ = edited_image(
        mapping_of(Crate), {**crate, "part": {"M": LEGACY}}, (F.part.set(Part(name="B", size=0)),)
    )
    assert made == {**crate, "content": {"M": {**LEGACY, "name": {"S": "B"}}}}


def test_a_nested_value_that_is_set_where_only_its_default_was_is_stored_whole() -> None:
    class Chest(Entity, table=app, pk="CHEST#{number}", sk="C"):
        number: int
        part: Part = Part(name="A")

    chest: Item = {"PK": {"S": "CHEST#1"}, "SK": {"S": "C"}, "_type": {"S": "Chest"}, "number": {"N": "1"}}
    made, _ = edited_image(mapping_of(Chest), chest, (F.part.set(Part(name="B")),))
    assert made == {**chest, "part": {"M": {"name": {"S": "B"}, "size": {"N": "0"}}}}


def test_an_edit_may_repair_an_item_that_does_not_load() -> None:
    class Rated(Entity, table=app, pk="RATED#{number}", sk="R"):
        number: int
        part: Part = Part(name="A")
        stars: Annotated[int, Field(le=5)] = 0
        title: str = ""

        @model_validator(mode="after")
        def shorten(self) -> Self:
            return self if len(self.title) < 5 else self.model_copy(update={"title": self.title[:4]})

    broken: Item = {
        "PK": {"S": "RATED#1"}, "SK": {"S": "R"}, "_type": {"S": "Rated"}, "number": {"N": "1"},
        "part": {"M": {**LEGACY, "size": {"S": "not a number"}}}, "stars": {"N": "1"}, "title": {"S": "T"},
    }  # fmt: skip
    made, _ = edited_image(mapping_of(Rated), broken, (F.part.set(Part(name="B")),))
    assert made == {**broken, "part": {"M": {"name": {"S": "B"}, "size": {"N": "0"}}}}


# -- values that other values decide -----------------------------------------------------------------------------------


class Article(Entity, table=app, pk="ARTICLE#{number}", sk="A"):
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


def test_a_validator_may_look_at_the_fields_that_the_edit_sets_beside_it() -> None:
    made, names = edited_image(mapping_of(Article), ARTICLE, (F.words.set("w"), F.title.set("Two")))
    assert made["words"] == {"S": "Two: w"}
    assert names == {"words", "title", "slug"}


def test_a_field_that_lives_in_the_primary_key_stays_whatever_validation_makes_of_it() -> None:
    class Named(Entity, table=app, pk="NAMED#{name}", sk="N"):
        name: Annotated[Upper, InKey()]
        note: str = ""

    stored: Item = {"PK": {"S": "NAMED#low"}, "SK": {"S": "N"}, "_type": {"S": "Named"}, "note": {"S": ""}}
    made, names = edited_image(mapping_of(Named), stored, (F.note.set("n"),))
    assert made == {**stored, "note": {"S": "n"}}
    assert names == {"note"}


def test_what_was_loaded_and_stays_may_break_a_rule_that_spares_it() -> None:
    def short(text: str, info: ValidationInfo) -> str:
        if info.context is None and len(text) > 3:
            raise ValueError("too long")
        return text

    class Lenient(Entity, table=app, pk="LENIENT#{name}", sk="L"):
        name: str
        text: Annotated[str, AfterValidator(short)] = ""
        note: str = ""

    stored: Item = {
        "PK": {"S": "LENIENT#a"}, "SK": {"S": "L"}, "_type": {"S": "Lenient"}, "name": {"S": "a"},
        "text": {"S": "from before"}, "note": {"S": ""},
    }  # fmt: skip
    made, _ = edited_image(mapping_of(Lenient), stored, (F.note.set("n"),))
    assert made == {**stored, "note": {"S": "n"}}
    with pytest.raises(InvalidValue, match="too long"):
        edited_image(mapping_of(Lenient), stored, (F.text.set("another"),))


@pytest.mark.parametrize("kind", [SetTo, SetIfMissing])
def test_a_value_is_replaced_by_what_its_own_validators_make_of_it(kind: Callable[..., Change]) -> None:
    wrong, right = kind(("code",), "low"), kind(("code",), "UP")
    assert valid_changes(mapping_of(Article), (wrong, right)) == (kind(("code",), "LOW"), right)


# -- what a stored value says ------------------------------------------------------------------------------------------


class Shelf(Entity, table=app, pk="SHELF-OF#{number}", sk="S", versioned=True):
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
    entity = mapping_of(Shelf).hydrate(shelf)
    entity.note = "n"
    saved = plan_of(Save(entity)).actions[0].after
    assert saved is not None
    assert saved["parts"] == (expected or stored)


class Sized(Entity, table=app, pk="SIZED#{number}", sk="S"):
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

"""A renewal stores an entity as it loads, and leaves everything else as it is stored."""

from datetime import datetime
from math import isfinite, nan
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr, model_validator

from dynaorm import Aggregate, Attribute, Entity, GlobalIndex, Index, InKey, Table, Unique, codecs
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError
from dynaorm.plan.compiler import Renewal, renewal_actions, renewal_of
from dynaorm.plan.guards import GuardPurpose
from dynaorm.plan.intent import NOTHING_READ, UnitOfWork
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.totals import TotalPurpose
from dynaorm.plan.versions import VersionPurpose
from tests.plan.compiling import NOW

app = Table("renewed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
Lower = Annotated[str, AfterValidator(str.lower)]


class Place(BaseModel):
    city: Lower
    floor: int = 0
    was: Annotated[str | None, Attribute("was", formerly=("before",))] = None


class Team(Entity, table=app, pk="TEAM#{team}", sk="TEAM"):
    team: str
    hours: int = 0


class Person(Entity, table=app, pk="PERSON#{name}", sk="P"):
    name: str
    email: Annotated[Lower, Unique()] = "none"
    born: Annotated[datetime | None, Attribute(codec=codecs.ANY_ISO)] = None
    home: Place | None = None
    homes: list[Place] = Field([])
    tags: set[Lower] = Field(set())
    either: Place | str = "x"
    code: SecretStr | None = None
    team: Lower | None = None
    hours: Annotated[int, AfterValidator(abs)] = 0
    renamed: Annotated[Lower | None, Attribute("now", formerly=("then",))] = None
    shelf: Annotated[Lower | None, InKey()] = None
    made: list[str] = Field(default_factory=lambda: ["made"])
    by_team = Index("GSI1", pk="AT#{team}", sk="{name}")
    by_shelf = Index("GSI2", pk="SHELF#{shelf}", sk="{name}")
    in_team = Aggregate(Team, sum={"hours": "hours"}, key={"team": "team"})


class Paper(Entity, table=app, pk="PAPER#{number}", sk="P", versioned=True):
    number: str
    text: Lower
    place: Place | None = None


class Growing(Entity, table=app, pk="GROWING#{name}", sk="G"):
    name: str
    text: Annotated[str, AfterValidator(lambda text: f"{text}!")] = ""


def doubled(text: str) -> str:
    """What it makes of a value is no value for it."""
    if len(text) > 1:
        raise ValueError("too long")
    return text * 2


class Doubling(Entity, table=app, pk="DOUBLING#{name}", sk="D"):
    name: str
    text: Annotated[str, AfterValidator(doubled)] = ""


class Filled(Entity, table=app, pk="FILLED#{name}", sk="F"):
    """What its validators make of values and of absent, unfit and unstorable defaults."""

    name: str
    text: Annotated[str | None, AfterValidator(lambda text: None if text == "-" else text)] = None
    size: Annotated[float, AfterValidator(lambda size: size if isfinite(size) else 0.0)] = Field(
        nan, validate_default=True
    )
    kind: Annotated[str, BeforeValidator(lambda kind: kind or "new"), Field(validate_default=True)] = None  # type: ignore[assignment]  # the validator replaces it
    slug: str | None = None
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{name}")
    by_slug = Index("GSI2", pk="SLUG#{slug}", sk="{name}")

    @model_validator(mode="after")
    def derive(self) -> "Filled":
        vars(self)["slug"] = self.name.lower()
        return self


def person(**attributes: Any) -> dict[str, Any]:
    key = {"PK": {"S": "PERSON#p"}, "SK": {"S": "P"}, "_type": {"S": "Person"}, "_rev": {"S": "w1"}}
    return {**key, "name": {"S": "p"}, **attributes}


def renewed(item: dict[str, Any], entity: type[Entity] = Person) -> dict[str, Any]:
    """What a renewal changes in an item; None for what it removes."""
    image = renewal_of(mapping_of(entity), item).image
    names = [*image, *(name for name in item if name not in image)]
    return {name: image.get(name) for name in names if item.get(name) != image.get(name)}


AS_IT_LOADS: list[Any] = [
    {},
    {"email": {"S": "a@x"}},
    {"born": {"S": "2024-01-01T00:00:00+00:00"}},
    {"home": {"M": {"city": {"S": "rome"}, "zip": {"N": "1.50"}}}},
    {"home": {"M": {"city": {"S": "rome"}, "before": {"S": "x"}}}},
    {"home": {"M": {"city": {"S": "rome"}, "was": {"NULL": True}}}},
    {
        "homes": {
            "L": [
                {"M": {"city": {"S": "rome"}, "floor": {"N": "1.0"}}},
                {"M": {"city": {"S": "oslo"}, "a": {"S": "b"}}},
            ]
        }
    },
    {"either": {"M": {"city": {"S": "rome"}}}},
    {"code": {"S": "secret"}},
    {"then": {"S": "x"}},
    {"unknown": {"SS": ["x"]}},
    {"hours": {"N": "5.0"}},
]


@pytest.mark.parametrize("attributes", AS_IT_LOADS, ids=str)
def test_other_spellings_absent_defaults_and_unknown_members_stay(attributes: dict[str, Any]) -> None:
    assert renewed(person(**attributes)) == {}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"email": {"S": "A@x"}}, {"email": {"S": "a@x"}}),
        (
            {"home": {"M": {"city": {"S": "ROME"}, "zip": {"N": "1.50"}, "floor": {"N": "2.0"}}}},
            {"home": {"M": {"city": {"S": "rome"}, "zip": {"N": "1.50"}, "floor": {"N": "2.0"}}}},
        ),
        (
            {"homes": {"L": [{"M": {"city": {"S": "oslo"}, "a": {"S": "b"}}}, {"M": {"city": {"S": "BERN"}}}]}},
            {"homes": {"L": [{"M": {"city": {"S": "oslo"}, "a": {"S": "b"}}}, {"M": {"city": {"S": "bern"}}}]}},
        ),
        (
            {"either": {"M": {"city": {"S": "R"}, "a": {"S": "b"}}}},
            {"either": {"M": {"city": {"S": "r"}, "a": {"S": "b"}}}},
        ),
        ({"tags": {"SS": ["A", "a"]}}, {"tags": {"SS": ["a"]}}),
        ({"team": {"S": "RED"}}, {"team": {"S": "red"}, "GSI1PK": {"S": "AT#red"}, "GSI1SK": {"S": "p"}}),
        ({"then": {"S": "X"}}, {"now": {"S": "x"}, "then": None}),
        ({"GSI2PK": {"S": "SHELF#A"}, "GSI2SK": {"S": "p"}}, {"GSI2PK": {"S": "SHELF#a"}}),
    ],
    ids=str,
)  # fmt: skip
def test_what_validators_change_is_stored_with_its_index_keys(
    attributes: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert renewed(person(**attributes)) == expected


def test_an_item_that_is_stored_as_it_loads_is_its_own_renewal() -> None:
    item = person()
    assert renewal_of(mapping_of(Person), item) == Renewal(mapping_of(Person), item, item, {})


def of_class(kind: type[Entity], **attributes: Any) -> dict[str, Any]:
    name = kind.__name__
    key = {"PK": {"S": f"{name.upper()}#n"}, "SK": {"S": name[0]}, "_type": {"S": name}}
    return {**key, "name": {"S": "n"}, **attributes}


@pytest.mark.parametrize(("kind", "made"), [(Growing, "a!"), (Doubling, "aa")])
def test_values_that_change_each_time_are_not_renewed(kind: type[Entity], made: str) -> None:
    renewal = renewal_of(mapping_of(kind), of_class(kind, text={"S": "a"}))
    assert (renewal.changes, renewal.is_stable) == ({"text": {"S": made}}, False)
    assert renewal.image is renewal.item


def test_what_validators_make_of_absent_unfit_and_unstorable_values_is_stored_and_nothing_is_removed() -> (
    None
):
    kind = {"kind": {"S": "new"}, "GSI1PK": {"S": "KIND#new"}, "GSI1SK": {"S": "n"}}
    slug = {"slug": {"S": "n"}, "GSI2PK": {"S": "SLUG#n"}, "GSI2SK": {"S": "n"}}
    size = {"size": {"N": "0"}}
    assert renewed(of_class(Filled, text={"S": "-"}), Filled) == {**kind, **slug, **size, "text": None}


def test_an_item_that_does_not_load_has_no_renewal() -> None:
    with pytest.raises(DecodeError, match="hours"):
        renewal_of(mapping_of(Person), person(hours={"S": "x"}))


def test_guards_and_totals_follow_in_the_same_transaction() -> None:
    item = person(email={"S": "A@x"}, team={"S": "RED"}, hours={"N": "-2"})
    actions = renewal_actions(renewal_of(mapping_of(Person), item), NOTHING_READ, UnitOfWork(NOW, "w2", str))
    assert [(one.purpose, one.item_key["PK"]["S"]) for one in actions] == [
        (ItemPurpose.UPDATE, "PERSON#p"),
        (GuardPurpose.RELEASE, "email#A@x"),
        (GuardPurpose.CLAIM, "email#a@x"),
        (TotalPurpose.ADD, "TEAM#RED"),
        (TotalPurpose.ADD, "TEAM#red"),
    ]


def test_a_renewal_is_a_new_version_and_changes_no_old_one() -> None:
    key = {"PK": {"S": "PAPER#1"}, "SK": {"S": "v0_P"}, "_type": {"S": "Paper"}, "number": {"S": "1"}}
    version = {"version": {"N": "4"}, "version_at": {"S": "2024-01-01T00:00:00.000000Z"}}
    item: dict[str, Any] = {
        **key,
        **version,
        "text": {"S": "T"},
        "place": {"M": {"city": {"S": "ROME"}, "a": {"S": "b"}}},
    }
    actions = renewal_actions(renewal_of(mapping_of(Paper), item), NOTHING_READ, UnitOfWork(NOW, "w2", str))
    assert [(one.purpose, one.label) for one in actions] == [
        (ItemPurpose.UPDATE, None),
        (VersionPurpose.KEEP, 5),
    ]
    assert actions[1].after is not None
    assert actions[1].after["place"] == {"M": {"city": {"S": "rome"}, "a": {"S": "b"}}}


def test_what_stands_for_nothing_stays_where_nothing_loads() -> None:
    assert renewed(person(team={"NULL": True}, now={"NULL": True})) == {}

"""Values that look like keys, types that look like others, values that are too large, many versions."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, F, Key, Session, Table, Unique
from dynaorm.errors import (
    AlreadyExists,
    DeclarationError,
    InvalidValue,
    ItemTooLarge,
    PlanTooLarge,
    StaleEntity,
    UnexpectedRefusal,
    UniqueViolation,
)
from dynaorm.flow.protocol.call import Call, Reply

if TYPE_CHECKING:
    from tests.faults.conftest import Store

app = Table("App")


class Member(Entity, table=app, pk="MEMBER#{club}#{name}", sk="M", unique={"seat": ("hall", "place")}):
    club: str
    name: str
    email: Annotated[str | None, Unique()] = None
    hall: str | None = None
    place: str | None = None


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str


class Size(Enum):
    ONE = 1


typed = Table("Typed")


class Typed(Entity, table=typed, pk="TYPED#{typed_id}", sk="T"):
    typed_id: str
    text: Annotated[str | None, Unique()] = None
    whole: Annotated[int | None, Unique()] = None
    exact: Annotated[Decimal | None, Unique()] = None
    flag: Annotated[bool | None, Unique()] = None
    size: Annotated[Size | None, Unique()] = None
    ident: Annotated[UUID | None, Unique()] = None
    day: Annotated[date | None, Unique()] = None


@pytest.fixture
def store(store: "Store") -> "Store":
    store.create(app)
    return store


class _NoStore:
    def call(self, call: Call, /) -> Reply:
        raise AssertionError(f"{call.operation} was sent")


offline = Session(transport=_NoStore())


def written(entity: Any) -> list[tuple[str, str]]:
    """The primary keys that a save would write, without sending anything."""
    found = []
    for action in offline.plan(entity).to_request().get("TransactItems", []):
        ((_, body),) = action.items()
        key = body.get("Item") or body["Key"]
        found.append((key["PK"]["S"], key["SK"]["S"]))
    return found


# -- delimiters --------------------------------------------------------------------------------------------------------

NASTY = st.text(alphabet="a#%/_v0M2", min_size=0, max_size=6)
MEMBERS = st.builds(Member, club=NASTY, name=NASTY, email=NASTY, hall=NASTY, place=NASTY)


@given(one=MEMBERS, other=MEMBERS)
def test_two_entities_share_an_item_only_where_they_share_the_value_behind_it(
    one: Member, other: Member
) -> None:
    mine, theirs = written(one), written(other)
    assert len(set(mine)) == 3
    values: list[Callable[[Member], object]] = [
        lambda member: (member.club, member.name),
        lambda member: (member.email,),
        lambda member: (member.hall, member.place),
    ]
    for key, value in zip(sorted(mine, key=_kind), values, strict=True):
        assert (key in theirs) == (value(one) == value(other))


def _kind(key: tuple[str, str]) -> int:
    return ["MEMBER", "email", "seat"].index(key[0].partition("#")[0])


def test_parts_of_a_composite_value_do_not_run_into_each_other(store: "Store") -> None:
    session = store.line().session
    session.save(Member(club="c", name="1", hall="a#", place="b"))
    session.save(Member(club="c", name="2", hall="a", place="#b"))
    session.save(Member(club="c", name="3", hall="a%23", place="b"))
    with pytest.raises(UniqueViolation) as caught:
        session.save(Member(club="c", name="4", hall="a#", place="b"))
    assert caught.value.owner == Key(Member, club="c", name="1")
    assert caught.value.value == ("a#", "b")


def test_a_key_that_could_be_a_guard_is_refused_when_its_class_is_declared() -> None:
    table = Table("Clash", sk=None)
    with pytest.raises(DeclarationError, match="email"):

        class Mail(Entity, table=table, pk="email#{address}"):
            address: str
            email: Annotated[str, Unique()]


def test_two_classes_share_a_constraint_only_if_both_say_so() -> None:
    table = Table("Sharing")

    class Person(Entity, table=table, pk="PERSON#{person_id}", sk="P"):
        person_id: str
        email: Annotated[str, Unique()]

    with pytest.raises(DeclarationError, match="shared"):

        class Firm(Entity, table=table, pk="FIRM#{firm_id}", sk="F"):
            firm_id: str
            email: Annotated[str, Unique()]


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("text", "1", "text#1"), ("text", "", "text#"), ("whole", 1, "whole#1"), ("whole", 0, "whole#0"),
        ("exact", Decimal("1.0"), "exact#1"), ("exact", Decimal("1E+2"), "exact#100"),
        ("exact", Decimal("-0"), "exact#0"), ("flag", False, "flag#false"), ("size", Size.ONE, "size#1"),
        ("ident", UUID(int=1), "ident#00000000-0000-0000-0000-000000000001"),
        ("day", date(2024, 2, 29), "day#2024-02-29"),
    ],
)  # fmt: skip
def test_a_value_of_each_type_has_one_text_and_only_none_claims_nothing(
    moto_store: "Store", field: str, value: object, text: str
) -> None:
    moto_store.create(typed)
    session = moto_store.line().session
    session.save(Typed(typed_id="none"))
    session.save(Typed.model_validate({"typed_id": "1", field: value}))
    session.save(Typed(typed_id="another none"))
    assert moto_store.keys(typed)[-1] == f"{text} {text}"
    assert len(moto_store.items(typed)) == 4
    found = session.get_by(Typed, **{field: value})
    assert found is not None
    assert found.typed_id == "1"


def test_a_value_of_another_type_is_refused_and_not_taken_for_its_text() -> None:
    entity = Typed(typed_id="1")
    entity.text = 1  # type: ignore[assignment]  # it is what is refused
    with pytest.raises(InvalidValue) as caught:
        offline.save(entity)
    assert caught.value.field == "text"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [("whole", True, "whole#1"), ("whole", "1", "whole#1"), ("exact", 1.5, "exact#1.5")],
)
def test_a_value_that_the_constructor_converts_claims_the_text_of_the_converted_value(
    moto_store: "Store", field: str, value: object, text: str
) -> None:
    moto_store.create(typed)
    entity = Typed(typed_id="1")
    setattr(entity, field, value)
    session = moto_store.line().session
    session.save(entity)
    assert moto_store.keys(typed)[-1] == f"{text} {text}"
    assert entity == session.get_one(Typed, typed_id="1")
    assert type(getattr(entity, field)) is type(
        getattr(Typed.model_validate({"typed_id": "1", field: value}), field)
    )


@given(
    number=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9)
)
def test_equal_numbers_are_one_value_however_they_are_written(number: Decimal) -> None:
    as_written = Decimal(f"{number:E}")
    assert written(Typed(typed_id="1", exact=number)) == written(Typed(typed_id="1", exact=as_written))


# -- size --------------------------------------------------------------------------------------------------------------


def test_a_value_too_long_for_a_key_is_unique_all_the_same(store: "Store") -> None:
    session = store.line().session
    long = "é" * 600
    session.save(Member(club="c", name="1", email=long))
    session.save(Member(club="c", name="2", email=long + "e"))
    guard = next(item for item in store.items(app) if item["PK"]["S"].startswith("email#sha256:"))
    assert len(guard["PK"]["S"]) == len("email#sha256:") + 64
    with pytest.raises(UniqueViolation) as caught:
        session.save(Member(club="c", name="3", email=long))
    assert (caught.value.value, caught.value.owner) == (long, Key(Member, club="c", name="1"))
    found = session.get_by(Member, email=long)
    assert found is not None
    assert found.name == "1"


def test_a_value_that_looks_like_a_digest_is_not_mistaken_for_one(moto_store: "Store") -> None:
    moto_store.create(app)
    session = moto_store.line().session
    long = "x" * 2000
    session.save(Member(club="c", name="1", email=long))
    guard = next(item["PK"]["S"] for item in moto_store.items(app) if "owner" in item)
    session.save(Member(club="c", name="2", email=guard.removeprefix("email#")))
    assert len(moto_store.items(app)) == 4


@pytest.mark.parametrize("length", [2048, 5000])
def test_a_key_too_long_is_refused_before_anything_is_sent(length: int) -> None:
    with pytest.raises(InvalidValue, match="2048"):
        offline.save(Member(club="c", name="é" * (length // 2)))


def test_an_item_over_400_kb_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ItemTooLarge) as caught:
        offline.save(Page(name="big", text="é" * 204_800))
    assert caught.value.bytes > 409_600


def test_a_transaction_over_4_mb_is_refused_before_anything_is_sent(moto_store: "Store") -> None:
    session, wire = moto_store.line()

    def block() -> None:
        with session.transaction() as tx:
            for number in range(6):
                tx.save(Page(name=str(number), text="x" * 390_000))

    with pytest.raises(PlanTooLarge, match="4 MB") as caught:
        block()
    assert caught.value.bytes > 4 * 1024 * 1024
    assert wire.calls == []


def test_an_update_that_makes_an_item_too_large_is_refused_by_dynamodb_and_told(
    ministack_store: "Store",
) -> None:
    """Only DynamoDB knows the size of the item that an update by key adds to, unless it reads the item first."""

    class Note(Entity, table=Table("Notes"), pk="NOTE#{name}", sk="N"):
        name: str
        text: str = ""
        more: str = ""

    ministack_store.create(Table("Notes"))
    session = ministack_store.line().session
    session.save(Note(name="a", text="x" * 300_000))
    with pytest.raises(UnexpectedRefusal) as caught:
        session.update(Key(Note, name="a"), F.more.set("x" * 200_000))
    with pytest.raises(ItemTooLarge):
        session.update(Key(Note, name="a"), F.more.set("x" * 200_000), exactly_once=True)
    assert caught.value.code == "ValidationException"
    assert "Note" in caught.value.action
    assert session.get_one(Note, name="a").more == ""


# -- versions ----------------------------------------------------------------------------------------------------------


def test_the_latest_copy_and_its_version_are_written_in_one_request(store: "Store") -> None:
    session, wire = store.line()
    page = session.save(Page(name="home", text="one"))
    page.text = "two"
    session.save(page)
    assert [len(call.request["TransactItems"]) for call in wire.calls] == [2, 2]
    latest, first, second = store.items(app)
    assert [item["SK"]["S"] for item in (latest, first, second)] == ["v0_TEXT", "v1_TEXT", "v2_TEXT"]
    bookkeeping = {"SK", "_type"}
    assert {name: value for name, value in latest.items() if name not in bookkeeping} == {
        name: value for name, value in second.items() if name not in bookkeeping
    }
    assert (first["text"], second["text"]) == ({"S": "one"}, {"S": "two"})


def test_of_two_writers_of_the_next_version_only_one_writes_it(store: "Store") -> None:
    session = store.line().session
    session.save(Page(name="home", text="one"))

    def overtake() -> None:
        other = store.line().session
        theirs = other.get_one(Page, name="home")
        theirs.text = "theirs"
        other.save(theirs)

    overtaken, _ = store.line(store.meanwhile(overtake, "TransactWriteItems"))
    page = overtaken.get_one(Page, name="home")
    page.text = "mine"
    with pytest.raises(StaleEntity):
        overtaken.save(page)
    versions = [*session.history(Key(Page, name="home"))]
    assert [(version.number, version.values["text"]) for version in versions] == [(2, "theirs"), (1, "one")]


def test_versions_keep_their_numeric_order_past_nine_and_ninety_nine(moto_store: "Store") -> None:
    moto_store.create(app)
    session = moto_store.line().session
    page = session.save(Page(name="home", text="1"))
    for number in range(2, 103):
        page.text = str(number)
        session.save(page)
    told = [(version.number, version.values["text"]) for version in session.history(page)]
    assert told == [(number, str(number)) for number in range(102, 0, -1)]
    at_100 = session.get(Key(Page, name="home"), version=100)
    assert at_100 is not None
    assert at_100.text == "100"
    assert session.get_one(Page, name="home").text == "102"


def test_a_creation_that_was_overtaken_writes_no_version(store: "Store") -> None:
    def first() -> None:
        store.line().session.save(Page(name="home", text="first"))

    session, _ = store.line(store.meanwhile(first, "TransactWriteItems"))
    with pytest.raises(AlreadyExists):
        session.save(Page(name="home", text="second"))
    assert store.keys(app) == ["PAGE#home v0_TEXT", "PAGE#home v1_TEXT"]


def test_a_recreation_never_uses_a_number_again(store: "Store") -> None:
    session = store.line().session
    page = session.save(Page(name="home", text="one"))
    session.delete(page)
    session.save(Page(name="home", text="two"))
    session.delete(Key(Page, name="home"))
    session.save(Page(name="home", text="three"))
    versions = [
        (version.number, version.values["text"]) for version in session.history(Key(Page, name="home"))
    ]
    assert versions == [(3, "three"), (2, "two"), (1, "one")]

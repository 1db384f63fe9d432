"""Entities from before a declaration are completed: constraints, indexes, versions and totals are added to them."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from dynaorm import Aggregate, Entity, Index, Key, NumberRevision, Session, Table, Unique, inspect, tools
from dynaorm.errors import OwnerUnknown
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.integrity.run import RunOptions, backfill
from dynaorm.integrity.serialize import as_json
from dynaorm.tools import RepairResult
from dynaorm.transport import Call, Refusal, Transport
from tests.integrity import zoo
from tests.integrity.shop import (
    Note,
    OldNote,
    OldUser,
    Page,
    Team,
    User,
    before,
    now,
    store,
    untyped,
    untyped_before,
)
from tests.integrity.zoo import Raw, key_of, text
from tests.memory import MEMORY


def drop(raw: Raw) -> None:
    raw.client.delete_table(TableName=raw.name("shop"))


def outcomes(session: Session, *named: Any, **options: Any) -> list[tuple[str, str, Outcome]]:
    return sorted(
        (one.finding.kind.value, one.finding.item_key["PK"]["S"], one.outcome)
        for one in backfill(session, *named, options=RunOptions(**options))
    )


def test_everything_that_is_declared_is_added_and_what_two_hold_is_reported(raw: Raw) -> None:
    session = raw.session
    store(session)
    found = outcomes(session, now)
    taken = [one for one in found if one[0] == "duplicate value"]
    assert taken == [("duplicate value", "nick#bob", Outcome.NEEDS_DECISION)]
    assert [one for one in found if one not in taken] == [
        ("incomplete", "PAGE#1", Outcome.REPAIRED),
        ("incomplete", "PAGE#2", Outcome.REPAIRED),
        ("incomplete", "USER#1", Outcome.REPAIRED),
        ("incomplete", "USER#2", Outcome.REPAIRED),
        ("incomplete", "USER#3", Outcome.REPAIRED),
        ("total", "TEAM#a", Outcome.REPAIRED),
    ]

    team, user = session.get_one(Team, team="a"), session.get_by(User, email="ann@x")
    assert (team.members, team.hours) == (2, Decimal("3.5"))
    assert user is not None
    assert [one.user_id for one in session.query(User.by_team, team="a")] == ["1", "2"]
    page = session.get_by(Page, slug="slug1")
    assert page is not None
    assert [(one.number, one.entity) for one in session.history(page)] == [(1, page)]
    page.text = "new"
    session.save(page)
    assert [one.number for one in session.history(page)] == [2, 1]

    (finding,) = tools.verify(session, now)
    owner = session.get_by(User, nick="bob")
    assert owner is not None
    other = {"2": "3", "3": "2"}[owner.user_id]
    assert str(finding).endswith(
        "nick#bob: 2 live entities hold it; change it in all of them but one "
        f"(PK=USER#{owner.user_id} SK=PROFILE and PK=USER#{other} SK=PROFILE)"
    )
    stored = raw.items(now)
    assert outcomes(session, now) == taken
    assert raw.items(now) == stored
    drop(raw)


def test_items_without_type_and_revision_become_versioned(moto: Raw) -> None:
    session = moto.session
    session.create_table(untyped_before)
    session.save(OldNote(number="1", text="a"))
    assert outcomes(session, untyped) == [("incomplete", "NOTE#1", Outcome.REPAIRED)]
    (latest, first) = moto.items(untyped)["shop"]
    assert {**latest, "SK": first["SK"]} == first
    assert session.get_one(Note, number="1").text == "a"
    assert list(tools.verify(session, untyped)) == []
    drop(moto)


def test_an_entity_that_was_inserted_anew_under_its_present_key_is_reported(moto: Raw) -> None:
    store(moto.session)
    moto.session.save(Page(number="1", slug="other"))
    stored = moto.get(now, key_of("PAGE#1", "TEXT"))
    assert outcomes(moto.session, Page) == [
        ("duplicate value", "PAGE#1", Outcome.NEEDS_DECISION),
        ("incomplete", "PAGE#2", Outcome.REPAIRED),
    ]
    assert moto.get(now, key_of("PAGE#1", "TEXT")) == stored
    drop(moto)


values = st.sampled_from(["ann", "Ann", "bob", "é", None])


@settings(max_examples=8)
@given(users=st.lists(st.tuples(values, values), min_size=1, max_size=5))
def test_a_dry_run_shows_what_will_be_done_and_which_values_two_hold(
    moto_line: tuple[Transport, Any], users: list[tuple[str | None, str | None]]
) -> None:
    with MEMORY.empty():
        raw = Raw(moto_line[1], str, moto_line[0])
        raw.create(before)
        for number, (email, nick) in enumerate(users):
            raw.session.save(OldUser(user_id=str(number), email=email or str(number), nick=nick))
        expected = told(tools.backfill(raw.session, now, dry_run=True))
        assert told(backfill(raw.session, now, options=RunOptions(dry_run=True))) == expected
        results = list(tools.backfill(raw.session, now))
        still_wrong = {
            key for finding in tools.verify(raw.session, now) for key in finding.owners or (finding.key,)
        }
        drop(raw)
    assert told(results) == expected
    # Nobody who still lacks something is said to be right, and no result comes twice.
    assert {Outcome.RESOLVED} & {one.outcome for one in results} == set()
    assert still_wrong == {key for one in results if one.is_left for key in one.finding.owners}
    assert len({(one.finding.identity, one.finding.owners) for one in results}) == len(results)


def told(ended: Iterable[RepairResult]) -> tuple[Counter[str], set[Key[Any]]]:
    """How often each value is told of that two hold, and every entity that is told of.

    Which of two entities gets their value, and lacks nothing else then, is left open.
    """
    results = list(ended)
    assert all(
        (one.outcome is Outcome.NEEDS_DECISION) is (one.finding.kind is FindingKind.DUPLICATE)
        for one in results
    )
    duplicates = (one.finding.item_key["PK"]["S"] for one in results if one.is_left)
    return Counter(duplicates), {key for one in results for key in one.finding.owners or (one.finding.key,)}


def test_a_writer_that_comes_between_wins(moto: Raw) -> None:
    """The entity is saved after it was read: what it holds then is completed."""
    store(moto.session)

    def write() -> None:
        moto.session.update(Key(User, user_id="1"), {"email": "eve@x", "team": "b"})

    outcomes(moto.session_before("TransactWriteItems", write, naming="USER#1"), User)
    found = moto.session.get_by(User, email="eve@x")
    assert found is not None
    assert [one.user_id for one in moto.session.query(User.by_team, team="b")] == ["1"]
    assert moto.session.get_by(User, email="ann@x") is None
    drop(moto)


crews = Table("crews")


class Group(Entity, table=crews, pk="GROUP#{name}", sk="GROUP"):
    name: str
    members: int = 0


class Crew(Group):
    hands: int = 0


class Member(Entity, table=crews, pk="MEMBER#{number}", sk="MEMBER"):
    number: int
    name: str
    in_group = Aggregate(Group, count="members")


class Sailor(Entity, table=crews, pk="SAILOR#{number}", sk="SAILOR"):
    number: int
    name: str
    in_crew = Aggregate(Crew, count="hands")


@pytest.mark.parametrize("sailors", [0, 2])
def test_a_missing_target_is_made_of_the_class_that_has_all_of_its_totals(moto: Raw, sailors: int) -> None:
    moto.create(crews)
    for kind, count in (("Member", 3), ("Sailor", sailors)):
        for number in range(count):
            key = key_of(f"{kind.upper()}#{number}", kind.upper())
            moto.put(crews, key, _type=text(kind), number={"N": str(number)}, name=text("a"))
    assert [one.outcome for one in tools.backfill(moto.session, crews)] == [Outcome.REPAIRED]
    made = moto.session.get_one(Group, name="a")
    assert made == (Crew(name="a", members=3, hands=2) if sailors else Group(name="a", members=3))
    assert list(tools.verify(moto.session, crews)) == []
    moto.client.delete_table(TableName="crews")


def test_a_secret_in_the_key_of_who_holds_a_value_is_not_told() -> None:
    earlier, later = (Table("patients") for _ in range(2))

    class Unprotected(Entity, table=earlier, pk="{number}", sk="P", name="Patient"):
        number: SecretStr
        email: str

    class Patient(Entity, table=later, pk="{number}", sk="P"):
        number: SecretStr
        email: Annotated[str, Unique()]

    with Session(endpoint="memory:") as session:
        session.create_table(earlier)
        for number in ("hush1", "hush2"):
            session.save(Unprotected(number=SecretStr(number), email="a@x"))
        found = [one.finding for one in tools.backfill(session, Patient)]
    assert FindingKind.DUPLICATE in {one.kind for one in found}
    assert [text for one in found for text in (str(one), as_json(one)) if "hush" in text] == []


def test_a_duplicate_that_is_left_names_first_the_entity_that_has_the_guard_item() -> None:
    earlier, later = Table("pairs"), Table("pairs")

    class Loose(Entity, table=earlier, pk="PAIR#{number}", sk="PAIR", name="Pair"):
        number: int
        code: str

    class Pair(Entity, table=later, pk="PAIR#{number}", sk="PAIR"):
        number: int
        code: Annotated[str, Unique()]

    with Session(endpoint="memory:") as session:
        session.create_table(earlier)
        session.save_many([Loose(number=1, code="x"), Loose(number=2, code="x")])
        (left,) = (one.finding for one in tools.backfill(session, Pair) if one.is_left)
        kept = session.get_by(Pair, code="x")
        assert kept is not None
        told = f"PK=PAIR#{kept.number} SK=PAIR has the guard item; change the value in the other one"
        assert told in str(left)
        assert [one.primary_key["PK"]["S"] for one in left.owners] == [
            f"PAIR#{kept.number}",
            f"PAIR#{3 - kept.number}",
        ]
        session.update(Key(Pair, number=3 - kept.number), {"code": "y"})
        assert list(tools.verify(session, Pair)) == []


def test_guard_items_without_an_owner_get_the_one_entity_that_holds_their_value(moto: Raw) -> None:
    session = moto.session
    guards = [key_of(f"email#{name}@x") for name in ("ann", "bob", "cyd", "dan", "nobody")]
    moto.fill()
    for guard in guards:
        moto.put(zoo.app, guard)
    moto.put(zoo.app, {**guards[1], "note": text("written by hand")})
    twin = session.get_one(zoo.Member, group_id="red", name="cyd")
    moto.change(zoo.app, key_of("GROUP#blue", "MEMBER#dan"), email=text(twin.email))
    with pytest.raises(OwnerUnknown):
        session.get_by(zoo.Member, email="ann@x")
    found = [
        (one.finding.kind.value, one.outcome, one.finding.uncertain_because)
        for one in backfill(session, zoo.Member)
    ]
    assert Counter(found) == {
        ("incomplete", Outcome.REPAIRED, ""): 2,
        (
            "incomplete",
            Outcome.SKIPPED,
            "a guard item has no 'note'; delete the item yourself if nothing needs it",
        ): 1,
        # Two entities hold one value. One of them came first.
        ("duplicate value", Outcome.NEEDS_DECISION, ""): 1,
    }
    assert session.get_by(zoo.Member, email="ann@x") == session.get_one(
        zoo.Member, group_id="red", name="ann"
    )
    stored = {item["PK"]["S"]: item for item in moto.items(zoo.app)[zoo.app.name]}
    assert stored["email#ann@x"] == {**guards[0], "owner": {"M": key_of("GROUP#red", "MEMBER#ann")}}
    assert stored["email#bob@x"] == {**guards[1], "note": text("written by hand")}
    # Nobody holds these values. Somebody may have reserved them.
    assert stored["email#dan@x"] == guards[3]
    assert stored["email#nobody@x"] == guards[4]


numbered = Table("numbered", revision_attribute=NumberRevision("changes"))
numbered_before = Table("numbered", revision_attribute=NumberRevision("changes"))


class OldSeat(Entity, table=numbered_before, pk="SEAT#{number}", sk="SEAT", name="Seat"):
    number: int
    row: str


class Row(Entity, table=numbered, pk="ROW#{row}", sk="ROW"):
    row: str
    seats: int = 0


class Seat(Entity, table=numbered, pk="SEAT#{number}", sk="SEAT"):
    number: int
    row: str
    in_row = Aggregate(Row, count="seats")


def test_a_missing_target_is_made_where_the_revision_is_a_number(moto: Raw) -> None:
    moto.create(numbered)
    moto.session.save_many([OldSeat(number=number, row="a") for number in (1, 2)])
    assert [one.outcome for one in tools.backfill(moto.session, numbered)] == [Outcome.REPAIRED]
    row = moto.session.get_one(Row, row="a")
    assert (row.seats, inspect(row).revision) == (2, "1")
    assert list(tools.verify(moto.session, numbered)) == []
    moto.client.delete_table(TableName="numbered")


def test_why_a_total_cannot_be_corrected_is_told(moto: Raw) -> None:
    """DynamoDB refuses the request itself: that does not say that the total has changed."""

    class Refusing:
        def call(self, call: Call, /) -> Any:
            if call.operation in ("UpdateItem", "TransactWriteItems"):
                raise Refusal("ValidationException", "the table is no good")
            return moto.transport.call(call)

    moto.create(numbered)
    moto.session.save(OldSeat(number=1, row="a"))
    (left,) = tools.backfill(Session(transport=Refusing()), numbered)
    assert (left.outcome, left.finding.kind) == (Outcome.SKIPPED, FindingKind.TOTAL)
    assert "the table is no good" in left.reason
    moto.client.delete_table(TableName="numbered")


class OldText(Entity, table=before, pk="TEXT#{number}", sk="TEXT", versioned=True, name="Text"):
    number: int
    text: str = ""


class Text(Entity, table=now, pk="TEXT#{number}", sk="TEXT", versioned=True):
    number: int
    text: str = ""
    by_text = Index("GSI1", pk="T#{text}", sk="{number:03d}")


def test_index_keys_that_an_old_writer_copied_into_a_version_are_taken_away(moto: Raw) -> None:
    session = moto.session
    moto.create(now)
    session.save(Text(number=1, text="a"))
    # The old class does not know that these attributes are index keys.
    found = session.get_one(OldText, number=1)
    found.text = "b"
    session.save(found)
    versions = {one["SK"]["S"]: one for one in moto.items(now)["shop"]}
    kept = {name: value for name, value in versions["v2_TEXT"].items() if not name.startswith("GSI1")}
    assert {one.finding.kind: one.outcome for one in tools.repair(session, now)} == {
        FindingKind.INDEX_KEYS: Outcome.REPAIRED,
        FindingKind.EXTRA_ATTRIBUTES: Outcome.REPAIRED,
    }
    assert moto.get(now, key_of("TEXT#1", "v2_TEXT")) == kept
    assert moto.get(now, key_of("TEXT#1", "v1_TEXT")) == versions["v1_TEXT"]
    assert list(tools.verify(session, now)) == []
    drop(moto)

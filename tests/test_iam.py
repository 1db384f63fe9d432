"""The policy of some classes allows every request that sessions make for them, and nothing that none makes."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    Session,
    Table,
    Unique,
    tools,
)
from dynaorm.embedded.engine import Engine
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.flow.call import Call
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.table_definition import definition
from dynaorm.iam import iam_policy
from dynaorm.integrity.run import RunOptions, backfill, repair, table_locations, verify
from dynaorm.testing import FakeClock, FaultyTransport, lost_answer
from dynaorm.transport import Transport
from tests.iam_requests import WHERE, Allowed, allowed, asked

plain = Table(
    "plain", indexes=[GlobalIndex("GSI1", projection="KEYS_ONLY"), GlobalIndex("GSI2"), LocalIndex("LSI1")]
)
keys = Table("keys", sk=None)
guarded, totals, kept = Table("guarded", guard_table=keys), Table("totals"), Table("kept")
teams = Table("teams")


class Note(Entity, table=plain, pk="NOTE#{topic}", sk="N#{number:03d}"):
    topic: str
    number: int
    owner: str = "me"
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_owner = Index("GSI1", pk="OWNER#{owner}", sk="{topic}")
    by_local = Index("LSI1", sk="{owner}")


class User(Entity, table=guarded, pk="USER#{name}", sk="U"):
    name: str
    email: Annotated[str | None, Unique()] = None


class Page(Entity, table=kept, pk="PAGE#{slug}", sk="P", versioned=True):
    slug: str
    text: str = ""


class Group(Entity, table=totals, pk="GROUP#{group}", sk="G"):
    group: str
    members: int = 0


class Member(Entity, table=kept, pk="MEMBER#{name}", sk="M"):
    name: str
    group: str
    in_group = Aggregate(Group, count="members")


def leading(body: Any) -> str | None:
    key = body.get("Item") or body.get("Key")
    if key is not None:
        return str(key["PK"]["S"])
    return str(body["ExpressionAttributeValues"][":v0"]["S"]) if "KeyConditionExpression" in body else None


def written(session: Session) -> None:
    """Every method that writes, with every class."""
    until = datetime(2100, 1, 1, tzinfo=UTC)
    note = session.save(Note(topic="t", number=1, until=until))
    note.owner = "you"
    session.save(note)
    session.save(Note(topic="t", number=1), overwrite=True)
    session.update(Key(Note, topic="t", number=1), F.owner.set("me"), exactly_once=True)
    session.upsert(Key(Note, topic="t", number=2), F.owner.set("me"), exactly_once=True)
    session.bulk_load([Note(topic="t", number=2), Note(topic="u", number=3)])
    session.delete(Key(Note, topic="t", number=2))
    user = session.save(User(name="u", email="a@x"))
    user.email = "b@x"
    session.save(user)
    session.save_many([User(name="v", email="c@x")])
    user.name = "w"
    session.move(user)
    session.delete_many([Key(User, name="v")])
    page = session.save(Page(slug="p"))
    for text in "abc":
        session.update(page, {"text": text})
    tools.prune(session, page, keep=2)
    session.restore(Key(Page, slug="p"), version=3)
    session.delete(Key(Page, slug="p"))
    tools.purge(session, Key(Page, slug="p"))
    session.save(Group(group="h"))
    member = session.save(Member(name="m", group="g"))
    with session.transaction() as tx:
        tx.check(Key(Group, group="h"), F.members == 0)
        tx.check(user)
        tx.check(Key(Note, topic="t", number=1))
        tx.delete(member)
    session.save(Group(group="h"), overwrite=True)
    session.delete(Key(Group, group="h"))
    with session.transaction() as tx:
        tx.save(Member(name="n", group="g"))
        tx.save(Page(slug="q"))
    with session.transaction() as tx:
        tx.check(Key(Page, slug="q"))
        tx.check(Key(Member, name="n"))
        tx.save(Note(topic="x", number=9))


def refused(session: Session) -> None:
    """A block that is refused before anything is written: its token item is read."""
    with suppress(EntityNotFound), session.transaction(token="refused") as tx:
        tx.update(Key(User, name="nobody"), {"email": "d@x"})


def overwritten(session: Session) -> None:
    """A block that reads several items of each table together."""
    with session.transaction() as tx:
        for number in "12":
            # With a condition, the item is read first.
            tx.save(Note(topic="t", number=int(number)), condition=~(F.topic == "z"), overwrite=True)
            tx.save(User(name=f"o{number}", email=f"o{number}@x"), overwrite=True)
            tx.save(Group(group=f"o{number}"), overwrite=True)


def remembered(session: Session) -> None:
    for one in (Note(topic="k", number=1), User(name="k"), Page(slug="k"), Group(group="k")):
        for _ in range(2):
            with session.transaction(token=type(one).__name__) as tx:
                tx.save(type(one)(**one.model_dump()))


def all_written(session: Session) -> None:
    written(session)
    overwritten(session)
    refused(session)
    remembered(session)


def read(session: Session) -> None:
    """Every method that reads, with every class."""
    for key in (
        Key(Note, topic="t", number=1),
        Key(User, name="w"),
        Key(Page, slug="q"),
        Key(Group, group="g"),
    ):
        session.get(key)
        session.exists(key)
        session.get_many([key])
        session.snapshot([key])
    session.get_many([Key(Member, name="n")])
    session.refresh(session.get_one(Member, name="n"))
    session.get_by(User, email="b@x")
    session.query(Note, topic="t").all()
    session.query(Note.by_owner, owner="me").all()
    session.query(Note.by_local, topic="t").all()
    session.query(User, name="u").all()
    session.collection(Page, slug="q").all()
    session.query(Member, name="n").page(1)
    session.query(Group, group="g").all()
    session.get(Key(Page, slug="q"), version=1)
    assert len(list(session.history(Key(Page, slug="q")))) == 1


def scanned(session: Session) -> None:
    for one in (Note, Note.by_owner, Note.by_local, User, Page, Member, Group):
        source: Any = one
        session.scan(source).all()


ENTITIES = (Note, User, Page, Group, Member)


class Team(Entity, table=teams, pk="TEAM#{team}", sk="T"):
    team: str
    badges: int = 0


class Badge(Entity, table=teams, pk="TEAM#{team}", sk="B#{number}"):
    """Stored in the item collection of its team, so that one Query counts all of them."""

    team: str
    number: str
    in_team = Aggregate(Team, count="badges")


def damaged(session: Session, transport: Transport) -> None:
    """Something for every repair and every completion to do."""

    def change(operation: str, table: str, **request: Any) -> None:
        transport.call(Call(operation, {"TableName": table, **request}))

    def key(partition: str, sort: str) -> dict[str, Any]:
        return {"PK": {"S": partition}, "SK": {"S": sort}}

    def put(table: str, partition: str, sort: str, **attributes: Any) -> None:
        change("PutItem", table, Item={**key(partition, sort), **attributes})

    until = datetime(2100, 1, 1, tzinfo=UTC)
    note = session.save(Note(topic="d", number=1, until=until))
    assert note.number == 1
    put(
        "plain", "NOTE#e", "N#001", _type={"S": "Note"}, topic={"S": "e"}, number={"N": "1"}, owner={"S": "o"}
    )
    session.save(User(name="d", email="d@x"))
    change("DeleteItem", "keys", Key={"PK": {"S": "email#d@x"}})
    owner = {"M": {"table": {"S": "guarded"}, **key("USER#gone", "U")}}
    change("PutItem", "keys", Item={"PK": {"S": "email#gone@x"}, "owner": owner})
    put("kept", "PAGE#old", "P", _type={"S": "Page"}, slug={"S": "old"}, text={"S": "t"})
    put("kept", "PAGE#bare", "v0_P", _type={"S": "Page"}, slug={"S": "bare"}, text={"S": "t"})
    session.save(Page(slug="d"))
    change("DeleteItem", "kept", Key=key("PAGE#d", "v1_P"))
    session.save(Member(name="d", group="d"))
    session.create_table(teams)
    session.save(Badge(team="d", number="1"))
    change("PutItem", "teams", Item={**key("TEAM#d", "T"), "_type": {"S": "Team"}, "team": {"S": "d"}})
    # Unreadable items, to be read again.
    put("totals", "GROUP#e", "G", _type={"S": "Group"}, group={"N": "1"})
    put("teams", "TEAM#e", "T", _type={"S": "Team"}, team={"N": "1"})
    count = {"UpdateExpression": "SET members = :n", "ExpressionAttributeValues": {":n": {"N": "7"}}}
    change("UpdateItem", "totals", Key=key("GROUP#d", "G"), **count)


def verified(session: Session) -> None:
    for one in (*ENTITIES, Team, Badge):
        assert list(verify(session, one, options=RunOptions(progress=lambda *_: None))) is not None


def repaired(session: Session) -> None:
    for one in (*ENTITIES, Team, Badge):
        options = RunOptions(progress=lambda *_: None)
        table_locations(session, one, writes=True)
        for work in (backfill, repair):
            left = [each for each in work(session, one, options=options) if each.is_left]
            assert {each.finding.kind for each in left} <= {FindingKind.UNREADABLE}, str(left)


def applied(session: Session, wire: FaultyTransport) -> list[Call]:
    """What ``apply`` sends for tables that do not exist, and for those that lack what can be added."""
    calls: list[Call] = []
    for exist in (False, True):
        for table in dict.fromkeys(
            one for each in (plain, guarded, totals, kept) for one in (each, each.guards)
        ):
            if exist:
                session.delete_table(table, name=table.name)
                lacking = definition(table, table.name)
                for one in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes", "StreamSpecification"):
                    lacking.pop(one, None)
                used = [one["AttributeName"] for one in lacking["KeySchema"]]
                types = lacking["AttributeDefinitions"]
                lacking["AttributeDefinitions"] = [one for one in types if one["AttributeName"] in used]
                wire.call(Call("CreateTable", lacking))
        wire.calls.clear()
        for table in (plain, guarded, totals, kept):
            tools.plan_apply(session, table)
            tools.apply(session, table, backfill=False)
        calls += wire.calls
    return calls


@pytest.fixture(scope="module")
def sent(credentials: None) -> dict[str, list[Call]]:
    """What sessions send, by purpose."""
    found: dict[str, list[Call]] = {}
    engine = Engine()
    wire = FaultyTransport(engine)
    session = Session(transport=wire, clock=FakeClock())

    def created(session: Session) -> None:
        for table in (plain, guarded, totals, kept):
            session.create_table(table)

    def done(work: Callable[[Session], object]) -> list[Call]:
        wire.calls.clear()
        work(session)
        return list(wire.calls)

    def compared(session: Session) -> None:
        for table in (plain, guarded, totals, kept):
            tools.compare_table(session, table)

    def deleted(session: Session) -> None:
        for table in (plain, guarded, totals, kept):
            guards = table.guard_table.name if table.guard_table is not None else None
            session.delete_table(table, name=table.name, guard_table=guards)

    made = done(created)
    found["write"], found["read"] = done(all_written), done(read)
    found["tools"] = done(scanned)
    damaged(session, engine)
    found["tools"] += done(verified)
    wire.inject(lost_answer(times=100, operation="UpdateItem"))
    found["tools"] += done(repaired)
    wire.inject()
    found["tools"] += done(compared)
    found["table"] = [*made, *done(compared), *done(deleted), *applied(session, wire)]
    return found


@pytest.mark.parametrize("purpose", ["read", "write"])
def test_a_policy_of_a_service_allows_exactly_what_is_sent(sent: dict[str, list[Call]], purpose: Any) -> None:
    assert allowed(iam_policy(*ENTITIES, **WHERE, actions=purpose)) == needed(sent[purpose])


def test_a_policy_of_an_operator_allows_what_is_sent(sent: dict[str, list[Call]]) -> None:
    every = {*ENTITIES, Team, Badge}
    tools, table = (allowed(iam_policy(*every, **WHERE, actions=purpose)) for purpose in ("tools", "table"))
    assert needed(sent["tools"]) <= tools
    assert needed(sent["table"]) <= table
    assert {action for action, _ in tools} == {action for action, _ in needed(sent["tools"])} | {
        "BatchWriteItem", "DescribeStream", "GetRecords", "GetShardIterator",
    }  # fmt: skip
    assert {action for action, _ in table} == {action for action, _ in needed(sent["table"])}


def needed(calls: Iterable[Call]) -> Allowed:
    return {(action, resource) for call in calls for action, resource, _ in asked(call)}


def test_several_purposes_are_one_policy(sent: dict[str, list[Call]]) -> None:
    every = allowed(iam_policy(*ENTITIES, **WHERE, actions=list(sent)))  # type: ignore[arg-type]  # the names of purposes
    assert every == {pair for one in sent for pair in allowed(iam_policy(*ENTITIES, **WHERE, actions=one))}  # type: ignore[arg-type]  # the names of purposes
    assert allowed(iam_policy(Note, **WHERE)) == allowed(iam_policy(Note, **WHERE, actions=["write", "read"]))


def test_leading_keys_match_every_key_that_is_sent_and_no_others(sent: dict[str, list[Call]]) -> None:
    policy = iam_policy(*ENTITIES, **WHERE, leading_keys=True)
    patterns: dict[tuple[str, str], list[str]] = {}
    for statement in policy["Statement"]:
        condition = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        for action, place in allowed({"Statement": [statement]}):
            patterns.setdefault((action, place), []).extend(condition)
    for call in (*sent["read"], *sent["write"]):
        for action, place, body in asked(call):
            key = leading(body)
            assert key is not None
            assert any(matches(one, key) for one in patterns[action, place]), (action, place, key)
    assert not any(matches(one, "OTHER#1") for found in patterns.values() for one in found)
    assert set(patterns["GetItem", "keys"]) == {"#token#*", "email#*"}
    assert set(patterns["Query", "plain/index/GSI1"]) == {"OWNER#*"}
    assert set(patterns["UpdateItem", "totals"]) == {"#token#*", "GROUP#*"}


def matches(pattern: str, key: str) -> bool:
    """Whether a StringLike pattern matches, as IAM reads it."""
    parts = re.findall(r"\$\{([*?$])\}|([*?])|(.)", pattern)
    text = "".join(
        ".*" if wild == "*" else "." if wild else re.escape(said or one) for said, wild, one in parts
    )
    return re.fullmatch(text, key) is not None


def test_literal_stars_are_themselves_in_a_pattern() -> None:
    class Star(Entity, table=Table("stars", sk=None), pk="*$?#{name}"):
        name: str

    class One(Entity, table=Table("ones", sk=None), pk="CONFIG"):
        value: str

    policy = iam_policy(Star, One, **WHERE, actions="read", leading_keys=True)
    found = [
        one["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] for one in policy["Statement"]
    ]
    assert found == [["${*}${$}${?}#*"], ["CONFIG"]]
    assert matches(found[0][0], "*$?#x")
    assert not matches(found[0][0], "a$?#x")


def test_a_key_that_begins_with_a_value_cannot_be_a_leading_key() -> None:
    class Bare(Entity, table=Table("bare", sk=None), pk="{name}"):
        name: str

    assert '"Condition"' not in json.dumps(iam_policy(Bare, **WHERE))
    with pytest.raises(UsageError, match=r"keys of Bare \('{name}'\) begin with a value.*leave leading_keys"):
        iam_policy(Bare, **WHERE, leading_keys=True)
    # A scan names no key, so nothing can be promised of it, and nothing is.
    assert '"Condition"' not in json.dumps(iam_policy(Note, **WHERE, actions="tools", leading_keys=True))


def test_subclasses_are_part_of_a_class_and_its_base_is_not() -> None:
    table = Table("families", indexes=[GlobalIndex("GSI1")])

    class Animal(Entity, table=table, pk="ANIMAL#{name}", sk="A"):
        name: str

    class Dog(Animal):
        chip: Annotated[str | None, Unique()] = None
        by_chip = Index("GSI1", pk="CHIP#{chip}", sk="{name}")

    assert ("Query", "families/index/GSI1") in allowed(iam_policy(Animal, **WHERE, actions="read"))
    assert ("BatchWriteItem", "families") not in allowed(iam_policy(Dog, **WHERE, actions="write"))
    assert ("BatchWriteItem", "families") in allowed(iam_policy(Animal, **WHERE, actions="write"))


def test_names_of_tables_and_of_the_partition_are_the_physical_ones() -> None:
    mapped = iam_policy(
        Note, **WHERE, actions="table", table_names={"plain": "prod-plain"}, partition="aws-cn"
    )
    assert mapped["Statement"][0]["Resource"] == [
        "arn:aws-cn:dynamodb:eu-west-1:123456789012:table/prod-plain"
    ]
    other = "arn:aws:dynamodb:us-east-1:1:table/theirs"
    called = iam_policy(Note, **WHERE, actions="table", table_names=lambda _: other)
    assert called["Statement"][0]["Resource"][0] == other
    assert mapped["Version"] == "2012-10-17"


@pytest.mark.parametrize(
    ("entities", "actions", "message"),
    [
        ((), "read", "name entity classes"),
        (
            (Note,),
            "reed",
            "'reed' is not a purpose; give some of 'read', 'write', 'tools', 'table'",
        ),
        ((Note,), [], "names no purpose"),
        ((Entity,), "read", "not mapped"),
        ((Table("songs"),), "read", r"Table\('songs'\) is not an entity class; use one"),
    ],
)
def test_what_cannot_be_a_policy_is_refused(entities: Any, actions: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        iam_policy(*entities, **WHERE, actions=actions)


@pytest.mark.parametrize("partition", ["{team}", "{award}"])
def test_what_counts_in_a_derived_class_is_queried_only_where_its_key_says_the_partition(
    partition: str,
) -> None:
    table, counted, also = Table("derived-targets"), Table("counted"), Table("counted-also")

    class Base(Entity, table=table, pk="BASE#{team}", sk="B"):
        team: str
        people: int = 0

    class Derived(Base):
        awards: int = 0

    class Person(Entity, table=counted, pk="PERSON#{team}", sk="{person}"):
        team: str
        person: str
        in_team = Aggregate(Base, key={"team": "team"}, count="people")

    class Award(Entity, table=also, pk=f"AWARD#{partition}", sk="{team}#{award}"):
        team: str
        award: str
        in_team = Aggregate(Derived, key={"team": "team"}, count="awards")

    def queried(*entities: Any) -> set[str]:
        statements = iam_policy(*entities, account="1", region="eu", actions="tools")["Statement"]
        found = [one["Resource"] for one in statements if "dynamodb:Query" in one["Action"]]
        return {name.partition("table/")[2] for names in found for name in names}

    assert queried(Derived) == ({"counted", "counted-also"} if partition == "{team}" else set())
    # The entities that it names may be of the derived class.
    assert queried(Person) == {"counted", *({"counted-also"} if partition == "{team}" else set())}
    assert queried(Award) == queried(Derived)

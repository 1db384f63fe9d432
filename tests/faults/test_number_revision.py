"""A number that pynamodb's ``VersionAttribute`` keeps, too: both libraries write one table and lose no write."""

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pynamodb.attributes import NumberAttribute, UnicodeAttribute, VersionAttribute
from pynamodb.exceptions import PutError
from pynamodb.models import Model

from dynaorm import Aggregate, Entity, F, Key, NumberRevision, Retry, Session, Table, Unique, inspect, tools
from dynaorm.errors import DecodeError, OutcomeUnknown, StaleEntity, UsageError
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.testing import lost_answer
from dynaorm.testing.ministack import transport_to
from tests.faults.store import Store
from tests.raw_tables import REGION

documents = Table(
    "documents",
    pk="id",
    sk=None,
    type_attribute=None,
    revision_attribute=NumberRevision("version"),
)


class Document(Entity, table=documents):
    id: str
    text: str = ""
    reads: int = 0


app = Table("numbered", revision_attribute=NumberRevision("rev"))


class Team(Entity, table=app, pk="TEAM#{name}", sk="TEAM"):
    name: str
    members: int = 0


class User(Entity, table=app, pk="USER#{name}", sk="USER"):
    name: str
    email: Annotated[str | None, Unique()] = None
    team: str | None = None
    in_team = Aggregate(Team, count="members", key={"name": "team"})


class Page(Entity, table=app, pk="PAGE#{name}", sk="PAGE", versioned=True):
    name: str
    text: str = ""


def model_of(table: str, endpoint: str | None = None) -> Any:
    """The same table as a pynamodb model."""

    class PynamoDocument(Model):
        class Meta:
            table_name = table
            region = REGION
            host = endpoint

        id = UnicodeAttribute(hash_key=True)
        text = UnicodeAttribute(null=True)
        reads = NumberAttribute(default=0)
        version = VersionAttribute()

    return PynamoDocument


@pytest.fixture
def store(moto: Store) -> Store:
    return moto


@pytest.fixture
def session(store: Store) -> Session:
    return store.line().session


@pytest.fixture
def model(store: Store) -> Any:
    return model_of(store.name(documents.name))


def stored(store: Store) -> dict[str, Any]:
    (item,) = store.items(documents)
    return item


# -- in turns ----------------------------------------------------------------------------------------------------------


def test_text_where_the_number_should_be_is_refused(store: Store, session: Session) -> None:
    store.put(documents, id={"S": "a"}, version={"S": "mine"})
    ours = session.get_one(Document, id="a")
    ours.text = "2"
    with pytest.raises(DecodeError, match=r"version: is stored as S 'mine'.*a whole number"):
        session.save(ours)
    with pytest.raises(DecodeError):
        session.update(Key(Document, id="a"), F.text.set("2"))
    assert stored(store) == {"id": {"S": "a"}, "version": {"S": "mine"}}


def test_a_fraction_as_revision_is_refused_by_writes_that_read(store: Store, session: Session) -> None:
    """No condition of DynamoDB tells a whole number from a fraction."""
    store.put(documents, id={"S": "a"}, version={"N": "1.5"})
    ours = session.get_one(Document, id="a")
    ours.text = "2"
    for write in (
        lambda: session.save(ours),
        lambda: session.update(ours, {"text": "2"}),
        lambda: session.delete(ours),
        lambda: session.update(Key(Document, id="a"), F.text.set("2"), exactly_once=True),
    ):
        with pytest.raises(DecodeError, match=r"version: is stored as N '1.5'.*a whole number"):
            write()
    assert stored(store) == {"id": {"S": "a"}, "version": {"N": "1.5"}}
    session.update(Key(Document, id="a"), F.text.set("2"))
    assert stored(store)["version"] == {"N": "2.5"}


# -- every road of writing ---------------------------------------------------------------------------------------------


def test_every_item_of_a_block_has_a_number_of_its_own(store: Store, session: Session) -> None:
    liz, old = session.save(User(name="liz", email="l@x", team="t")), session.save(Page(name="p"))
    with session.transaction() as tx:
        liz.email, old.text = "m@x", "new"
        tx.save(liz)
        tx.save(old)
        tx.save(User(name="bob", team="t"))
    numbers = {
        f"{item['PK']['S']} {item['SK']['S']}": item["rev"]["N"] for item in store.items(app) if "rev" in item
    }
    assert numbers == {
        "USER#liz USER": "2",
        "USER#bob USER": "1",
        "TEAM#t TEAM": "2",
        "PAGE#p v0_PAGE": "2",
        "PAGE#p v1_PAGE": "1",
        "PAGE#p v2_PAGE": "2",
    }


def test_a_repair_raises_the_number(store: Store, session: Session) -> None:
    session.save(Team(name="t"))
    session.save(User(name="liz", email="l@x", team="t"))
    team = store.items(app)[0]
    store.put(app, **{**team, "members": {"N": "7"}})
    assert [one.outcome for one in tools.repair(session, app)] == [Outcome.REPAIRED]
    assert store.items(app)[0] == {**team, "rev": {"N": "3"}}
    assert list(tools.verify(session, app)) == []


def test_bulk_load_is_refused_because_it_would_begin_anew(session: Session) -> None:
    with pytest.raises(UsageError, match="'version', by which other writers see that an item changed"):
        session.bulk_load([Document(id="a")])


def test_a_lost_answer_is_not_recognised_by_a_number(store: Store) -> None:
    """Somebody else may have written the same number."""
    store.line().session.save(Document(id="a"))
    session, _ = store.line(lost_answer(operation="UpdateItem"))
    ours = session.get_one(Document, id="a")
    ours.text = "2"
    with pytest.raises(OutcomeUnknown):
        session.save(ours)
    session, _ = store.line(lost_answer(operation="UpdateItem"))
    with pytest.raises(OutcomeUnknown):
        session.update(Key(Document, id="a"), F.reads.add(1))
    assert (stored(store)["reads"], stored(store)["version"]) == ({"N": "1"}, {"N": "3"})


def test_a_lost_answer_is_survived_exactly_once(store: Store) -> None:
    store.line().session.save(Document(id="a"))
    session, _ = store.line(
        lost_answer(operation="TransactWriteItems"), lost_answer(2, operation="TransactWriteItems")
    )
    ours = session.get_one(Document, id="a")
    ours.text = "2"
    session.save(ours, exactly_once=True)
    assert inspect(ours).revision == "2"
    assert session.update(Key(Document, id="a"), F.reads.add(1), exactly_once=True).reads == 1
    assert stored(store)["version"] == {"N": "3"}


# -- at the same time --------------------------------------------------------------------------------------------------

ROUNDS = 12


def count_with_dynaorm(session: Session) -> None:
    for _ in range(ROUNDS):
        while True:
            ours = session.get_one(Key(Document, id="a"), consistent=True)
            ours.reads += 1
            try:
                session.save(ours)
            except StaleEntity:
                continue
            break


def count_by_key(session: Session) -> None:
    for _ in range(ROUNDS):
        session.update(Key(Document, id="a"), F.reads.add(1))


def count_with_pynamodb(model: Any) -> None:
    for _ in range(ROUNDS):
        while True:
            theirs = model.get("a", consistent_read=True)
            theirs.reads += 1
            try:
                theirs.save()
            except PutError:
                continue
            break


def test_two_libraries_that_race_lose_no_write(ministack: Store, ministack_endpoint: str) -> None:
    table = ministack.name(documents.name)
    model = model_of(table, ministack_endpoint)
    names = {documents.name: table}
    with (
        Session(
            transport=transport_to(ministack_endpoint), table_names=names, retry=Retry(attempts=50)
        ) as session,
        ThreadPoolExecutor(5) as threads,
    ):
        session.save(Document(id="a"))
        works = [
            *(threads.submit(count_with_pynamodb, model) for _ in range(2)),
            *(threads.submit(count_with_dynaorm, session) for _ in range(2)),
            threads.submit(count_by_key, session),
        ]
        for work in works:
            work.result(timeout=60)
    item = stored(ministack)
    assert (item["reads"], item["version"]) == ({"N": str(5 * ROUNDS)}, {"N": str(5 * ROUNDS + 1)})

"""Two sessions that get in each other's way, step by step: one wins, the other is told, nothing is half done."""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from dynaorm import Entity, ExpiresAt, F, Key, Retry, Table, Unique, detached, inspect
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    EntityNotFound,
    KeyChanged,
    PlanTooLarge,
    StaleEntity,
    UniqueViolation,
)
from dynaorm.flow.call import Call, Reply, Transport
from dynaorm.testing.faults import Fault

if TYPE_CHECKING:
    from tests.faults.conftest import Store

app = Table("App")
old_app = Table("OldApp")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique()] = None
    full_name: str = ""


class Login(Entity, table=app, pk="LOGIN#{login_id}", sk="LOGIN"):
    login_id: str
    code: Annotated[str, Unique()]
    until: Annotated[datetime | None, ExpiresAt()] = None


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str


class OldUser(Entity, table=old_app, pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: Annotated[str, Unique()]


class NewUser(Entity, table=Table("OldApp"), pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]


@pytest.fixture
def store(store: "Store") -> "Store":
    store.create(app)
    return store


def intervene(work: Callable[[], object], operation: str, at: int = 1) -> Fault:
    """Somebody else does something just before a call goes out, which is then made as ever."""

    def strike(call: Call, inner: Transport) -> Reply:
        work()
        return inner.call(call)

    return Fault("intervene", strike, at, 1, frozenset({operation}))


def taken(user_id: str, *values: str) -> list[str]:
    return sorted([f"USER#{user_id} PROFILE", *(f"{value} {value}" for value in values)])


# -- the same entity ---------------------------------------------------------------------------------------------------


def test_of_two_updates_of_one_entity_the_second_is_stale_and_leaves_no_trace(store: "Store") -> None:
    session = store.line().session
    winner = session.save(User(user_id="1", email="a@x.org"))
    loser = store.line().session.get_one(User, user_id="1")
    winner.full_name = "Winner"
    session.save(winner)
    items, before = store.items(app), inspect(loser).revision
    loser.full_name, loser.email = "Loser", "b@x.org"
    with pytest.raises(StaleEntity) as caught:
        session.save(loser)
    assert caught.value.key == Key(User, user_id="1")
    assert (caught.value.expected, caught.value.found) == (before, inspect(winner).revision)
    assert store.items(app) == items
    assert (loser.full_name, loser.email, inspect(loser).revision) == ("Loser", "b@x.org", before)


def test_a_holder_from_before_a_delete_and_recreation_is_stale(store: "Store") -> None:
    """The new one may be equal to the last bit: it is another."""
    session = store.line().session
    session.save(User(user_id="1", email="a@x.org"))
    holder = store.line().session.get_one(User, user_id="1")
    session.delete(Key(User, user_id="1"))
    session.save(User(user_id="1", email="a@x.org"))
    items = store.items(app)
    holder.full_name = "From another life"
    for stale_write in (session.save, session.delete):
        with pytest.raises(StaleEntity):
            stale_write(holder)
    assert store.items(app) == items


def test_versions_tell_a_recreated_entity_from_the_deleted_one(store: "Store") -> None:
    session = store.line().session
    session.save(Page(name="home", text="one"))
    holder = store.line().session.get_one(Page, name="home")
    session.delete(Key(Page, name="home"))
    session.save(Page(name="home", text="one"))
    holder.text = "two"
    with pytest.raises(StaleEntity):
        session.save(holder)
    assert store.keys(app) == ["PAGE#home v0_TEXT", "PAGE#home v1_TEXT", "PAGE#home v2_TEXT"]


@pytest.mark.parametrize("write", ["save", "update", "delete", "move", "check"])
def test_what_was_deleted_meanwhile_is_not_brought_back(store: "Store", write: str) -> None:
    session = store.line().session
    user = session.save(User(user_id="1", email="a@x.org"))
    store.line().session.delete(Key(User, user_id="1"))

    def work() -> None:
        if write == "update":
            session.update(user, {"full_name": "Back"})
        elif write == "check":
            with session.transaction() as tx:
                tx.check(user)
                tx.save(User(user_id="2", email="b@x.org"))
        else:
            setattr(user, "user_id" if write == "move" else "full_name", "9")
            getattr(session, write)(user)

    with pytest.raises(StaleEntity) as caught:
        work()
    assert caught.value.found is None
    assert store.items(app) == []


def test_an_update_by_key_of_what_is_gone_makes_no_half_entity(store: "Store") -> None:
    session = store.line().session
    for change in ({"full_name": "Back"}, {"email": "b@x.org"}):
        with pytest.raises(EntityNotFound):
            session.update(Key(User, user_id="1"), change)
    with pytest.raises(EntityNotFound):
        session.delete(Key(User, user_id="1"))
    assert store.items(app) == []


def test_a_delete_by_key_reads_again_when_its_reading_was_overtaken(store: "Store") -> None:
    """It has to release the values stored when it deletes, not those stored when it looked."""

    def change_address() -> None:
        other = store.line().session
        user = other.get_one(User, user_id="1")
        user.email = "new@x.org"
        other.save(user)

    store.line().session.save(User(user_id="1", email="old@x.org", phone="1"))
    session, wire = store.line(intervene(change_address, "TransactWriteItems"))
    session.delete(Key(User, user_id="1"))
    assert store.items(app) == []
    assert wire.calls[0].request["ConsistentRead"] is True


def test_an_update_by_key_that_reads_is_made_again_when_it_was_overtaken(store: "Store") -> None:
    def change_name() -> None:
        store.line().session.update(Key(User, user_id="1"), {"full_name": "Theirs"})

    store.line().session.save(User(user_id="1", email="old@x.org"))
    session, _ = store.line(intervene(change_name, "TransactWriteItems"))
    user = session.update(Key(User, user_id="1"), {"email": "new@x.org"})
    assert (user.email, user.full_name) == ("new@x.org", "Theirs")
    assert store.keys(app) == taken("1", "email#new@x.org")


def test_work_that_was_overtaken_runs_again_from_what_is_stored(store: "Store") -> None:
    store.line().session.save(Page(name="home", text="a"))

    def append(text: str) -> None:
        session = store.line().session
        page = session.get_one(Page, name="home")
        page.text += text
        session.save(page)

    session, _ = store.line(
        intervene(lambda: append("b"), "TransactWriteItems"),
        intervene(lambda: append("c"), "TransactWriteItems", at=2),
    )

    def work(tx: Any) -> int:
        page = session.get_one(Page, name="home")
        page.text += "!"
        tx.save(page)
        return len(page.text)

    assert session.run(work) == 4
    assert session.get_one(Page, name="home").text == "abc!"
    assert [version.number for version in session.history(Key(Page, name="home"))] == [4, 3, 2, 1]


# -- unique values -----------------------------------------------------------------------------------------------------


def test_of_two_creations_with_one_value_the_second_is_told_whose_it_is(store: "Store") -> None:
    def first() -> None:
        store.line().session.save(User(user_id="1", email="Bobby@X.org"))

    session, _ = store.line(intervene(first, "TransactWriteItems"))
    with pytest.raises(UniqueViolation) as caught:
        session.save(User(user_id="2", email="bobby@x.ORG", phone="2"))
    error = caught.value
    assert (error.entity, error.constraint, error.fields) == ("User", "email", ("email",))
    assert (error.value, error.owner) == ("bobby@x.ORG", Key(User, user_id="1"))
    assert store.keys(app) == taken("1", "email#bobby@x.org")


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_values_rotate_in_one_transaction_with_one_action_per_guard(
    store: "Store", order: Sequence[int]
) -> None:
    session, wire = store.line()
    users = [session.save(User(user_id=str(n), email=f"{n}@x.org")) for n in range(3)]
    sent = len(wire.calls)
    with session.transaction() as tx:
        for user, number in zip(users, order, strict=True):
            user.email = f"{number}@x.org"
            tx.save(user)
    for user in users:
        found = session.get_by(User, email=user.email)
        assert found is not None
        assert found.user_id == user.user_id
    assert len(store.items(app)) == 6
    moved = sum(place != number for place, number in enumerate(order))
    actions = wire.calls[sent].request["TransactItems"] if moved else []
    assert [*map(list, actions)].count(["Put"]) == moved
    assert [*map(list, actions)].count(["Delete"]) == 0


def test_a_swap_that_was_overtaken_leaves_every_value_where_it_was(store: "Store") -> None:
    session = store.line().session
    one, two = (session.save(User(user_id=n, email=f"{n}@x.org")) for n in "12")

    def give_up() -> None:
        store.line().session.update(Key(User, user_id="2"), {"email": "3@x.org"})

    swapping, _ = store.line(intervene(give_up, "TransactWriteItems"))
    one.email, two.email = two.email, one.email

    def swap() -> None:
        with swapping.transaction() as tx:
            tx.save(one)
            tx.save(two)

    with pytest.raises(StaleEntity) as caught:
        swap()
    assert caught.value.key == Key(User, user_id="2")
    owners = {item["PK"]["S"]: item["owner"]["M"]["PK"]["S"] for item in store.items(app) if "owner" in item}
    assert owners == {"email#1@x.org": "USER#1", "email#3@x.org": "USER#2"}


def test_a_value_changed_only_in_case_or_set_to_itself_touches_no_guard(store: "Store") -> None:
    session, wire = store.line()
    user = session.save(User(user_id="1", email="Liz@X.org", phone="1"))
    user.email, user.phone = "liz@x.org", "1"
    session.save(user)
    session.save(user)
    assert [call.operation for call in wire.calls] == ["TransactWriteItems", "UpdateItem"]
    found = session.get_by(User, email="LIZ@x.org")
    assert found is not None
    assert found.email == "liz@x.org"


def test_a_value_passes_from_a_deleted_entity_to_a_new_one_by_one_action(store: "Store") -> None:
    session, wire = store.line()
    old = session.save(User(user_id="1", email="a@x.org"))
    with session.transaction() as tx:
        tx.delete(old)
        tx.save(User(user_id="2", email="a@x.org"))
    assert [next(iter(action)) for action in wire.calls[1].request["TransactItems"]] == [
        "Delete", "Put", "Put"
    ]  # fmt: skip
    assert store.keys(app) == taken("2", "email#a@x.org")
    assert session.get_by(User, email="a@x.org") == User(user_id="2", email="a@x.org")


def test_a_finder_between_two_reads_is_not_given_somebody_elses_entity(store: "Store") -> None:
    """The owner gives the value away after its guard was read: the loaded entity no longer has it."""
    session = store.line().session
    one, two = (session.save(User(user_id=n, email=f"{n}@x.org")) for n in "12")

    def swap() -> None:
        one.email, two.email = two.email, one.email
        with session.transaction() as tx:
            tx.save(one)
            tx.save(two)

    finder, wire = store.line(intervene(swap, "GetItem", at=2))
    found = finder.get_by(User, email="1@x.org")
    assert found is not None
    assert (found.user_id, found.email) == ("2", "1@x.org")
    assert all(call.request["ConsistentRead"] for call in wire.calls)


def test_a_finder_whose_owner_is_deleted_between_two_reads_finds_nobody(store: "Store") -> None:
    store.line().session.save(User(user_id="1", email="1@x.org"))

    def delete() -> None:
        store.line().session.delete(Key(User, user_id="1"))

    finder, _ = store.line(intervene(delete, "GetItem", at=2))
    assert finder.get_by(User, email="1@x.org") is None


def test_after_its_normalizer_changed_an_entity_can_be_loaded_changed_and_given_a_new_value(
    moto_store: "Store",
) -> None:
    """The guard of the old spelling is not in the way; it stays until it is repaired."""
    moto_store.create(old_app)
    session = moto_store.line().session
    session.save(OldUser(user_id="1", email="Liz@X.org"))
    user = session.get_one(NewUser, user_id="1")
    user.email = "elizabeth@x.org"
    session.save(user)
    assert session.get_by(NewUser, email="Elizabeth@x.org") == user
    assert moto_store.keys(old_app) == taken("1", "email#Liz@X.org", "email#elizabeth@x.org")


# -- expiry ------------------------------------------------------------------------------------------------------------


def in_seconds(store: "Store", seconds: float) -> datetime:
    return datetime.fromtimestamp(store.clock.now(), UTC) + timedelta(seconds=seconds)


def test_an_expired_entity_that_is_not_yet_swept_is_absent_and_can_be_created_anew(store: "Store") -> None:
    session = store.line().session
    first = session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    with pytest.raises(AlreadyExists):
        session.save(detached(first))
    store.clock.advance(11)
    assert session.get(Login, login_id="1") is None
    with pytest.raises(StaleEntity):
        session.delete(first)
    session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    assert session.get_by(Login, code="abc") is not None
    assert len(store.items(app)) == 2


def test_a_value_of_an_expired_entity_is_free_for_others_after_a_minute_for_skewed_clocks(
    store: "Store",
) -> None:
    session = store.line().session
    session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    store.clock.advance(30)
    with pytest.raises(UniqueViolation):
        session.save(Login(login_id="2", code="abc"))
    store.clock.advance(60)
    session.save(Login(login_id="2", code="abc"))
    found = session.get_by(Login, code="abc")
    assert found is not None
    assert found.login_id == "2"


@pytest.mark.parametrize("swept", ["entity", "guard"])
def test_ttl_may_remove_an_entity_before_its_guard_or_after_it(store: "Store", swept: str) -> None:
    session = store.line().session
    login = session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    store.clock.advance(100)
    store.remove(app, *(("LOGIN#1", "LOGIN") if swept == "entity" else ("code#abc", "code#abc")))
    assert session.get_by(Login, code="abc") is None
    login = session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    session.delete(login)
    assert store.items(app) == []


def test_a_guard_that_is_missing_does_not_stop_its_release(store: "Store") -> None:
    session = store.line().session
    user = session.save(User(user_id="1", email="a@x.org"))
    store.remove(app, "email#a@x.org", "email#a@x.org")
    session.delete(user)
    assert store.items(app) == []


# -- keys, blocks, threads ---------------------------------------------------------------------------------------------


def test_a_change_of_a_key_field_is_a_move_or_nothing(store: "Store") -> None:
    session, wire = store.line()
    user = session.save(User(user_id="1", email="a@x.org"))
    user.user_id = "2"
    with pytest.raises(KeyChanged, match=r"move.*detached"):
        session.save(user)
    session.move(user)
    assert store.keys(app) == taken("2", "email#a@x.org")
    assert store.items(app)[1]["owner"]["M"]["PK"] == {"S": "USER#2"}
    assert [call.operation for call in wire.calls] == ["TransactWriteItems"] * 2


def test_a_move_to_a_key_that_was_taken_meanwhile_moves_nothing(store: "Store") -> None:
    session = store.line().session
    user = session.save(User(user_id="1", email="a@x.org"))
    store.line().session.save(User(user_id="2", email="b@x.org"))
    items = store.items(app)
    user.user_id = "2"
    with pytest.raises(AlreadyExists):
        session.move(user)
    assert store.items(app) == items


def test_a_refused_block_changes_no_object(store: "Store") -> None:
    session = store.line().session
    one = session.save(User(user_id="1", email="1@x.org"))
    session.save(Login(login_id="1", code="abc"))
    items, before = store.items(app), inspect(one)
    new, one.full_name = User(user_id="3", email="3@x.org"), "One"

    def block() -> None:
        with session.transaction() as tx:
            tx.save(new)
            tx.save(one)
            tx.delete(Key(Login, login_id="1"), condition=F.code == "xyz")

    with pytest.raises(ConditionFailed):
        block()
    assert store.items(app) == items
    assert not inspect(new).loaded
    assert (inspect(one).revision, one.full_name) == (before.revision, "One")


def test_too_many_actions_are_counted_before_anything_is_sent(moto_store: "Store") -> None:
    session, wire = moto_store.line()

    def block() -> None:
        with session.transaction() as tx:
            for number in range(51):
                tx.save(User(user_id=str(number), email=f"{number}@x.org"))

    with pytest.raises(PlanTooLarge, match="102 actions") as caught:
        block()
    assert caught.value.actions == 102
    assert wire.calls == []


def test_threads_share_a_session_and_lose_nothing(moto_store: "Store") -> None:
    """Each loads its own object; strict moto answers one request at a time, in any order of the threads."""
    moto_store.create(app)
    session = moto_store.line(retry=Retry(attempts=100)).session
    session.save(Page(name="home", text=""))

    def append(tx: Any) -> None:
        page = session.get_one(Page, name="home")
        page.text += "x"
        tx.save(page)

    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                session.run(append, attempts=100)
        except BaseException as failure:  # noqa: BLE001 - to be told by the test, not by its thread
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    page = session.get_one(Page, name="home")
    assert (page.text, inspect(page).version) == ("x" * 20, 21)
    assert [version.number for version in session.history(page)] == [*range(21, 0, -1)]

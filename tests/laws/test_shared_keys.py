"""Law: classes whose keys could meet are told apart by the type attribute, on every way of reading and writing."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Aggregate, Entity, F, Key, Session, Table, Unique, tools
from dynaorm.errors import AlreadyExists, DeclarationError, DecodeError, EntityNotFound, UsageError
from dynaorm.transport import Call, Transport

bare = Table("bare-ids", pk="id", sk=None, type_attribute="kind")
app = Table("bare-sort-keys")


class User(Entity, table=bare):
    id: str
    name: str = ""
    visits: int = 0


class Admin(User):
    rights: str = ""


class Order(Entity, table=bare, name="order"):
    id: str
    name: str = ""
    email: Annotated[str | None, Unique()] = None


class Customer(Entity, table=app, pk="{customer}", sk="PROFILE"):
    customer: str
    orders: int = 0


class Thing(Entity, table=app, pk="{owner}", sk="{thing}"):
    owner: str
    thing: str
    of_customer = Aggregate(Customer, count="orders", key={"customer": "owner"})


@pytest.fixture(scope="module")
def tables(transport: Transport) -> Iterator[Transport]:
    with Session(transport=transport) as session:
        session.create_table(bare)
        session.create_table(app)
    yield transport
    for table in (bare, app):
        transport.call(Call("DeleteTable", {"TableName": table.name}))


@pytest.fixture
def session(tables: Transport) -> Iterator[Session]:
    with Session(transport=tables) as session:
        yield session
        for table in (bare, app):
            for item in items(tables, table):
                key = {name: item[name] for name in table.key_names}
                tables.call(Call("DeleteItem", {"TableName": table.name, "Key": key}))


def items(engine: Transport, table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.call(Call("Scan", {"TableName": table.name}))["Items"]
    return found


READS: dict[str, Callable[[Session], object]] = {
    "get": lambda session: session.get(User, id="1"),
    "get a subclass": lambda session: session.get(Admin, id="1"),
    "exists": lambda session: session.exists(User, id="1") or None,
    "get_many": lambda session: session.get_many([Key(User, id="1")])[0],
    "query": lambda session: session.query(User, id="1").first(),
    "scan": lambda session: session.scan(User).first(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_an_item_of_another_class_is_not_found(session: Session, read: Callable[[Session], object]) -> None:
    session.save(Order(id="1", email="a@x"))
    assert read(session) is None


WRITES: dict[str, tuple[Callable[[Session], object], type[Exception]]] = {
    "insert": (lambda session: session.save(User(id="1")), AlreadyExists),
    "overwrite": (lambda session: session.save(User(id="1"), overwrite=True), AlreadyExists),
    "update by key": (lambda session: session.update(Key(User, id="1"), F.name.set("x")), EntityNotFound),
    "update of a subclass": (
        lambda session: session.update(Key(Admin, id="1"), F.name.set("x")),
        EntityNotFound,
    ),
    "add by key": (lambda session: session.update(Key(User, id="1"), F.visits.add(1)), EntityNotFound),
    "delete by key": (lambda session: session.delete(Key(User, id="1")), EntityNotFound),
    "bulk_load": (lambda session: session.bulk_load([User(id="1")]), UsageError),
}


@pytest.mark.parametrize(("write", "error"), WRITES.values(), ids=WRITES.keys())
def test_an_item_of_another_class_is_not_written(
    session: Session, tables: Transport, write: Callable[[Session], object], error: type[Exception]
) -> None:
    session.save(Order(id="1", email="a@x"))
    before = items(tables, bare)
    with pytest.raises(error):
        write(session)
    assert items(tables, bare) == before


def test_an_item_of_another_class_fulfils_no_condition(session: Session) -> None:
    session.save(Order(id="1"))
    with pytest.raises(EntityNotFound), session.transaction() as tx:
        tx.check(Key(User, id="1"), F.name == "")


def test_a_literal_sort_key_beside_a_bare_one(session: Session) -> None:
    customer = session.save(Customer(customer="c"))
    things = [session.save(Thing(owner="c", thing=thing)) for thing in ("A", "Z")]
    assert session.query(Thing, owner="c").all() == things
    assert session.query(Customer, customer="c").all() == [session.refresh(customer)]
    assert customer.orders == 2
    assert session.get(Thing, owner="c", thing="PROFILE") is None
    assert list(tools.verify(session, app)) == []


def test_a_total_is_not_added_to_an_item_of_another_class(session: Session, tables: Transport) -> None:
    item = {"customer": "d", "PK": "d", "SK": "PROFILE", "_type": "Thing", "owner": "d", "thing": "PROFILE"}
    stored = {name: {"S": value} for name, value in item.items()}
    tables.call(Call("PutItem", {"TableName": app.name, "Item": stored}))
    with pytest.raises(EntityNotFound):
        session.save(Thing(owner="d", thing="Z"))
    assert items(tables, app) == [stored]


def test_an_item_without_type_is_a_decode_error(session: Session, tables: Transport) -> None:
    tables.call(Call("PutItem", {"TableName": bare.name, "Item": {"id": {"S": "1"}}}))
    with pytest.raises(DecodeError, match=r"kind: is absent, and the key could be that of order|Order"):
        session.get(User, id="1")
    unknown: list[Any] = []
    with Session(transport=tables, on_decode_error=unknown.append) as listening:
        assert listening.query(User, id="1").all() == []
    assert len(unknown) == 1


# -- declarations ------------------------------------------------------------------------------------------------------


def test_without_type_attribute_the_error_names_the_base_class() -> None:
    table = Table("untyped", pk="id", sk=None, type_attribute=None)

    class First(Entity, table=table):
        id: str

    with pytest.raises(
        DeclarationError, match=r"type attribute, which tells classes apart.*common base class"
    ):

        class Second(Entity, table=table):
            id: str


def test_versions_have_no_type_so_their_keys_must_not_meet() -> None:
    table = Table("versions-apart")

    class Page(Entity, table=table, pk="{id}", sk="PAGE", versioned=True):
        id: str

    with pytest.raises(DeclarationError, match="because versions have no type"):

        class Part(Entity, table=table, pk="{id}", sk="{part}"):
            id: str
            part: str


# -- random classes ----------------------------------------------------------------------------------------------------

NUMBER = count()
SORT_KEYS = ("{a}", "X", "X#{a}", "{a}#{b}", "X#{a}#{b}")
VALUES = st.sampled_from(["X", "Y", "X#Y", "Z"])


def classes(sort_keys: tuple[str, ...]) -> list[type[Any]]:
    table = Table(f"shared-{next(NUMBER)}")

    def made(number: int, sk: str) -> type[Any]:
        class Shared(Entity, table=table, pk="{id}", sk=sk, name=f"Shared{number}"):
            id: str = "1"
            a: str
            b: str = "Y"
            n: int = 0

        return Shared

    return [made(number, sk) for number, sk in enumerate(sort_keys)]


@settings(max_examples=8)
@given(
    sort_keys=st.lists(st.sampled_from(SORT_KEYS), min_size=2, max_size=3).map(tuple),
    rows=st.lists(st.tuples(st.integers(0, 2), VALUES, VALUES), max_size=6),
)
def test_every_read_finds_the_entities_of_its_class(
    engine: Transport, sort_keys: tuple[str, ...], rows: list[tuple[int, str, str]]
) -> None:
    kinds = classes(sort_keys)
    with Session(transport=engine) as session:
        session.create_table(kinds[0].__dynaorm_mapping__.table)
        saved: dict[str, Any] = {}
        for number, a, b in rows:
            entity = kinds[number % len(kinds)](a=a, b=b)
            sk = type(entity).__dynaorm_mapping__.primary_key.of(vars(entity))["SK"]["S"]
            if sk in saved:
                with pytest.raises(AlreadyExists):
                    session.save(entity)
            else:
                saved[sk] = session.save(entity)
        for kind in kinds:
            own = [one for _, one in sorted(saved.items()) if type(one) is kind]
            assert session.query(kind, id="1").all() == own
            assert session.query(kind, id="1").count() == len(own)
            for other in saved.values():
                wanted = kind.__dynaorm_mapping__.key_fields
                key = Key(kind, **{name: getattr(other, name) for name in wanted})
                sk = kind.__dynaorm_mapping__.primary_key.of(vars(other))["SK"]["S"]
                assert session.get(key) == (saved[sk] if type(saved.get(sk)) is kind else None)

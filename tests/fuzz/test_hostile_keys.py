"""Key values with characters that have a meaning in keys: they load as they were saved, and no two keys are equal.

The texts contain delimiters, escapes, prefixes of versions and guards, and characters that DynamoDB or UTF-8 cannot
store. Each value is either refused before anything is sent, or stored as an item of its own.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import (
    BinaryKey,
    Entity,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Session,
    Table,
    Unique,
    tools,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError, InvalidValue
from dynaorm.item.size import item_size
from dynaorm.plan.guards import GUARDS
from dynaorm.testing import FakeClock
from dynaorm.transport import Call

app = Table("keys-app", indexes=[GlobalIndex("GSI1")])
bare = Table("keys-bare")
logs = Table("keys-logs")
lone = Table("keys-lone", sk=None)
numbers = Table("keys-numbers", sk=NumberKey("SK"))
binary = Table("keys-binary", pk=BinaryKey("PK"), sk=BinaryKey("SK"))
TABLES = (app, bare, logs, lone, numbers, binary)


class Pair(Entity, table=app, pk="PAIR#{one}#{other}", sk="P", unique={"both": ("one", "mail")}):
    one: str
    other: str
    mail: Annotated[str | None, Unique(normalize=str.casefold)] = None
    by_mail = Index("GSI1", pk="M#{mail}", sk="{one}#{other}")


class Tree(Entity, table=app, pk="TREE", sk="{one}_{other}"):
    one: Annotated[str, InKey()]
    other: Annotated[str, InKey()]
    mail: None = None


class Paper(Entity, table=app, pk="PAPER#{one}", sk="{other}", versioned=True):
    one: str
    other: str
    mail: Annotated[str | None, Unique("post", scope=("other",))] = None


class Bare(Entity, table=bare, pk="{one}", sk="{other}"):
    one: str
    other: str
    mail: Annotated[str | None, Unique()] = None


class Log(Entity, table=logs, pk="{one}", sk="{other}", versioned=True):
    one: str
    other: str
    mail: None = None


class Lone(Entity, table=lone, pk="L/{one}/{other:casefold}"):
    one: str
    other: str
    mail: Annotated[str | None, Unique("address")] = None


class Count(Entity, table=numbers, pk="COUNT#{one}", sk="{number}"):
    one: str
    number: int


class Blob(Entity, table=binary, pk="{one}", sk="{other}"):
    one: bytes
    other: str


class When(Entity, table=app, pk="WHEN#{one}", sk="{at}#{number:04d:desc}#{one:upper}"):
    one: str
    at: datetime
    number: int


PIECES = [
    "",
    "a",
    "A",
    "#",
    "%",
    "%23",
    "/",
    "_",
    "v0_",
    "v1_",
    "v12_x",
    "mail#",
    "address#",
    "both#",
    "TREE",
]
PIECES += ["sha256:", "sha256:0", "\x00", "\u00e9", "e\u0301", "\ufb01", "\u0130", "\uffff", "\U0010ffff"]
ODD = ["\ud800", "x" * 1023, "x" * 1024, "\u00e9" * 512, "#" * 400, "x" * 2048, "%" * 1024]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.text(max_size=4),
    st.sampled_from(ODD),
)
MAILS = st.one_of(st.none(), TEXTS)
ENTITIES = st.one_of(
    *(st.builds(kind, one=TEXTS, other=TEXTS, mail=MAILS) for kind in (Pair, Paper, Bare, Lone)),
    *(st.builds(kind, one=TEXTS, other=TEXTS) for kind in (Tree, Log)),
    st.builds(
        Count,
        one=TEXTS,
        number=st.one_of(st.integers(-(10**30), 10**30), st.sampled_from([0, 10**38 - 1, 1 - 10**38])),
    ),
    st.builds(Blob, one=st.binary(max_size=3), other=TEXTS),
    st.builds(
        When,
        one=TEXTS,
        at=st.datetimes(timezones=st.just(UTC)),
        number=st.sampled_from([0, 9999, -1, 10_000]),
    ),
)


class NoStore:
    """A transport for tests that send nothing."""

    def call(self, call: Call, /) -> Any:
        raise AssertionError(f"{call.operation} was sent")


OFFLINE = Session(transport=NoStore())


def written(entity: Any) -> dict[tuple[str, str], tuple[Any, ...]] | None:
    """Each item that a save would put: its table and key, and what it stands for. None if the save is refused."""
    try:
        plan = OFFLINE.plan(entity)
    except InvalidValue:
        return None
    found = {}
    for planned in plan.actions:
        is_guard, label = planned.kind is GUARDS, planned.label
        values = (label[0], label[2]) if is_guard else key_values(entity)
        key = repr(sorted(planned.item_key.items()))
        found[planned.action.table, key] = (
            (type(entity), label, values) if not is_guard else ("", None, values)
        )
    return found


def key_values(entity: Any) -> tuple[Any, ...]:
    """The values in a key, as far as its template distinguishes them."""
    values = tuple(getattr(entity, name) for name in mapping_of(type(entity)).key_fields)
    return (values[0], values[1].casefold()) if isinstance(entity, Lone) else values


@given(one=ENTITIES, other=ENTITIES)
@settings(max_examples=settings().max_examples * 4)
def test_entities_share_an_item_only_where_keys_are_equal(one: Any, other: Any) -> None:
    mine, theirs = written(one) or {}, written(other) or {}
    for place in mine.keys() & theirs.keys():
        (_, number, values), (_, its_number, its_values) = mine[place], theirs[place]
        assert number == its_number
        assert folded(values) == folded(its_values)


def folded(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        one.casefold() if isinstance(one, str) else folded(one) if isinstance(one, tuple) else one
        for one in values
    )


@given(entity=ENTITIES)
@settings(max_examples=settings().max_examples * 4)
def test_nothing_is_planned_whose_key_dynamodb_would_refuse(entity: Any) -> None:
    try:
        plan = OFFLINE.plan(entity)
    except InvalidValue:
        return
    for planned in plan.actions:
        table = next(table for table in TABLES if table.name == planned.action.table)
        for key, limit in zip(table.keys, (2048, 1024), strict=False):
            (content,) = planned.item_key[key.name].values()
            assert key.kind == "N" or 0 < item_size({"": {key.kind: content}}) <= limit
        index = (planned.after or {}).get("GSI1PK"), (planned.after or {}).get("GSI1SK")
        assert (index[0] is None) is (index[1] is None)
        assert all(
            one is None or 0 < len(one["S"].encode()) <= limit
            for one, limit in zip(index, (2048, 1024), strict=True)
        )


@pytest.fixture(scope="module")
def session(credentials: None) -> Iterator[Session]:
    with Session(endpoint="memory:", clock=FakeClock(jitter=0), consistent=True) as opened:
        for table in TABLES:
            opened.create_table(table)
        yield opened


def key_of(entity: Any) -> Key[Any]:
    names = mapping_of(type(entity)).key_fields
    return Key(type(entity), **{name: getattr(entity, name) for name in names})


@given(entities=st.lists(ENTITIES, min_size=1, max_size=3))
@settings(max_examples=max(5, settings().max_examples // 2))
def test_whatever_is_stored_is_found_again_and_gone_when_deleted(
    session: Session, entities: list[Any]
) -> None:
    stored = [one for one in entities if saved(session, one)]
    for entity in stored:
        assert session.get(key_of(entity)) == entity
        assert query(session, entity).keys().all().count(key_of(entity)) == 1
        assert entity in query(session, entity).all()
        for constraint in mapping_of(type(entity)).constraints.values():
            fields = {name: getattr(entity, name) for name in constraint.fields}
            if None not in fields.values():
                assert session.get_by(type(entity), **fields) == entity
    for entity in stored:
        session.delete(entity)
        assert session.get(key_of(entity)) is None
        if mapping_of(type(entity)).versioning is not None:
            tools.purge(session, key_of(entity))
    for table in TABLES:
        assert session._transport.call(Call("Scan", {"TableName": table.name}))["Items"] == []


def saved(session: Session, entity: Any) -> bool:
    """Whether an entity was stored. If not, it was refused for its value, or because another has its key or value."""
    try:
        session.save(entity)
    except DynaormError as error:
        assert type(error).__name__ in {"InvalidValue", "AlreadyExists", "UniqueViolation"}  # noqa: PT017 - a refusal among others
        return False
    return True


def query(session: Session, entity: Any) -> Any:
    partition = mapping_of(type(entity)).partition
    return session.query(type(entity), **{name: getattr(entity, name) for name in partition.fields})


@pytest.mark.parametrize(("name", "limit"), [("one", 2048), ("other", 1024)])
def test_a_key_may_be_as_long_as_dynamodb_allows(session: Session, name: str, limit: int) -> None:
    for letter in ("x", "\u00e9"):
        longest = letter * (limit // len(letter.encode()))
        entity = Bare(**{"one": "x", "other": "x", name: longest})
        assert saved(session, entity)
        assert session.get(key_of(entity)) == entity
        session.delete(entity)
        assert not saved(session, Bare(**{"one": "x", "other": "x", name: longest + "x"}))

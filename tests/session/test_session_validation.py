"""What a session stores is validated as a whole, and the object then holds what is stored."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationInfo, field_validator, model_validator

from dynaorm import AnyValue, CreatedAt, Entity, F, Key, Session, Table, inspect
from dynaorm.entity.marker import Unique
from dynaorm.errors import BulkError, InvalidValue
from dynaorm.testing import FakeClock, FaultyTransport
from dynaorm.testing.faults import Fault
from dynaorm.transport import Call, Transport

app = Table("validation")


class Sample(Entity, table=app, pk="SAMPLE#{name}", sk="S"):
    name: str
    ratio: float = 1.0
    exact: Decimal = Decimal(7)
    label: str | None = "old"
    notes: AnyValue = None


class Draft(Entity, table=app, pk="DRAFT#{name}", sk="D"):
    name: str
    slug: Annotated[str | None, Unique()] = None
    tags: list[str] = Field(default_factory=list)
    names: dict[str, str] = Field(default={})


class Checked(Draft):
    @field_validator("tags")
    @classmethod
    def beside_the_others(cls, tags: list[str], info: ValidationInfo) -> list[str]:
        assert info.data["name"] == "a"
        return tags


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


UNSTORABLE: dict[str, tuple[str, Any]] = {
    "not a number": ("ratio", float("nan")),
    "infinity": ("ratio", float("inf")),
    "too many digits": ("exact", Decimal("1." + "3" * 60)),
    "half a surrogate pair": ("label", "\ud800"),
    "no value of DynamoDB": ("notes", object()),
    "a key that is not text": ("notes", {1: 2}),
    "an empty set": ("notes", [set()]),
    "half a surrogate pair in anything": ("notes", ["\ud800"]),
    "half a surrogate pair in a name": ("notes", {"\ud800": 1}),
    "300 levels": ("notes", nested(300)),
    "3000 levels": ("notes", nested(3000)),
}


def save_in_transaction(session: Session, entity: Sample) -> None:
    with session.transaction() as tx:
        tx.save(entity)


def move_in_transaction(session: Session, entity: Sample) -> None:
    entity.name = "b"
    with session.transaction() as tx:
        tx.move(entity)


def move(session: Session, entity: Sample) -> None:
    entity.name = "b"
    session.move(entity)


def save_many(session: Session, entity: Sample) -> None:
    try:
        session.save_many([entity])
    except BulkError as error:
        raise error.failures[0][1] from None


@pytest.mark.parametrize(
    "write",
    [Session.save, Session.plan, save_many, move, save_in_transaction, move_in_transaction],
    ids=lambda write: write.__name__,
)
def test_a_loaded_entity_with_a_value_that_cannot_be_stored_is_refused_and_stays(
    session: Session, wire: FaultyTransport, write: Callable[[Session, Sample], object]
) -> None:
    stored = session.save(Sample(name="a", notes={"precious": 1}))
    wire.calls.clear()
    for case, (field, value) in UNSTORABLE.items():
        sample = stored.model_copy(update={field: value})
        with pytest.raises(InvalidValue) as refused:
            write(session, sample)
        assert (case, refused.value.field, wire.calls) == (case, field, [])
        assert getattr(sample, field) is value
        assert (inspect(sample).revision, field in inspect(sample).changes) == (
            inspect(stored).revision,
            True,
        )


def update(session: Session, kind: type[Draft], *changes: Any) -> object:
    return session.update(Key(kind, name="a"), *changes)


def upsert(session: Session, kind: type[Draft], *changes: Any) -> object:
    return session.upsert(Key(kind, name="a"), *changes)


def update_in_transaction(session: Session, kind: type[Draft], *changes: Any) -> object:
    with session.transaction() as tx:
        tx.update(Key(kind, name="a"), *changes)
    return session.get(kind, name="a")


def upsert_in_transaction(session: Session, kind: type[Draft], *changes: Any) -> object:
    with session.transaction() as tx:
        tx.upsert(Key(kind, name="a"), *changes)
    return session.get(kind, name="a")


@pytest.mark.parametrize("kind", [Draft, Checked])
@pytest.mark.parametrize(
    ("write", "exists"),
    [
        (update, True),
        (update_in_transaction, True),
        (upsert, True),
        (upsert, False),
        (upsert_in_transaction, False),
    ],
)
def test_values_that_can_be_read_once_are_stored_though_another_writer_came_between(
    session: Session,
    moto: Transport,
    write: Callable[..., object],
    exists: bool,
    kind: type[Draft],
) -> None:
    if exists:
        session.save(kind(name="a", tags=["old"]))

    def strike(call: Call, inner: Transport) -> Any:
        session.upsert(Key(kind, name="a"), {"slug": "theirs"})
        return inner.call(call)

    meanwhile = Fault("meanwhile", strike, operations=frozenset({"TransactWriteItems"}))
    found = write(
        Session(transport=FaultyTransport(moto, meanwhile)),
        kind,
        F.slug.set("ours"),
        F.tags.set(tag for tag in ("x", "y")),
    )
    assert found == session.get(kind, name="a") == kind(name="a", slug="ours", tags=["x", "y"])


@pytest.mark.parametrize("kind", [Draft, Checked])
def test_values_that_can_be_read_once_are_stored_though_the_update_has_to_make_a_map(
    session: Session, moto: Transport, kind: type[Draft]
) -> None:
    item = {"PK": {"S": "DRAFT#a"}, "SK": {"S": "D"}, "_type": {"S": kind.__name__}, "name": {"S": "a"}}
    moto.call(Call("PutItem", {"TableName": "validation", "Item": item}))
    session.update(Key(kind, name="a"), F.names["en"].set("A"), {"tags": map(str.upper, ["x", "y"])})
    assert session.get(kind, name="a") == kind(name="a", names={"en": "A"}, tags=["X", "Y"])


def test_validators_see_the_times_that_are_stored(session: Session, clock: FakeClock) -> None:
    class Task(Entity, table=app, pk="TASK#{task}", sk="T"):
        task: str
        due: datetime
        month: str = ""
        created: Annotated[datetime | None, CreatedAt()] = None

        @model_validator(mode="after")
        def check(self) -> "Task":
            if self.created is not None:
                if self.due < self.created:
                    raise ValueError("is due before it was created")
                vars(self)["month"] = f"{self.created:%Y-%m}"
            return self

    now = datetime.fromtimestamp(clock.now(), UTC)
    task = session.save(Task(task="a", due=now + timedelta(seconds=10)))
    assert task.month == session.get_one(Task, task="a").month == f"{now:%Y-%m}"
    with pytest.raises(InvalidValue, match="is due before it was created"):
        session.save(Task(task="b", due=now - timedelta(seconds=10)))
    assert not session.exists(Task, task="b")

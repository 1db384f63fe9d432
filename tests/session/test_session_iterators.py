"""An iterator can be read only once, and a save may validate a value several times: none is stored as an empty list."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import Field, ValidationInfo, field_validator

from dynaorm import Entity, F, Key, Session, Table, item_of
from dynaorm.errors import BulkError, InvalidValue

app = Table("iterators")


class Draft(Entity, table=app, pk="DRAFT#{name}", sk="D"):
    name: str
    tags: list[str] = Field(default=[])
    groups: dict[str, list[str]] = Field(default={})

    @field_validator("tags", "groups")
    @classmethod
    def beside_the_others(cls, value: object, info: ValidationInfo) -> object:
        assert info.data["name"] == "a"
        return value


def letters(text: str) -> Iterator[str]:
    yield from text


def test_an_iterator_on_an_entity_is_refused_by_every_write(session: Session) -> None:
    draft = Draft(name="a")
    draft.tags = letters("ab")  # type: ignore[assignment]
    writes: list[Callable[[], object]] = [
        lambda: session.plan(draft),
        lambda: session.save(draft),
        lambda: session.save(draft, overwrite=True),
        lambda: session.save_many([draft], per_transaction=5),
        lambda: session.run(lambda tx: tx.save(draft)),
        lambda: session.bulk_load([draft]),
        lambda: item_of(draft),
    ]
    for write in writes:
        with pytest.raises((InvalidValue, BulkError), match=r"Draft.tags = .*: is or contains an iterator"):
            write()
    assert session.get(Draft, name="a") is None
    draft.tags = ["a", "b"]
    session.save(draft)
    draft.groups = {"a": letters("ab")}  # type: ignore[dict-item]
    with pytest.raises(InvalidValue, match=r"Draft.groups = .*: is or contains an iterator"):
        session.save(draft)
    assert session.get_one(Draft, name="a").tags == ["a", "b"]


def test_an_iterator_inside_of_the_value_of_a_change_is_refused(session: Session) -> None:
    session.save(Draft(name="a"))
    with pytest.raises(InvalidValue, match=r"Draft.groups = .*: is or contains an iterator"):
        session.update(Key(Draft, name="a"), F.groups.set({"a": letters("ab")}))
    assert session.update(Key(Draft, name="a"), F.tags.set(letters("cd"))).tags == ["c", "d"]

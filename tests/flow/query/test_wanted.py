"""When the entries of an index are enough, and when their items are fetched."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import Entity, ExpiresAt, F, GlobalIndex, Index, Key, Session, Table
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport

app = Table("app", indexes=[GlobalIndex("Keys", projection="KEYS_ONLY")])
full = Table("full", indexes=[GlobalIndex("Keys", projection=["_type", "until"])])


class Tag(Entity, table=app, pk="TAG#{name}", sk="TAG"):
    name: str
    group: str = "g"
    in_keys = Index("Keys", pk="GROUP#{group}", sk="{name}")


class Lease(Entity, table=app, pk="LEASE#{name}", sk="LEASE"):
    name: str
    group: str = "g"
    until: Annotated[datetime | None, ExpiresAt()] = None
    in_keys = Index("Keys", pk="GROUP#{group}", sk="{name}")


class Shape(Entity, table=app, pk="SHAPE#{name}", sk="SHAPE"):
    name: str
    group: str = "g"
    in_keys = Index("Keys", pk="GROUP#{group}", sk="{name}")


class Circle(Shape):
    radius: int = 1


class Loan(Entity, table=full, pk="LOAN#{name}", sk="LOAN"):
    name: str
    group: str = "g"
    until: Annotated[datetime | None, ExpiresAt()] = None
    in_keys = Index("Keys", pk="GROUP#{group}", sk="{name}")


class LongLoan(Loan):
    years: int = 1


def entry(kind: str, label: str, /, **more: Any) -> dict[str, Any]:
    texts = {"PK": f"{kind}#{label}", "SK": kind, "KeysPK": "GROUP#g", "KeysSK": label}
    return {**{attribute: {"S": text} for attribute, text in texts.items()}, **more}


def keys_and_calls(source: Any, *entries: dict[str, Any], fetched: tuple[Any, ...] = ()) -> tuple[Any, int]:
    replies: list[dict[str, Any]] = [{"Items": list(entries)}]
    if fetched:
        replies.append({"Responses": {"app": list(fetched)}})
    transport = ScriptedTransport(*replies)
    keys = Session(transport=transport, clock=FakeClock(1000.0)).query(source, group="g").keys().all()
    return keys, len(transport.calls)


def test_entries_are_enough_for_keys_of_a_class_without_subclasses_and_expiry() -> None:
    assert keys_and_calls(Tag.in_keys, entry("TAG", "a")) == ([Key(Tag, name="a")], 1)


def test_entries_of_other_classes_are_not_fetched() -> None:
    assert keys_and_calls(Lease.in_keys, entry("TAG", "a")) == ([], 1)


def test_items_are_fetched_where_entries_do_not_tell_the_class() -> None:
    circle = entry("SHAPE", "a", _type={"S": "Circle"}, name={"S": "a"})
    assert keys_and_calls(Circle.in_keys, entry("SHAPE", "a"), fetched=(circle,)) == (
        [Key(Circle, name="a")],
        2,
    )


def test_items_are_fetched_where_entries_do_not_tell_the_expiry() -> None:
    lease = entry("LEASE", "a", _type={"S": "Lease"}, name={"S": "a"}, until={"N": "999"})
    assert keys_and_calls(Lease.in_keys, entry("LEASE", "a"), fetched=(lease,)) == ([], 2)


def test_entries_that_project_both_are_enough() -> None:
    entries = (
        entry("LOAN", "a", _type={"S": "LongLoan"}),
        entry("LOAN", "b", _type={"S": "Loan"}, until={"N": "999"}),
    )
    assert keys_and_calls(Loan.in_keys, *entries) == ([Key(LongLoan, name="a")], 1)


def test_a_filter_needs_the_items() -> None:
    tag = entry("TAG", "a", _type={"S": "Tag"}, name={"S": "a"}, group={"S": "g"})
    transport = ScriptedTransport({"Items": [entry("TAG", "a")]}, {"Responses": {"app": [tag]}})
    query = Session(transport=transport).query(Tag.in_keys, group="g").filter(F.group == "g")
    assert query.keys().all() == [Key(Tag, name="a")]


@pytest.mark.parametrize("count", [1, 250])
def test_items_are_fetched_in_batches_of_a_hundred(count: int) -> None:
    names = [f"{number:03d}" for number in range(count)]

    def batch(call: Any) -> dict[str, Any]:
        keys = call.request["RequestItems"]["app"]["Keys"]
        assert len(keys) <= 100
        names = [one["PK"]["S"].removeprefix("TAG#") for one in keys]
        return {
            "Responses": {"app": [entry("TAG", one, _type={"S": "Tag"}, name={"S": one}) for one in names]}
        }

    transport = ScriptedTransport({"Items": [entry("TAG", name) for name in names]}, *[batch] * 3)
    found = Session(transport=transport).query(Tag.in_keys, group="g").all()
    assert [tag.name for tag in found] == names

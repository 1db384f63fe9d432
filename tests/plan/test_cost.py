"""The bill of a plan, against bills worked out by hand from DynamoDB's price list."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, LocalIndex, Table, Unique
from dynaorm.item.size import item_size
from dynaorm.item.update import SetTo
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save
from tests.plan.compiling import E, plan_of, saved

app = Table(
    "cost-app",
    indexes=[
        GlobalIndex("ALL"),
        GlobalIndex("SOME", projection=["owner_name"]),
        GlobalIndex("KEYS", projection="KEYS_ONLY"),
        LocalIndex("LOCAL", projection="KEYS_ONLY"),
    ],
)
graph = Table("cost-graph", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK", projection="KEYS_ONLY")])


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str
    text: str = ""


class Ticket(Entity, table=app, pk="TICKET#{name}", sk="T"):
    name: str
    status: str | None = None
    owner_name: str = ""
    note: str = ""
    in_all = Index("ALL", pk="STATUS#{status}", sk="{name}")


class Lean(Entity, table=app, pk="LEAN#{name}", sk="L"):
    name: str
    status: str | None = None
    owner_name: str = ""
    note: str = ""
    in_some = Index("SOME", pk="SOME#{status}", sk="{name}")


class Bones(Entity, table=app, pk="BONES#{name}", sk="B"):
    name: str
    status: str | None = None
    note: str = ""
    in_keys = Index("KEYS", pk="KEYS#{status}", sk="{name}")
    in_local = Index("LOCAL", sk="{status}")


class Article(Entity, table=app, pk="ARTICLE#{name}", sk="A", versioned=True):
    name: str
    slug: Annotated[str, Unique()]
    status: str = "new"
    in_all = Index("ALL", pk="ARTICLES#{status}", sk="{name}")


class Node(Entity, table=graph, pk="NODE#{name}", sk="N", versioned=True):
    name: str
    label: Annotated[str | None, Unique()] = None


locks = Table("cost-locks", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK", projection="KEYS_ONLY")])
away = Table("cost-away", guard_table=locks)
plain_locks = Table("cost-plain-locks")
near = Table(
    "cost-near",
    indexes=[GlobalIndex("Inverted", pk="SK", sk="PK", projection="KEYS_ONLY")],
    guard_table=plain_locks,
)


class Away(Entity, table=away, pk="AWAY#{name}", sk="A"):
    name: str
    nick: Annotated[str | None, Unique()] = None


class Near(Entity, table=near, pk="NEAR#{name}", sk="N"):
    name: str
    nick: Annotated[str | None, Unique()] = None


def changed(entity: E, **values: Any) -> E:
    saved(entity)
    for name, value in values.items():
        setattr(entity, name, value)
    return entity


def units(*intents: Intent) -> int:
    return plan_of(*intents).write_units


def plain_of(size: int) -> Plain:
    (planned,) = plan_of(Save(Plain(name="p"))).actions
    assert planned.after is not None
    return Plain(name="p", text="x" * (size - item_size(planned.after)))


@pytest.mark.parametrize(
    ("size", "expected"), [(200, 1), (1024, 1), (1025, 2), (2048, 2), (10 * 1024 + 1, 11)]
)
def test_a_plain_insert_costs_one_unit_per_started_kilobyte(size: int, expected: int) -> None:
    assert units(Save(plain_of(size))) == expected


@pytest.mark.parametrize(("size", "expected"), [(1024, 2), (1025, 4)])
def test_a_transaction_doubles_it(size: int, expected: int) -> None:
    assert plan_of(Save(plain_of(size)), exactly_once=True).write_units == expected


@pytest.mark.parametrize(("before", "after"), [(3000, 200), (200, 3000)])
def test_an_update_costs_the_larger_image(before: int, after: int) -> None:
    plain = plain_of(before)
    assert units(Save(changed(plain, text=plain_of(after).text))) == 3


PLAIN, TICKET = Key(Plain, name="p"), Key(Ticket, name="a")
LARGE = "n" * 3500


def article() -> Article:
    return saved(Article(name="a", slug="s"))


@pytest.mark.parametrize(
    ("bill", "intents", "expected"),
    [
        ("a deletion costs what was stored", lambda: [Deletion(saved(plain_of(3000)))], 3),
        ("what is not known counts as one kilobyte", lambda: [Deletion(PLAIN)], 1),
        ("an update by key too", lambda: [Edit(PLAIN, (SetTo(("text",), "x"),))], 1),
        ("a check costs as much as a write", lambda: [Check(PLAIN, F.text == "")], 2),
        ("a check of an object too", lambda: [Check(saved(Plain(name="p")))], 2),
        ("and writes no index entry", lambda: [Check(saved(Ticket(name="a", status="open")))], 2),
        ("also by key", lambda: [Check(TICKET, F.note == "x")], 2),
        # 2 * (entity, which is the latest copy + guard + version) + 1 entry; with a latest copy apart it were nine.
        ("guarded and versioned in an index", lambda: [Save(Article(name="a", slug="s"))], 7),
        ("nothing changed", lambda: [Save(changed(Article(name="a", slug="s"), slug="s"))], 0),
        # 2 * (entity + version) + the entry, rewritten under one key; guards cost nothing.
        ("a further version", lambda: [Save(changed(Article(name="a", slug="s"), status="old"))], 2 * 2 + 2),
        ("a release and a claim", lambda: [Save(changed(Article(name="a", slug="s"), slug="t"))], 2 * 4 + 1),
        ("tombstone, release, entry", lambda: [Deletion(article())], 2 * (1 + 1) + 1),
        ("outside of an index", lambda: [Save(Ticket(name="t"))], 1),
        ("inside", lambda: [Save(Ticket(name="t", status="a"))], 2),
        ("joining it", lambda: [Save(changed(Ticket(name="t"), status="a"))], 2),
        ("leaving it", lambda: [Deletion(saved(Ticket(name="t", status="a")))], 2),
        ("large in an index of everything", lambda: [Save(Ticket(name="t", status="a", note=LARGE))], 4 + 4),
        ("large in an index of little", lambda: [Save(Lean(name="t", status="a", note=LARGE))], 4 + 1),
        ("shrinking", lambda: [Save(changed(Ticket(name="t", status="a", note=LARGE), note=""))], 4 + 4),
        ("growing", lambda: [Save(changed(Ticket(name="t", status="a"), note=LARGE))], 4 + 4),
        (
            "a move of entity and entry",
            lambda: [Move(changed(Ticket(name="t", status="a"), name="u"))],
            2 * 2 + 2,
        ),
        (
            "entries are not doubled in a transaction",
            lambda: [Save(Ticket(name=name, status="a")) for name in "tu"],
            2 * 2 + 2,
        ),
        # An index on the table's own keys holds guards and versions too.
        ("own keys", lambda: [Save(Node(name="n"))], 2 * 2 + 2),
        ("own keys, guarded", lambda: [Save(Node(name="n", label="l"))], 2 * 3 + 3),
        ("own keys, changed", lambda: [Save(changed(Node(name="n", label="l"), label="m"))], 2 * 4 + 3),
        ("own keys, deleted", lambda: [Deletion(saved(Node(name="n", label="l")))], 2 * 2 + 1),
        # A guard is in the indexes of the table that it lives in.
        ("a guard in an index", lambda: [Save(Away(name="a", nick="n"))], 2 + 2 + 1),
        ("a guard in none", lambda: [Save(Near(name="a", nick="n"))], 2 + 2 + 1),
        ("no guard", lambda: [Save(Away(name="a"))], 1),
        ("no guard, but an entry", lambda: [Save(Near(name="a"))], 1 + 1),
        *[
            (
                f"in an index of everything: {values}",
                lambda v=values: [Save(changed(Ticket(name="t", status="a"), **v))],
                expected,
            )
            for values, expected in [
                ({"note": "n"}, 2),
                ({"status": "b"}, 3),
                ({"status": None}, 2),
                ({"status": "b", "note": "n"}, 3),
            ]
        ],
        *[
            (
                f"in an index of some: {values}",
                lambda v=values: [Save(changed(Lean(name="t", status="a"), **v))],
                expected,
            )
            for values, expected in [
                ({"note": "n"}, 1),
                ({"owner_name": "o"}, 2),
                ({"status": "b"}, 3),
                ({"status": None}, 2),
            ]
        ],
        *[
            (
                f"in two indexes of keys: {values}",
                lambda v=values: [Save(changed(Bones(name="t", status="a"), **v))],
                expected,
            )
            for values, expected in [({"note": "n"}, 1), ({"status": "b"}, 1 + 2 + 2)]
        ],
    ],
)
def test_a_bill_is_what_the_price_list_says(
    bill: str, intents: Callable[[], Sequence[Intent]], expected: int
) -> None:
    assert units(*intents()) == expected, bill

"""The bill of a plan, against bills worked out by hand from DynamoDB's price list."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, LocalIndex, Table, Unique
from dynaorm.item.size import item_size
from dynaorm.item.update import SetTo
from dynaorm.plan.cost import sent_bytes
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


def test_a_delete_costs_what_was_stored() -> None:
    assert units(Deletion(saved(plain_of(3000)))) == 3


def test_what_is_not_known_counts_as_one_kilobyte() -> None:
    assert units(Deletion(Key(Plain, name="p"))) == 1
    assert units(Edit(Key(Plain, name="p"), (SetTo(("text",), "x"),))) == 1


def test_a_check_costs_as_much_as_a_write() -> None:
    assert units(Check(Key(Plain, name="p"), F.text == "")) == 2
    assert units(Check(saved(Plain(name="p")))) == 2


def test_a_guard_costs_two_units_in_its_transaction() -> None:
    assert units(Save(Node(name="n"))) + 2 + 1 == units(Save(Node(name="n", label="l")))


def test_creating_a_guarded_versioned_entity_in_one_index_costs_seven() -> None:
    # 2 * (entity, which is the latest copy + guard + version) + 1 index entry; with a latest copy apart it were nine.
    assert units(Save(Article(name="a", slug="s"))) == 7


def test_a_further_version_costs_five_in_one_index() -> None:
    # 2 * (entity + version) + the entry, rewritten under one key because its projection is ALL; guards cost nothing.
    article = saved(Article(name="a", slug="s"))
    article.slug = "s"
    article.name = "a"
    assert units(Save(article)) == 0
    article.status = "old"
    assert units(Save(article)) == 2 * 2 + 2


def test_a_changed_unique_value_costs_a_release_and_a_claim() -> None:
    assert units(Save(changed(Article(name="a", slug="s"), slug="t"))) == 2 * (1 + 1 + 1 + 1) + 1


def test_burying_a_versioned_entity_costs_tombstone_release_and_the_index_entry() -> None:
    assert units(Deletion(saved(Article(name="a", slug="s")))) == 2 * (1 + 1) + 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"note": "n"}, 1 + 1),
        ({"status": "b"}, 1 + 2),
        ({"status": None}, 1 + 1),
        ({"status": "b", "note": "n"}, 1 + 2),
    ],
)
def test_updates_of_an_entity_in_an_index_of_everything(values: dict[str, Any], expected: int) -> None:
    assert units(Save(changed(Ticket(name="t", status="a"), **values))) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [({"note": "n"}, 1), ({"owner_name": "o"}, 1 + 1), ({"status": "b"}, 1 + 2), ({"status": None}, 1 + 1)],
)
def test_updates_of_an_entity_in_an_index_of_some_attributes(values: dict[str, Any], expected: int) -> None:
    assert units(Save(changed(Lean(name="t", status="a"), **values))) == expected


@pytest.mark.parametrize(("values", "expected"), [({"note": "n"}, 1), ({"status": "b"}, 1 + 2 + 2)])
def test_updates_of_an_entity_in_two_indexes_of_keys(values: dict[str, Any], expected: int) -> None:
    assert units(Save(changed(Bones(name="t", status="a"), **values))) == expected


def test_an_entity_outside_of_an_index_pays_nothing_for_it() -> None:
    assert units(Save(Ticket(name="t"))) == 1
    assert units(Save(Ticket(name="t", status="a"))) == 2
    assert units(Save(changed(Ticket(name="t"), status="a"))) == 2
    assert units(Deletion(saved(Ticket(name="t", status="a")))) == 2


def test_a_large_projected_item_is_paid_for_in_the_index_too() -> None:
    assert units(Save(Ticket(name="t", status="a", note="n" * 3500))) == 4 + 4
    assert units(Save(Lean(name="t", status="a", note="n" * 3500))) == 4 + 1


def test_an_index_entry_that_shrinks_costs_what_it_was() -> None:
    assert units(Save(changed(Ticket(name="t", status="a", note="n" * 3500), note=""))) == 4 + 4
    assert units(Save(changed(Ticket(name="t", status="a"), note="n" * 3500))) == 4 + 4


def test_a_move_pays_both_places_and_moves_the_index_entry() -> None:
    assert units(Move(changed(Ticket(name="t", status="a"), name="u"))) == 2 * (1 + 1) + 1 + 1


def test_index_entries_are_not_doubled_in_a_transaction() -> None:
    assert units(Save(Ticket(name="t", status="a")), Save(Ticket(name="u", status="a"))) == 2 * 2 + 2


def test_an_index_on_the_tables_own_keys_holds_guards_and_versions_too() -> None:
    assert units(Save(Node(name="n", label="l"))) == 2 * 3 + 3
    assert units(Save(changed(Node(name="n", label="l"), label="m"))) == 2 * 4 + 3
    assert units(Deletion(saved(Node(name="n", label="l")))) == 2 * 2 + 1


def test_a_guard_is_in_the_indexes_of_the_table_it_lives_in() -> None:
    assert units(Save(Away(name="a", nick="n"))) == 2 + 2 + 1
    assert units(Save(Near(name="a", nick="n"))) == 2 + 2 + 1
    assert units(Save(Away(name="a"))) == 1
    assert units(Save(Near(name="a"))) == 1 + 1


def test_a_check_writes_no_index_entry() -> None:
    ticket = saved(Ticket(name="a", status="open"))
    assert units(Check(ticket)) == 2
    assert units(Check(Key(Ticket, name="a"), F.note == "x")) == 2


def test_what_is_sent_counts_keys_values_and_items() -> None:
    removal = plan_of(Deletion(Key(Plain, name="n" * 1000))).actions[0].action
    assert sent_bytes(removal) >= 1000
    assert sent_bytes(plan_of(Save(Plain(name="n", text="t" * 1000))).actions[0].action) >= 1000

"""A plan as a value: its operation, its request, and the limits it keeps before anything is sent."""

from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Attribute, Entity, F, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import ItemTooLarge, PlanTooLarge
from dynaorm.item.action import Update
from dynaorm.item.size import item_size
from dynaorm.item.update import Append, Change, SetTo, apply_changes
from dynaorm.plan.intent import Check, Edit, Intent, Save
from dynaorm.plan.plan import Plan, sent_bytes
from tests.plan.cast import User
from tests.plan.compiling import plan_of

ITEM_LIMIT = 409_600
TRANSACTION_LIMIT = 4_194_304

app = Table("plan-app")


class Blob(Entity, table=app, pk="BLOB#{name}", sk="B"):
    name: str
    text: str = ""
    lines: list[str] = Field(default_factory=list)


class Deep(Entity, table=app, pk="DEEP#{name}", sk="D"):
    name: str
    text: str = ""
    number: int = 0
    tags: set[str] = Field(default_factory=set)
    lines: list[str] = Field(default_factory=list)
    members: Annotated[dict[str, str], Attribute("an_attribute_with_a_long_name" * 8)] = Field(
        default_factory=dict
    )
    lists: dict[str, list[str]] = Field(default_factory=dict)


def blob_of(size: int, name: str = "b") -> Blob:
    """An entity whose item has exactly this many bytes."""
    (planned,) = plan_of(Save(Blob(name=name))).actions
    assert planned.after is not None
    blob = Blob(name=name, text="x" * (size - item_size(planned.after)))
    (planned,) = plan_of(Save(blob)).actions if size <= ITEM_LIMIT else (planned,)
    return blob


def test_a_plan_names_its_operation_and_actions() -> None:
    one, other = plan_of(Save(Blob(name="a"))), plan_of(Save(Blob(name="a")), Save(Blob(name="b")))
    assert repr(one) == f"<Plan of PutItem: {one.actions[0]!r}>"
    assert repr(other) == f"<Plan of TransactWriteItems: {other.actions[0]!r}, {other.actions[1]!r}>"


def test_an_item_of_exactly_400_kb_is_planned_and_one_byte_more_is_refused_naming_the_entity() -> None:
    (planned,) = plan_of(Save(blob_of(ITEM_LIMIT))).actions
    assert item_size(planned.after or {}) == ITEM_LIMIT
    with pytest.raises(ItemTooLarge, match=r"409,601 bytes.*409,600") as raised:
        plan_of(Save(blob_of(ITEM_LIMIT + 1)))
    assert (raised.value.key, raised.value.bytes) == (Key(Blob, name="b"), ITEM_LIMIT + 1)


@pytest.mark.parametrize(
    "change",
    [
        SetTo(("text",), "x" * ITEM_LIMIT),
        Append(("lines",), ("x" * ITEM_LIMIT,)),
        SetTo(("members", "a"), "x" * ITEM_LIMIT),
        Append(("lists", "a"), ("x" * ITEM_LIMIT,)),
    ],
    ids=["set", "append", "set a member", "append to a member"],
)
def test_a_blind_update_with_too_large_a_value_is_refused(change: Change) -> None:
    with pytest.raises(ItemTooLarge):
        plan_of(Edit(Key(Deep, name="d"), (change,)))


@pytest.mark.parametrize(
    ("entity", "changes"),
    [
        (Deep(name="d"), lambda text: (F.text.set(text),)),
        (Deep(name="d"), lambda text: (F.members["a"].set("x"), F.members["b"].set(text))),
        (
            Deep(name="d", lines=[""] * 40),
            lambda text: (*(F.lines[n].set("x") for n in range(39)), F.lines[39].set(text)),
        ),
        (
            Deep(name="d", lists={"a": [], "b": [""]}),
            lambda text: (F.lists["a"].append("x", text), F.lists["b"][0].set("x")),
        ),
        (Deep(name="d", tags={"a"}), lambda text: (F.tags.add("b"), F.text.set(text))),
        (
            Deep(name="d", number=123_456_789_123),
            lambda text: (F.number.add(-123_456_789_123), F.text.set(text)),
        ),
        (Deep(name="d", lines=["x"]), lambda text: (F.lines.set_if_missing(["y" * 99]), F.text.set(text))),
    ],
    ids=["whole", "members", "elements", "nested lists", "sets", "sums", "missing"],
)
def test_a_blind_update_that_makes_an_item_of_exactly_400_kb_is_planned(
    entity: Deep, changes: Callable[[str], tuple[Change, ...]]
) -> None:
    # What the changes do not name is left out: nothing makes up for a byte too many.
    values = mapping_of(Deep).encoder.encode(vars(entity))
    names = {mapping_of(Deep).fields[str(one.path[0])].attribute for one in changes("")}
    item = {**Key(Deep, name="d").primary_key, **{name: values[name] for name in names & values.keys()}}

    def size(text: str) -> int:
        (planned,) = plan_of(Edit(Key(Deep, name="d"), changes(text))).actions
        assert isinstance(planned.action, Update)
        return item_size(apply_changes(item, planned.action.changes))

    assert size("x" * (ITEM_LIMIT - size(""))) == ITEM_LIMIT


def test_a_hundred_actions_are_planned_and_one_more_is_refused() -> None:
    blobs = [Save(Blob(name=str(number))) for number in range(101)]
    assert len(plan_of(*blobs[:100]).actions) == 100
    with pytest.raises(PlanTooLarge, match=r"number 101 is Put .*: insert Blob\(name='100'\)") as raised:
        plan_of(*blobs)
    assert raised.value.actions == 101


def test_four_megabytes_exactly_are_planned_and_one_byte_more_is_refused() -> None:
    blobs = [Save(blob_of(400_000, str(number))) for number in range(10)]
    rest = TRANSACTION_LIMIT - 10 * 400_000
    plan = plan_of(*blobs, Save(blob_of(rest, "last")))
    assert sum(sent_bytes(planned.action) for planned in plan.actions) == TRANSACTION_LIMIT
    with pytest.raises(PlanTooLarge, match="4,194,305 bytes") as raised:
        plan_of(*blobs, Save(blob_of(rest + 1, "last")))
    assert (raised.value.actions, raised.value.bytes) == (11, TRANSACTION_LIMIT + 1)


def test_values_of_blind_updates_and_of_conditions_count_towards_four_megabytes() -> None:
    def edits(count: int) -> list[Intent]:
        change = SetTo(("text",), "x" * 350_000)
        return [Edit(Key(Blob, name=str(number)), (change,)) for number in range(count)]

    plan_of(*edits(11))
    with pytest.raises(PlanTooLarge):
        plan_of(*edits(12))
    with pytest.raises(PlanTooLarge):
        plan_of(*edits(11), Check(Key(Blob, name="x"), F.text == "y" * 350_000))


def test_a_request_is_fresh_and_equal_each_time() -> None:
    plan = plan_of(Save(Blob(name="1")), Save(User(user_id="1", email="a")))
    first, second = plan.to_request(), plan.to_request()
    assert first == second
    assert first is not second
    assert repr(first) == repr(second)
    first["TransactItems"][0]["Put"]["Item"]["name"]["S"] = "***"
    first["TransactItems"].clear()
    assert plan.to_request() == second


def test_an_empty_plan_says_so_and_costs_nothing() -> None:
    plan = Plan((), None)
    assert (str(plan), plan.write_units) == ("Nothing to send: nothing changed.", 0)

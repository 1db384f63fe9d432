"""What follows from a unit of work, beside a reference of 40 lines: who holds what before it and after it.

Entities are inserted, saved, edited, overwritten, deleted, created anew, moved and checked, by objects and by keys.

A value that gets a holder is claimed, one that loses it is released, one that changes hands is passed on by one action.
A total gets the difference of what counts in it. A version is written of each versioned image that is another one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, F, Key, inspect
from dynaorm.entity.state import state_of
from dynaorm.entity.table import ident_of
from dynaorm.errors import UniqueViolation
from dynaorm.item.action import ConditionCheck, Update, to_wire
from dynaorm.item.condition import And, Condition, equals
from dynaorm.item.update import SetTo, apply_changes
from dynaorm.item.value import Item
from dynaorm.plan.guards import GUARDS
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Move, Reads, Save
from dynaorm.plan.plan import Plan
from dynaorm.plan.totals import TOTALS
from tests.plan.cast import Member, Paper, Person, Team, teams
from tests.plan.compiling import added, committed, loaded, plan_of, reads_of, saved, stored

TEXTS: Final = st.sampled_from([None, "a", "A", "b", ""])
VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "tenant": st.sampled_from(["t", "u"]),
    "seat": st.sampled_from([None, 0, 1]),
    "email": TEXTS,
    "handle": TEXTS,
    "desk": TEXTS,
    "badge": TEXTS,
    "active": st.booleans(),
    "team": st.sampled_from([None, "red", "blue"]),
    "leads": st.sampled_from([None, "red"]),
    "hours": st.sampled_from([None, Decimal(0), Decimal("1.5"), Decimal(3)]),
    "note": st.sampled_from(["", "x", "left out"]),
}

KINDS: Final[tuple[type[Entity], ...]] = (Person, Member, Paper)
BASES: Final[Mapping[type[Entity], list[type[Entity]]]] = {
    Person: [Person], Member: [Member, Person], Paper: [Paper]
}  # fmt: skip
"""The classes whose keys name an entity: its own, and its base."""
NOTHING: Final[Item] = {}
"""Stands for having read that nothing is stored."""

State: TypeAlias = tuple[type[Entity], dict[str, Any]]
"""A class, and the values of an entity."""


# -- the reference -----------------------------------------------------------------------------------------------------


def held(state: State | None) -> Iterable[str]:
    """The values that an entity holds, as the keys of their guards."""
    if state is None:
        return
    kind, one = state
    if one["email"] is not None:
        yield f"mail#{one['email']}" if kind is Paper else f"email#{one['email'].casefold()}"
    if kind is Paper:
        return
    if one["seat"] is not None:
        yield f"seat#{one['tenant']}#{one['seat']}"
    if one["handle"] is not None:
        yield f"handle#{one['tenant']}#{one['handle']}"
    if one["desk"] is not None and one["active"]:
        yield f"desk#{one['desk']}"
    if one.get("badge") is not None:
        yield f"badge#{one['badge']}"


def counted(state: State | None) -> Counter[tuple[str, str]]:
    """What an entity adds to the totals of teams."""
    found: Counter[tuple[str, str]] = Counter()
    if state is None:
        return found
    kind, one = state
    if one.get("leads") is not None:
        found[one["leads"], "leaders"] += 1
    if one["team"] is None:
        return found
    if one["note"] != "left out" if kind is Paper else one["active"]:
        found[one["team"], "papers" if kind is Paper else "people"] += 1
        found[one["team"], "hours"] += one.get("hours") or 0
    return found


class Step:
    """One entity in a unit of work: what is stored, what is to be stored, the intents that say so, what was read."""

    def __init__(
        self,
        before: State | None,
        after: State | None,
        *intents: Intent,
        read: Item | None = None,
        version: int = 1,
    ) -> None:
        self.before, self.after, self.intents, self.read, self.version = before, after, intents, read, version

    def __repr__(self) -> str:
        return f"{self.intents} of {self.before}, to be {self.after}"

    @property
    def is_written(self) -> bool:
        """Whether it is part of the plan: what is overwritten or created anew is, though nothing changes."""
        anew = len(self.intents) > 1
        return self.before != self.after or anew or any(getattr(one, "overwrite", 0) for one in self.intents)

    def holders(self, state: State | None) -> dict[str, str]:
        literal = "PAPER" if state is not None and state[0] is Paper else "PERSON"
        return {
            slot.replace("a#b", "a%23b"): f"{literal}#{state[1]['name']}" for slot in held(state) if state
        }


def expected(
    steps: Iterable[Step],
) -> tuple[dict[str, tuple[str, str]], dict[tuple[str, str], Any], set[str], bool]:
    """The action on each guard with its holder, what is added to each total, and whether two claim one value.

    Also the teams in which an entity is counted that was not before: only these have to be stored.
    """
    before, after, joined, clash = dict[str, str](), dict[str, str](), set[str](), False
    totals: Counter[tuple[str, str]] = Counter()
    for step in steps:
        if not step.is_written:
            continue
        before |= step.holders(step.before)
        for slot, holder in step.holders(step.after).items():
            clash = clash or slot in after
            after[slot] = holder
        totals.update(counted(step.after))
        totals.subtract(counted(step.before))
        counts = {one for one in counted(step.after) if one[1] != "hours"}
        # What is moved joins under its new key.
        former = () if type(step.intents[0]) is Move else counted(step.before)
        joined |= {team for team, total in counts if (team, total) not in former}
    actions = {
        slot: ("claim", after[slot]) if slot not in before
        else ("release", before[slot]) if slot not in after
        else ("pass on", after[slot])
        for slot in before.keys() | after.keys()
        if before.get(slot) != after.get(slot)
    }  # fmt: skip
    return actions, {total: number for total, number in totals.items() if number}, joined, clash


# -- units of work -----------------------------------------------------------------------------------------------------


def values_of(draw: Any, kind: type[Entity], name: str) -> dict[str, Any]:
    return {
        "name": name,
        **{field: draw(one) for field, one in VALUES.items() if field in kind.model_fields},
    }


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    found: list[Step] = []
    taken: set[str] = set()
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(KINDS))
        before: State | None = (kind, values_of(draw, kind, f"{number}"))
        if draw(st.booleans()) or not taken.isdisjoint(held(before)):
            before = None
        taken |= {*held(before)}
        found.append(_step(draw, kind, before, number))
    return draw(st.permutations(found))


def _step(draw: st.DrawFn, kind: type[Entity], before: State | None, number: int) -> Step:
    if before is None:
        values = values_of(draw, kind, f"new {number}")
        return _insert(draw, kind, values)
    entity, name = saved(kind(**before[1])), before[1]["name"]
    read: Any = state_of(entity).item  # type: ignore[union-attr]  # it was saved
    ways = ["save", "save", "edit", "edit by key", "delete", "stray delete", "delete by key", "move", "check"]
    way = draw(st.sampled_from([*ways, "overwrite", "anew"]))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=4))
    changes = {name: draw(VALUES[name]) for name in names if name in kind.model_fields}
    if way.startswith("edit") and changes:
        by_key, named = (
            way.endswith("key"),
            kind if "badge" in changes else draw(st.sampled_from(BASES[kind])),
        )
        edits = tuple(SetTo((field,), value) for field, value in changes.items())
        edit = Edit(Key(named, name=name) if by_key else entity, edits)
        after = kind, {**before[1], **changes}
        return Step(before, after, edit, read=read if by_key else None, version=2)
    if way == "delete by key":
        return Step(before, None, Deletion(Key(draw(st.sampled_from(BASES[kind])), name=name)), read=read)
    if way.endswith("delete"):
        vars(entity).update(changes if way.startswith("stray") else {})  # what was loaded is deleted
        return Step(before, None, Deletion(entity))
    if way == "check":
        return Step(before, before, Check(entity))
    if way in ("overwrite", "anew"):
        other = draw(st.sampled_from([one for one in KINDS if BASES[one][-1] is BASES[kind][-1]]))
        values = {**values_of(draw, other, name), **changes}
        new = Save(other(**values), overwrite=way == "overwrite")
        intents = (new,) if way == "overwrite" else draw(st.permutations([Deletion(entity), new]))
        after = other, {one: value for one, value in values.items() if one in other.model_fields}
        return Step(before, after, *intents, read=read if way == "overwrite" else None, version=2)
    if way == "move" and kind is not Paper:
        changes["name"] = f"moved {number}"
        vars(entity).update(changes)
        return Step(before, (kind, {**before[1], **changes}), Move(entity))
    vars(entity).update(changes)
    return Step(before, (kind, {**before[1], **changes}), Save(entity), version=2)


def _insert(draw: st.DrawFn, kind: type[Entity], values: dict[str, Any]) -> Step:
    """An insert, of a versioned class perhaps in the place of a tombstone, or an upsert of what is not stored."""
    entity, after = kind(**values), (kind, values)
    if kind is Paper and draw(st.booleans()):
        former = saved(Paper(name=values["name"], email="former", team="former"))
        tombstone = plan_of(Deletion(former)).actions[0].after
        assert tombstone is not None
        return Step(None, after, Save(entity), read={**tombstone, "version": {"N": "99"}}, version=100)
    if draw(st.booleans()):
        return Step(None, after, Save(entity))
    changes = tuple(SetTo((name,), value) for name, value in values.items() if name != "name")
    upsert = Edit(Key(kind, name=values["name"]), changes, creates=True, read_first=True)
    return Step(None, after, upsert, read=NOTHING)


def guard_actions(plan: Plan) -> dict[str, tuple[str, str]]:
    """What is done to each guard, and for whom."""
    found = {}
    for one in plan.actions:
        if one.kind is GUARDS:
            owner = one.before if one.purpose.value == "release" else one.after
            assert owner is not None
            found[one.item_key["PK"]["S"]] = (one.purpose.value, owner["owner"]["M"]["PK"]["S"])
    return found


@settings(max_examples=100)
@given(steps())
def test_guards_totals_and_versions_follow_from_who_holds_what_before_and_after(given: list[Step]) -> None:
    actions, totals, joined, clash = expected(given)
    reads = Reads(
        {
            ident_of(teams, step.read or step.intents[0].target.primary_key): step.read or None  # type: ignore[union-attr]
            for step in given
            if step.read is not None
        }
    )
    try:
        plan = plan_of(*(one for step in given for one in step.intents), reads=reads)
    except UniqueViolation:
        event("a clash")
        assert clash
        return
    event("a plan")
    assert not clash
    assert guard_actions(plan) == actions
    assert {
        (target.removeprefix("TEAM#"), total): Decimal(number)
        for target, numbers in added(plan).items()
        for total, number in numbers.items()
    } == totals
    additions = [one for one in plan.actions if one.kind is TOTALS]
    assert {str(one.entity_key["PK"]["S"]) for one in additions if not one.from_read} == {
        f"TEAM#{team}" for team in joined & {team for team, _ in totals}
    }
    written = [
        f"{one.item_key['PK']['S']} {one.item_key['SK']['S']} {(one.after or {})['version']['N']}"
        for one in plan.actions
        if one.purpose.value == "version"
    ]
    assert sorted(written) == sorted(
        f"PAPER#{step.after[1]['name']} v{step.version}_P {step.version}"
        for step in given
        if step.after is not None and step.after[0] is Paper and step.is_written
    )
    assert len({one.ident for one in plan.actions}) == len(plan.actions)
    assert len({str(to_wire(one.action)) for one in plan.actions}) == len(plan.actions)


def test_who_stays_in_a_total_does_not_join_it_and_who_is_counted_in_another_way_does() -> None:
    stays, counted_otherwise = (
        saved(Person(name="a", team="red", hours=Decimal(1))),
        saved(Person(name="b", leads="red")),
    )
    stays.hours, counted_otherwise.team = Decimal(3), "red"
    for person, joins in ((stays, False), (counted_otherwise, True)):
        (addition,) = [one for one in plan_of(Save(person)).actions if one.kind is TOTALS]
        assert addition.from_read is not joins


# -- targets that are written themselves -------------------------------------------------------------------------------


def _label(team: Team, label: str) -> Team:
    team.label = label
    return team


def _moved(team: Team, name: str) -> Team:
    team.team = name
    return team


RED = Key(Team, team="red")
LABEL = (SetTo(("label",), "new"),)
# Each gives the intents that write the red team, its label afterwards, and whether it was read.
WRITES: Final[Mapping[str, Callable[[Team], tuple[list[Intent], str, bool]]]] = {
    "save": lambda team: ([Save(_label(team, "new"))], "new", False),
    "save without a change": lambda team: ([Save(team)], "old", False),
    "insert": lambda _: ([Save(Team(team="red", label="new"))], "new", False),
    "save under a condition": lambda team: ([Save(team, F.label == "old")], "old", False),
    "update": lambda team: ([Edit(team, LABEL)], "new", False),
    "update without effect": lambda team: (
        [Edit(_label(team, "stray"), (SetTo(("label",), "old"),), F.label == "old")],
        "old",
        False,
    ),
    "update by key": lambda _: ([Edit(RED, LABEL)], "new", False),
    "update of what was read": lambda _: ([Edit(RED, LABEL, read_first=True)], "new", True),
    "overwrite": lambda _: ([Save(Team(team="red", label="new"), overwrite=True)], "new", True),
    "overwrite with what was loaded": lambda team: ([Save(_label(team, "new"), overwrite=True)], "new", True),
    "delete and create anew": lambda team: ([Deletion(team), Save(Team(team="red", label="new"))], "new", False),
    "check": lambda team: ([Check(_label(team, "not saved"))], "old", False),
    "check by key": lambda _: ([Check(RED, F.label == "old")], "old", False),
    "swap": lambda team: (
        [Move(_moved(team, "blue")), Move(_moved(loaded(Team(team="blue", label="new"), people=5), "red"))],
        "new",
        False,
    ),
}  # fmt: skip


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(WRITES)),
    st.none() | st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
    st.data(),
)
def test_a_target_that_is_written_beside_what_it_counts_gets_the_sum(
    way: str, stored_people: int | None, joining: int, leaving: int, data: st.DataObject
) -> None:
    if way == "insert":
        stored_people = leaving = 0
    people = stored_people or 0  # a total that is not stored is 0
    team = loaded(Team(team="red", label="old"), people=people + 2 if "loaded" in way else stored_people)
    item = stored(Team(team="red", label="old"), people=stored_people)
    intents, label, is_read = WRITES[way](team)
    reads = reads_of(teams, item) if is_read else NOTHING_READ
    others: list[Intent] = [Save(Person(name=f"joining {number}", team="red")) for number in range(joining)]
    gone = [saved(Person(name=f"leaving {number}", team="red")) for number in range(leaving)]
    plan = plan_of(*data.draw(st.permutations([*intents, *others, *map(Deletion, gone)])), reads=reads)
    total = people + joining - leaving
    expected = {**item, "label": {"S": label}, "people": {"N": str(total)}, "_rev": {"S": "w2"}}
    written = [one for one in plan.actions if one.item_key == RED.primary_key]
    if type(written[0].action) is ConditionCheck if written else True:
        assert (joining == leaving, label) == (True, "old")  # nothing is left to be written
        return
    (planned,) = written
    action = planned.action
    after = apply_changes(item, action.changes) if isinstance(action, Update) else planned.after
    assert after is not None
    assert {"people": {"N": "0"}, **after} == expected
    is_blind = "by key" in way or way == "insert"
    assert (equals("_rev", {"S": "w1"}) in parts(action.condition)) is not is_blind
    committed(plan)
    changes = {"label": ("old", "not saved")} if way == "check" else {}
    (first,) = intents if len(intents) == 1 else [None]
    if getattr(first, "entity", getattr(first, "target", None)) is team:
        assert any(effect.entity is team for effect in plan.effects)
    for one in (effect.entity for effect in plan.effects):
        if isinstance(one, Team) and one.team == "red" and inspect(one).loaded:
            assert one.people == total
            assert (inspect(one).revision, inspect(one).changes) == ("w2", changes)


def parts(condition: Condition | None) -> tuple[Condition | None, ...]:
    return condition.parts if isinstance(condition, And) else (condition,)

"""What follows from a unit of work, beside a reference of 40 lines: who holds what before it and after it.

A value that gets a holder is claimed, one that loses it is released, one that changes hands is passed on by one action.
A total gets the difference of what counts in it. A version is written of each versioned image that is another one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Aggregate, Entity, F, Table, Unique
from dynaorm.errors import UniqueViolation
from dynaorm.item.action import to_wire
from dynaorm.item.update import SetTo
from dynaorm.plan.intent import Deletion, Edit, Intent, Move, Save
from dynaorm.plan.kinds.guards import GUARDS
from dynaorm.plan.kinds.totals import TOTALS
from dynaorm.plan.plan import Plan
from tests.plan.compiling import added, plan_of, saved

app = Table("derived")


class Team(Entity, table=app, pk="TEAM#{team}", sk="T"):
    team: str
    label: str
    people: int = 0
    leaders: int = 0
    papers: int = 0
    hours: Decimal = Decimal(0)


class Person(Entity, table=app, pk="PERSON#{name}", sk="P", unique={"seat": ("tenant", "seat")}):
    name: str
    tenant: str = "t"
    seat: int | None = None
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    handle: Annotated[str | None, Unique(scope=("tenant",))] = None
    desk: Annotated[str | None, Unique(when=F.active == True)] = None  # noqa: E712 - a condition
    active: bool = True
    team: str | None = None
    hours: Decimal | None = None
    note: str = ""
    leads: str | None = None
    is_leader = Aggregate(Team, count="leaders", key={"team": "leads"})
    in_team = Aggregate(Team, count="people", sum={"hours": "hours"}, when=lambda one: one.active)


class Member(Person):
    badge: Annotated[str | None, Unique()] = None


class Paper(Entity, table=app, pk="PAPER#{name}", sk="P", versioned=True):
    name: str
    email: Annotated[str | None, Unique("mail")] = None
    team: str | None = None
    note: str = ""
    of_team = Aggregate(Team, count="papers", when=F.note != "left out")


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
    """One entity in a unit of work: what is stored, what is to be stored, and the intent that says so."""

    def __init__(self, before: State | None, after: State | None, intent: Intent) -> None:
        self.before, self.after, self.intent = before, after, intent

    def __repr__(self) -> str:
        return f"{type(self.intent).__name__} of {self.before}, to be {self.after}"

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
        if step.before == step.after:
            continue  # it is no part of the plan
        before |= step.holders(step.before)
        for slot, holder in step.holders(step.after).items():
            clash = clash or slot in after
            after[slot] = holder
        totals.update(counted(step.after))
        totals.subtract(counted(step.before))
        counts = {one for one in counted(step.after) if one[1] != "hours"}
        # What is moved joins under its new key.
        former = () if type(step.intent) is Move else counted(step.before)
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
        return Step(None, (kind, values), Save(kind(**values)))
    entity = saved(kind(**before[1]))
    way = draw(st.sampled_from(["save", "save", "edit", "delete", "stray delete", "move"]))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=4))
    changes = {name: draw(VALUES[name]) for name in names if name in kind.model_fields}
    if way == "edit" and changes:
        edit = Edit(entity, tuple(SetTo((name,), value) for name, value in changes.items()))
        return Step(before, (kind, {**before[1], **changes}), edit)
    if way.endswith("delete"):
        vars(entity).update(changes if way.startswith("stray") else {})  # what was loaded is deleted
        return Step(before, None, Deletion(entity))
    if way == "move" and kind is not Paper:
        changes["name"] = f"moved {number}"
        vars(entity).update(changes)
        return Step(before, (kind, {**before[1], **changes}), Move(entity))
    vars(entity).update(changes)
    return Step(before, (kind, {**before[1], **changes}), Save(entity))


def guard_actions(plan: Plan) -> dict[str, tuple[str, str]]:
    """What is done to each guard, and for whom."""
    found = {}
    for one in plan.actions:
        if one.kind is GUARDS:
            owner = one.before if one.purpose.value == "release" else one.after
            assert owner is not None
            found[one.item_key["PK"]["S"]] = (one.purpose.value, owner["owner"]["M"]["PK"]["S"])
    return found


@settings(max_examples=150)
@given(steps())
def test_guards_totals_and_versions_follow_from_who_holds_what_before_and_after(given: list[Step]) -> None:
    actions, totals, joined, clash = expected(given)
    try:
        plan = plan_of(*(step.intent for step in given))
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
        f"{one.item_key['PK']['S']} {(one.after or {})['version']['N']}"
        for one in plan.actions
        if one.purpose.value == "version"
    ]
    assert sorted(written) == sorted(
        f"PAPER#{step.after[1]['name']} {1 if step.before is None else 2}"
        for step in given
        if step.after is not None and step.after[0] is Paper and step.after != step.before
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

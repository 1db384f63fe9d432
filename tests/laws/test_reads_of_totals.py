"""Law 3 for totals: a read by a total, in an index or a filter, is a plain filter over what the sources add up to."""

from collections import Counter
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, Key, NumberKey, Session, Table
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock

app = Table(
    "laws-totals",
    indexes=[
        GlobalIndex("Members", pk="title", sk=NumberKey("members")),
        GlobalIndex("Hours", pk="title", sk=NumberKey("hours"), projection="KEYS_ONLY"),
    ],
)


class Group(Entity, table=app, pk="GROUP#{group}", sk="G"):
    group: str
    title: str = "t"
    members: int = 0
    hours: Decimal = Decimal(0)
    by_members = Index("Members", pk="{title}", sk="{members}")
    by_hours = Index("Hours", pk="{title}", sk="{hours}")


class Member(Entity, table=app, pk="GROUP#{group}", sk="MEMBER#{name}"):
    group: str
    name: str
    hours: Decimal = Decimal(0)
    active: bool = True
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"}, when=F.active == True)  # noqa: E712


GROUPS, NAMES = st.sampled_from("abc"), st.sampled_from("xyz")
HOURS = st.sampled_from([Decimal(0), Decimal("0.25"), Decimal(-2), Decimal(10)])
STEPS = st.lists(
    st.tuples(st.sampled_from(["save", "save", "move", "switch", "delete"]), GROUPS, NAMES, HOURS, GROUPS),
    max_size=12,
)


def perform(session: Session, model: dict[tuple[str, str], Member], step: tuple[Any, ...]) -> None:
    """One write, which the model repeats if it was made."""
    do, group, name, hours, other = step
    if do == "save":
        model[group, name] = session.save(Member(group=group, name=name, hours=hours), overwrite=True)
        return
    if (group, name) not in model:
        return
    member = model[group, name]
    if do == "delete":
        session.delete(Key(Member, group=group, name=name))
        del model[group, name]
    elif do == "switch":
        model[group, name] = session.update(member, {"active": not member.active, "hours": hours})
    elif (other, name) not in model:
        del model[group, name]
        member.group = other
        model[other, name] = session.move(member)


@settings(max_examples=max(4, settings().max_examples // 5))
@given(steps=STEPS, bound=st.integers(0, 3), hours=HOURS, page=st.integers(1, 3))
def test_a_read_by_a_total_is_a_plain_filter(
    engine: Transport, steps: list[tuple[Any, ...]], bound: int, hours: Decimal, page: int
) -> None:
    session, model = Session(transport=engine, clock=FakeClock()), dict[tuple[str, str], Member]()
    session.create_table(app)
    try:
        for name in "abc":
            session.save(Group(group=name))
        for step in steps:
            perform(session, model, step)
        active = [one for one in model.values() if one.active]
        members = Counter(one.group for one in active)
        sums = {name: sum((one.hours for one in active if one.group == name), Decimal(0)) for name in "abc"}
        stored = {one.group: one for one in session.scan(Group)}
        assert {name: one.members for name, one in stored.items()} == {name: members[name] for name in stored}
        assert {name: one.hours for name, one in stored.items()} == {name: sums[name] for name in stored}
        assert stored.keys() == set("abc")

        wanted = {name for name in stored if members[name] >= bound}
        numbers = sorted(members[name] for name in wanted)
        query = session.query(Group.by_members, title="t").ge(members=bound)
        assert [one.members for one in query] == numbers
        assert {one.group for one in query} == wanted
        assert [one.members for one in query.descending()] == numbers[::-1]
        assert query.count() == len(query.keys().all()) == len(wanted)
        few = query.filter(F.hours > hours)
        assert {one.group for one in few} == {name for name in wanted if sums[name] > hours}
        found, cursor = [], None
        while True:
            part = query.page(page, after=cursor)
            found += [one.group for one in part]
            if (cursor := part.cursor) is None:
                break
        assert found == [one.group for one in query]
        low = session.query(Group.by_hours, title="t").lt(hours=hours)
        assert [one.hours for one in low] == sorted(sums[name] for name in stored if sums[name] < hours)
        assert low.count() == len(low.all())
    finally:
        engine.call(Call("DeleteTable", {"TableName": app.name}))

"""More kinds of operations: things that are moved, and memberships that are counted."""

from typing import Any, Final

from dynaorm import F, Key, Session
from tests.torture import entities as hot
from tests.torture.entities import Group, Membership, Parcel, name_of, name_of_entity, shown
from tests.torture.journal import Effect
from tests.torture.operations import (
    Family,
    Operation,
    World,
    by_key,
    changed,
    clash,
    effect_of,
    inserting,
    moving,
    saving_together,
)

HOURS = (0, 1, 2, 5)

# -- parcels: moves ----------------------------------------------------------------------------------------------------


def parcel_key(world: World) -> dict[str, Any]:
    return {"shelf": world.id(hot.SHELVES), "place": world.pick(hot.PLACES)}


def parcel_name(world: World) -> str:
    return name_of("Parcel", parcel_key(world))


def parcel_values(world: World) -> dict[str, Any]:
    return {"label": world.value(hot.LABELS), "weight": world.pick(HOURS)}


def new_parcel(world: World) -> Parcel:
    return Parcel(**parcel_key(world), **parcel_values(world))


parcels: Final = Family(parcel_name, new_parcel, parcel_values)


def create_parcel(world: World) -> Operation | None:
    """A parcel without a label has no guard item, so its insert can be a plain one."""
    parcel = new_parcel(world)
    return inserting(parcel, is_plain=parcel.label is None and world.chance.random() < 0.5)


def move_parcel(world: World) -> Operation | None:
    parcel = world.live(parcel_name)
    return parcel and moving(parcel, {**parcel_key(world), "weight": world.pick(HOURS)})


def swap_parcels(world: World) -> Operation | None:
    """Two parcels change places in one transaction: one Put for each key."""
    one, two = world.live(parcel_name), world.live(parcel_name)
    if one is None or two is None or name_of_entity(one) == name_of_entity(two):
        return None
    bases = {name_of_entity(each): effect_of(each, "save").base for each in (one, two)}
    if clash("Parcel", shown(one), shown(two)):
        return None
    one.shelf, one.place, two.shelf, two.place = two.shelf, two.place, one.shelf, one.place

    def send(session: Session) -> None:
        with session.transaction() as tx:
            tx.move(one)
            tx.move(two)

    effects = tuple(
        Effect(name_of_entity(each), "save", bases[name_of_entity(each)], shown(each)) for each in (one, two)
    )
    subjects = {name_of_entity(one): one, name_of_entity(two): two}
    return Operation("swap places", effects, send, subjects, is_of_objects=True)


def weigh_parcel(world: World) -> Operation | None:
    effect = Effect(parcel_name(world), "change", add={"weight": 1})
    return by_key("weigh", effect, lambda session, key: session.update(key, F.weight.add(1)))


# -- groups: totals ----------------------------------------------------------------------------------------------------


def group_name(world: World) -> str:
    return name_of("Group", {"group_id": world.id(hot.GROUPS)})


def membership_key(world: World) -> dict[str, Any]:
    return {"group_id": world.id(hot.GROUPS), "user_id": world.pick(hot.MEMBERS)}


def membership_name(world: World) -> str:
    return name_of("Membership", membership_key(world))


def membership_values(world: World) -> dict[str, Any]:
    return {
        "hours": world.pick(HOURS),
        "active": world.chance.random() < 0.8,
        "badge": world.value(hot.BADGES),
    }


groups: Final = Family(
    group_name,
    lambda world: Group(group_id=world.id(hot.GROUPS), name=world.pick(hot.NAMES)),
    lambda world: {"name": world.pick(hot.NAMES)},
)
"""A group is saved under its revision, which every member changes; one that is overwritten keeps its totals."""

members: Final = Family(
    membership_name,
    lambda world: Membership(**membership_key(world), **membership_values(world)),
    membership_values,
)


def join_in_two(world: World) -> Operation | None:
    """Two memberships of one group in one transaction: one addition to its totals."""
    first = membership_key(world)
    one, two = (
        Membership(group_id=first["group_id"], user_id=user, **(membership_values(world) | {"badge": None}))
        for user in hot.MEMBERS[:2]
    )
    return saving_together("join in two", (one, "insert"), (two, "insert"))


def work_hours(world: World) -> Operation | None:
    """By key: a total depends on it, so dynaorm reads first."""
    effect = Effect(membership_name(world), "change", add={"hours": 1})
    return by_key("work", effect, lambda session, key: session.update(key, F.hours.add(1)))


def change_groups(world: World) -> Operation | None:
    member = world.live(membership_name)
    return member and moving(member, {**membership_key(world), "hours": world.pick(HOURS)})


def rename_group(world: World) -> Operation | None:
    new = world.pick(hot.NAMES)
    effect = Effect(group_name(world), "change", values={"name": new})
    return by_key("rename group", effect, lambda session, key: session.update(key, F.name.set(new)))


def rename_and_join(world: World) -> Operation | None:
    """The group and its memberships in one transaction: one action for the group."""
    group = world.live(group_name)
    if group is None or not changed(group, {"name": world.pick(hot.NAMES)}):
        return None
    key = {**membership_key(world), "group_id": group.group_id}
    member = Membership(**key, **membership_values(world))
    return saving_together("rename and join", (member, "insert"), (group, "save"))


def delete_empty_group(world: World) -> Operation | None:
    effect = Effect(group_name(world), "delete", where={"members": 0})

    def send(session: Session, key: Key[Any]) -> None:
        session.delete(key, condition=F.members == 0)

    return by_key("delete empty group", effect, send)

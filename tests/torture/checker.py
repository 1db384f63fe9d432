"""The invariants of the table: each is a function of the raw items that returns every violation, with evidence."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.torture.entities import claims, kind_of, name_of
from tests.torture.table import HIDDEN, Item, Snapshot, Stored


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: its name, the item or entity, and the evidence."""

    invariant: str
    subject: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.subject}\n    {self.evidence}"


Invariant: TypeAlias = Callable[[Snapshot], Iterator[Violation]]


def nothing_is_a_stranger(table: Snapshot) -> Iterator[Violation]:
    """Every item is an entity, a version, a tombstone or a guard."""
    for item in table.strangers:
        yield Violation("nothing is a stranger", f"{item['PK']} {item['SK']}", str(item))


def keys_follow_from_fields(table: Snapshot) -> Iterator[Violation]:
    """Primary and index keys are what the fields render to. An item that is not in an index has no key of it."""
    for stored in (*table.entities.values(), *table.versions.values()):
        expected = _keys(stored)
        found = {name: stored.item[name] for name in ("PK", "SK", "GSI1PK", "GSI1SK") if name in stored.item}
        if found != expected:
            yield Violation("keys follow from fields", stored.name, f"{found} should be {expected}")


def every_value_is_guarded(table: Snapshot) -> Iterator[Violation]:
    """Every unique value of a live entity has its guard item."""
    for entity in table.entities.values():
        for text in _claimed(entity):
            if text not in table.guards:
                yield Violation("every value is guarded", entity.name, f"no guard {text}: {entity.item}")


def every_guard_has_its_owner(table: Snapshot) -> Iterator[Violation]:
    """Every guard item names a live entity that has the value, and holds nothing else."""
    owners = {_frozen(entity.item): entity for entity in table.entities.values()}
    for text, guard in table.guards.items():
        owner = guard.get("owner", {}).get("M", {})
        entity = owners.get(_frozen(owner)) if owner.keys() == {"PK", "SK"} else None
        if entity is None or text not in _claimed(entity) or guard.keys() != {"PK", "SK", "owner"}:
            shown = "nobody" if entity is None else str(entity.item)
            yield Violation("every guard has its owner", text, f"{guard} belongs to {shown}")


def no_value_has_two_owners(table: Snapshot) -> Iterator[Violation]:
    """No two live entities claim one value, whatever the guards say."""
    owners: defaultdict[str, list[Stored]] = defaultdict(list)
    for entity in table.entities.values():
        for text in _claimed(entity):
            owners[text].append(entity)
    for text, found in owners.items():
        if len(found) > 1:
            yield Violation("no value has two owners", text, " and ".join(str(one.item) for one in found))


def versions_are_dense(table: Snapshot) -> Iterator[Violation]:
    """The numbers of versions have no gap, up to the number in the latest copy or tombstone. Old ones may be pruned."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for name, number in table.versions:
        numbers[name].add(number)
    latest = {name: one for name, one in (table.entities | table.tombstones).items() if one.version}
    for name in sorted(numbers.keys() | latest.keys()):
        first = min(numbers[name], default=1)
        expected = set(range(first, latest[name].version + 1)) if name in latest else set()
        if numbers[name] != expected:
            missing, beyond = sorted(expected - numbers[name]), sorted(numbers[name] - expected)
            yield Violation("versions are dense", name, f"missing {missing}, too many {beyond}")


def the_latest_copy_is_the_newest_version(table: Snapshot) -> Iterator[Violation]:
    """A live document equals its newest version, except for type, index keys and sort key."""
    for name, entity in table.entities.items():
        newest = table.versions.get((name, entity.version))
        if newest is not None and _content(newest) != _content(entity):
            evidence = f"{entity.item} but {newest.item}"
            yield Violation("the latest copy is the newest version", name, evidence)


def totals_add_up(table: Snapshot) -> Iterator[Violation]:
    """The totals of a group are those of its active memberships. If there are some, the group exists."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entity in table.entities.values():
        values = entity.values or {}
        if kind_of(entity.name) == "Group":
            sums[entity.name][0] += 0
        elif kind_of(entity.name) == "Membership" and values["active"]:
            total = sums[name_of("Group", values)]
            total[0] += 1
            total[1] += values["hours"]
    for name, (members, hours) in sums.items():
        group = table.entities.get(name)
        values = {} if group is None else group.values or {}
        if (values.get("members"), values.get("hours")) != (members, hours):
            said = "no group" if group is None else str(group.item)
            yield Violation("totals add up", name, f"{members} members and {hours} hours, but {said}")


INVARIANTS: Final[tuple[Invariant, ...]] = (
    nothing_is_a_stranger,
    keys_follow_from_fields,
    every_value_is_guarded,
    every_guard_has_its_owner,
    no_value_has_two_owners,
    versions_are_dense,
    the_latest_copy_is_the_newest_version,
    totals_add_up,
)


def check_table(table: Snapshot) -> list[Violation]:
    """Every violation of every invariant."""
    return [violation for invariant in INVARIANTS for violation in invariant(table)]


def _claimed(entity: Stored) -> set[str]:
    return set(claims(kind_of(entity.name), entity.values or {}).values())


def _frozen(item: Item) -> tuple[tuple[str, Any], ...]:
    """A primary key that can be used in a dict."""
    return tuple((name, item[name].get("S")) for name in ("PK", "SK"))


def _content(stored: Stored) -> dict[str, Mapping[str, Any]]:
    left_out = HIDDEN - {"PK", "_rev", "version", "version_at"}
    return {name: value for name, value in stored.item.items() if name not in left_out}


def _keys(stored: Stored) -> dict[str, Mapping[str, Any]]:
    """The keys of an item, as declared in ``entities``."""
    values = stored.values or {}
    kind = kind_of(stored.name)
    partition, sort = (
        {
            "User": "USER#{id} PROFILE",
            "Document": "DOC#{id} v0_TEXT",
            "Parcel": "SHELF#{shelf} PLACE#{place}",
            "Group": "GROUP#{group_id} INFO",
            "Membership": "GROUP#{group_id} USER#{user_id}",
            "Note": "NOTE#{id} NOTE",
            "Loose": "LOOSE#{id} LOOSE",
            "Lease": "LEASE#{id} LEASE",
        }[kind]
        .format_map(values)
        .split(" ")
    )
    keys = {"PK": partition, "SK": sort}
    is_latest = stored.item["SK"]["S"].startswith("v0_")
    if kind == "Document" and not is_latest:
        keys["SK"] = f"v{stored.version}_TEXT"
    if kind == "User" and "team" in values:
        keys |= {"GSI1PK": f"TEAM#{values['team']}", "GSI1SK": f"NAME#{values['name']}"}
    return {name: {"S": value} for name, value in keys.items()}

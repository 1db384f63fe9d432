"""Entities of a drawn class as a model keeps them, and the comparison of the stored items with it."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from dynaorm.errors import DynaormError, InvalidValue, UniqueViolation
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.laws.mixed_classes import GUARDS, TABLE, TOTALS, Classes, Spec, Values
from tests.laws.mixed_items import Expected, Stored, cut

Place: TypeAlias = str
"""A primary key as text."""

Raw: TypeAlias = Mapping[str, Mapping[Place, Item]]
"""The items of each table."""

Problems: TypeAlias = list[type[DynaormError]]
"""Why a write is refused; empty if it is not."""


class One:
    """An entity as the model knows it, and the object that stands for it.

    ``more`` are attributes, and ``former`` is a type, that another program wrote.
    """

    def __init__(self, kind: str, values: Values) -> None:
        self.kind, self.values = kind, values
        self.more: Stored = {}
        self.former = ""
        self.object: Any = None

    def copy(self, **values: Any) -> "One":
        found = One(self.kind, {**self.values, **values})
        found.more, found.former, found.object = self.more, self.former, self.object
        return found


def place_of(key: Mapping[str, Any]) -> Place:
    return repr({name: key[name] for name in ("PK", "SK") if name in key})


class State:
    """What the model believes to be stored."""

    def __init__(self) -> None:
        self.ones: dict[Place, One] = {}
        self.guards: dict[tuple[str, str], Place] = {}
        self.expiries: dict[tuple[str, str], Any] = {}
        self.totals: dict[str, list[int]] = {}
        self.versions: dict[Place, dict[int, One]] = {}
        self.deleted: set[Place] = set()
        self.tokens = 0

    def copy(self) -> "State":
        found = State()
        found.ones, found.guards, found.expiries = dict(self.ones), dict(self.guards), dict(self.expiries)
        found.totals = {of: list(total) for of, total in self.totals.items()}
        found.versions = {place: dict(one) for place, one in self.versions.items()}
        found.deleted, found.tokens = set(self.deleted), self.tokens
        return found


class Model:
    """What a write makes of a state."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.expected = spec, Expected(spec)

    def place(self, values: Values) -> Place:
        return place_of(self.expected.key(values))

    def is_live(self, one: One | None, now: datetime, *, margin: int = 0) -> bool:
        until = None if one is None else one.values.get("until")
        return one is not None and (until is None or until > now - timedelta(seconds=margin))

    def normal(self, values: Values) -> Values:
        """Values as they are after a write."""
        found = dict(values)
        found["at"] = cut(found["at"], self.spec.codec)
        if found["info"].seen is not None:
            found["info"] = found["info"].model_copy(update={"seen": cut(found["info"].seen, "iso")})
        if found.get("until") is not None:
            found["until"] = cut(found["until"], self.spec.expires)
        return found

    def write(self, state: State, one: One, now: datetime, *, former: Place | None = None) -> Problems:
        """Store an entity, with what follows from it. Returns why that is refused."""
        place, problems = self.place(one.values), Problems()
        if not 0 <= one.values["num"] <= 9:
            return [InvalidValue]
        self.release(state, former or place)
        self.release(state, place)
        for claim in self.expected.claims(one.values):
            holder = state.guards.get(claim)
            other = None if holder is None else state.ones.get(holder)
            if holder not in (None, place) and self.is_live(other, now, margin=60):
                problems.append(UniqueViolation)
            state.guards[claim] = place
            state.expiries[claim] = self.expected.attributes(one.values).get("until")
        state.ones[place] = one
        self._count(state, one, 1)
        state.deleted.discard(place)
        return problems

    def release(self, state: State, place: Place) -> None:
        """Take an entity out of a state, with what follows from it."""
        one = state.ones.pop(place, None)
        if one is None:
            return
        for claim in self.expected.claims(one.values):
            if state.guards.get(claim) == place:
                del state.guards[claim], state.expiries[claim]
        self._count(state, one, -1)

    def delete(self, state: State, place: Place) -> None:
        self.release(state, place)
        if self.spec.versioned:
            state.deleted.add(place)

    def _count(self, state: State, one: One, sign: int) -> None:
        of = one.values["state"]
        if self.expected.is_counted(one.values) and (sign > 0 or of in state.totals):
            total = state.totals.setdefault(of, [0, 0])
            total[0] += sign
            total[1] += sign * one.values["num"]


class Checked:
    """Compares stored items with a model. ``since`` and ``now`` say when the last write was made."""

    def __init__(
        self, classes: Classes, known: State, before: Raw, after: Raw, since: datetime, now: datetime
    ) -> None:
        self.spec, self.expected = classes.spec, Expected(classes.spec)
        self.known, self.before, self.after = known, before, after
        self.since, self.now = since, now

    def check(self, state: State) -> None:
        """The stored items are those that the model says."""
        main = dict(self.after[TABLE])
        for place, one in state.ones.items():
            assert place in main, ("is not stored", place)
            item = main.pop(place)
            self._check_times(place, one, item)
            self._check_revision(place, item)
            self._check_item(one, item)
            if self.spec.versioned:
                self._check_versions(state, place, item, main)
        for place in state.deleted:
            tombstone = main.pop(place)
            assert tombstone["deleted"], place
            assert {*self._versions_of(tombstone, main)} == {*state.versions[place]}, place
        guards = dict(self.after[GUARDS]) if self.spec.guards else main
        for claim in state.guards:
            self._check_guard(state, claim, guards)
        totals = dict(self.after[TOTALS]) if self.spec.counted and self.spec.totals else main
        for of, total in state.totals.items():
            self._check_total(of, total, totals)
        # The guard items of what had expired stay until somebody claims the value, or DynamoDB deletes them.
        left = {place: one for place, one in {**main, **guards, **totals}.items() if not self._is_over(one)}
        tokens = [one for one in left if one.startswith("{'PK': {'S': '#token#")]
        assert len(tokens) == state.tokens, tokens
        assert len(left) == len(tokens), {place: one for place, one in left.items() if place not in tokens}

    def _check_times(self, place: Place, one: One, item: Item) -> None:
        """A write that changed the item has set its time, and that of the creation if there was none."""
        has_changed = self.before[TABLE].get(place) != item
        if not self.spec.times or not (has_changed or one.values["changed"] is None):
            return
        changed = datetime.strptime(item["changed"]["S"], "%Y-%m-%dT%H:%M:%S.%f%z")
        assert self.since <= changed <= self.now, (self.since, changed, self.now)
        one.values["changed"] = changed
        one.values["created"] = one.values["created"] or changed
        if self.spec.times == "many":
            one.values["created_ms"] = cut(one.values["created"], "ms")
            one.values["changed_iso"] = cut(changed, "iso")

    def _check_revision(self, place: Place, item: Item) -> None:
        """It changes when the item changes: a number by one, which begins anew for what replaces an expired entity."""
        old = self.before[TABLE].get(place)
        if self.spec.revision == "text":
            assert item["_rev"]["S"]
            assert old is None or (old["_rev"] == item["_rev"]) == (old == item)
        elif self.spec.revision:
            first = {"number": 1, "start": 0}[self.spec.revision]
            number, stood = number_in(item), self.known.ones.get(place)
            until = None if stood is None else stood.values.get("until")
            if old is None or (until is not None and until <= self.now and number == first):
                assert number == first
            elif stood is not None:
                was = number_in(old)
                assert was is not None
                assert number == was + (old != item), (was, number)

    def _check_item(self, one: One, item: Item) -> None:
        spec, found = self.spec, dict(copy.deepcopy(item))
        for name in ("_rev", "changes", *(("version", "version_at") if spec.versioned else ())):
            found.pop(name, None)
        if spec.typed == "own":
            assert found.pop("_type")["S"] in (one.former or one.kind, one.kind)
        if one.former and "remark" in found:
            assert "note" not in found
            found["note"] = found.pop("remark")
        expected = {
            **self.expected.key(one.values),
            **self.expected.attributes(one.values),
            **self.expected.index_keys(one.values),
            **one.more,
        }
        found = {
            name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in found.items()
        }
        names = {name for name in {*found, *expected} if found.get(name) != expected.get(name)}
        assert not names, {name: (found.get(name), expected.get(name)) for name in names}

    # -- versions ------------------------------------------------------------------------------------------------------

    def _versions_of(self, latest: Item, main: dict[Place, Item]) -> dict[int, Item]:
        """The versions of an item by their numbers. They are taken out of ``main``."""
        found = {}
        for place, one in [*main.items()]:
            number = int(one["version"]["N"]) if "version" in one else 0
            is_of_it = one["PK"] == latest["PK"] and number > 0 and "deleted" not in one
            if is_of_it and self._base({**one["SK"]}, number) == self._base({**latest["SK"]}, 0):
                found[number] = main.pop(place)
        return found

    def _base(self, sort: Stored, number: int) -> Any:
        """The sort key of an entity in that of its version; the whole key if it is of none with this number."""
        ((kind, value),) = sort.items()
        prefix: Any = self.expected.version_key("", number)
        return bytes(value).removeprefix(prefix.encode()) if kind == "B" else value.removeprefix(prefix)

    def _check_versions(self, state: State, place: Place, item: Item, main: dict[Place, Item]) -> None:
        found, number = self._versions_of(item, main), int(item["version"]["N"])
        latest, one = _plain(found[number]), state.ones[place]
        if self.spec.versioned == "some":
            assert "num" in latest
            assert "state" not in latest
        else:
            own = {*_plain(item)} - {*self.expected.index_keys(one.values), "theLabel"}
            assert own <= {*latest}, own - {*latest}
        assert latest == {name: value for name, value in _plain(item).items() if name in latest}
        for version in found.values():
            assert self.before[TABLE].get(place_of(version), version) == version, "history changed"
        state.versions.setdefault(place, {})[number] = one.copy()
        assert {*found} == {*state.versions[place]}, (place, {*found}, {*state.versions[place]})

    # -- what follows from entities ------------------------------------------------------------------------------------

    def _check_guard(self, state: State, claim: tuple[str, str], guards: dict[Place, Item]) -> None:
        key: Stored = {"PK": {"S": claim[0]}}
        if self.spec.guards or self.spec.sort:
            key["SK"] = {"S": claim[1]}
        owner = self.expected.key(state.ones[state.guards[claim]].values)
        if self.spec.guards:
            owner["table"] = {"S": TABLE}
        expiry = state.expiries[claim]
        expected = {**key, "owner": {"M": owner}} | ({} if expiry is None else {"until": expiry})
        assert guards.pop(place_of(key), None) == expected

    def _check_total(self, of: str, total: list[int], totals: dict[Place, Item]) -> None:
        text = of.replace("#", "%23") if self.spec.totals else self.expected.text(of)
        item = totals.pop(place_of({"PK": {"S": f"TOTAL#{text}"}, "SK": {"S": "TOTAL"}}))
        zero = {"N": "0"}
        assert [int(item.get(name, zero)["N"]) for name in ("things", "sum")] == total, item

    def _is_over(self, item: Item) -> bool:
        """Whether it is a guard item that has expired."""
        if "owner" not in item or "until" not in item:
            return False
        return int(item["until"]["N"]) < self.now.timestamp() * (1000 if self.spec.expires == "ms" else 1)


def _plain(item: Item) -> Stored:
    """What a version and the latest copy have in common."""
    unlike = {"SK", "_type", "_rev", "changes", "previous_deletion", "version_type"}
    return {name: one for name, one in item.items() if name not in unlike}


def number_in(item: Item) -> int | None:
    """The revision of an item, if it is a number."""
    found = item.get("changes")
    return None if found is None else int(found["N"])


def raw_items(engine: Transport, classes: Classes) -> Raw:
    found = {}
    for table in classes.tables:
        items = engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]
        found[table.name] = {place_of(item): item for item in items}
    return found


def now_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

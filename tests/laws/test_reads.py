"""Law 3: a read is a plain filter over all live entities, in key order."""

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import F, Session, any_of, inspect, item_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.item.path import value_at
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.laws.chains import METHODS, OPERATORS, Chain, chains, key_texts, pool_name
from tests.laws.classes import (
    NATIVE_SORT,
    NOON,
    PARTS,
    YESTERDAY,
    Declared,
    Row,
    declare,
    entity_of,
    levels,
    of_others,
    rows,
    schemas,
)
from tests.laws.conditions import holds
from tests.laws.pages import check_pages

# -- the read by dynaorm -----------------------------------------------------------------------------------------------


def query_of(session: Session, declared: Declared, chain: Chain) -> Any:
    sources: list[Any] = [
        declared.classes[name] if at is None else getattr(declared.classes[name], at)
        for name, at in chain.sources
    ]
    equal = {name: values[0] if len(values) == 1 else any_of(*values) for name, values in chain.equal}
    if chain.kind == "scan":
        query: Any = session.scan(sources[0], segments=chain.segments)
    elif chain.kind == "query":
        query = session.query(sources[0], **equal)
    else:
        query = session.collection(*sources, **equal)
    for name, sign, value in chain.bounds:
        query = getattr(query, METHODS.get(sign, sign))(**{name: value})
    for name, sign, value in chain.filters:
        path: Any = F
        for step in name.split("."):
            path = path[step]
        query = query.filter(_COMPARED[sign](path, value))
    query = query.descending() if chain.descending else query
    query = query.expired() if chain.expired else query
    return query if chain.limit is None else query.limit(chain.limit)


_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {**OPERATORS, "==": operator.eq, "!=": operator.ne}


# -- the read by Python ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stored:
    """What is stored: every entity with its item."""

    declared: Declared
    entities: Mapping[int, Any]
    items: Mapping[int, Mapping[str, Any]]

    def expected(self, chain: Chain) -> list[int]:
        """The rows that a chain finds, without its limit. With ``any_of`` nothing, it finds nothing."""
        if not all(values for _, values in chain.equal):
            return []
        return [row for row in self.items if self._is_found(chain, self.entities[row])]

    def _is_found(self, chain: Chain, entity: Any) -> bool:
        if entity.until == YESTERDAY and not chain.expired:
            return False
        if not all(
            self._compared(_COMPARED[sign], entity, name, value) for name, sign, value in chain.filters
        ):
            return False
        return any(
            isinstance(entity, self.declared.classes[name]) and self._fits(chain, name, at, entity)
            for name, at in chain.sources
        )

    def _compared(self, compare: Callable[[Any, Any], Any], entity: Any, name: str, value: Any) -> bool:
        if name.startswith("held."):
            member = entity.held.get(name.removeprefix("held."))
            return compare is operator.ne if member is None else bool(compare(member, value))
        if name != self.declared.schema.revision:
            return bool(compare(getattr(entity, name), value))
        # An item that no library has written yet has no number.
        stored = value_at(self.items[entity.row], tuple(name.split(".")))
        return compare is operator.ne if stored is None else bool(compare(int(stored["N"]), value))

    def _fits(self, chain: Chain, name: str, at: str | None, entity: Any) -> bool:
        texts = key_texts(self.declared, name, at)
        spec = self.declared.spec(self.declared.classes[name])
        if at is not None and not holds(dict(spec.indexes)[at].when, entity):
            return False
        # A class whose fields do not name the partition is in the partition that another one's fields name.
        named = {
            pool_name(self.declared, name, one): dict(chain.equal)[one]
            for one, spec in levels(texts[:1])
            if one in dict(chain.equal)
        }
        partition = self._partition(chain)
        own = {pool_name(self.declared, name, one) for one, _ in levels(texts[:1])}
        if own and partition and own.isdisjoint(partition):
            return False  # no text of the pool is a size, which another class may have in its place
        for pool, values in {**partition, **named}.items():
            if pool in own and getattr(entity, spec.own(pool)) not in values:
                return False
        case = {one for one, how in levels(texts[1:]) if how == "upper"}
        sort = {one for one, _ in levels(texts[1:])}

        def shown(one: str, value: Any) -> Any:
            return value.upper() if one in case else value

        for one, values in chain.equal:
            if one in sort and shown(one, getattr(entity, one)) not in [
                shown(one, value) for value in values
            ]:
                return False
        return all(
            _is_bounded(shown(one, getattr(entity, one)), sign, [shown(one, it) for it in _several(value)])
            for one, sign, value in chain.bounds
            if one in sort
        )

    def _partition(self, chain: Chain) -> dict[str, Sequence[Any]]:
        """What names the partitions, in any of the classes; where no shard is given, each is read."""
        given, found = dict(chain.equal), dict[str, Sequence[Any]]()
        for name, at in chain.sources:
            for one, _ in levels(key_texts(self.declared, name, at)[:1]):
                pool = pool_name(self.declared, name, one)
                if one in given:
                    found[pool] = given[one]
                elif pool == "part":
                    found.setdefault(pool, PARTS)
        return found

    def place(self, row: int, chain: Chain) -> tuple[Any, ...]:
        """Where an item stands in the order of the keys."""
        index = self.declared.spec(self.declared.classes[chain.classes[0]]).indexes
        names = (
            _SORT_KEYS[chain.index and chain.index.removesuffix("x")] if index or chain.index is None else ()
        )
        stored = [self.items[row][name] for name in names if name in self.items[row]]
        return tuple(Decimal(one["N"]) if "N" in one else next(iter(one.values())) for one in stored)


_SORT_KEYS: Mapping[str | None, Sequence[str]] = {
    None: ("SK",),
    "one": ("GSI1SK",),
    "two": ("GSI2SK",),
    "own": ("when",),
    "native": NATIVE_SORT,
    "local": ("LSI1SK",),
}


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _is_bounded(found: Any, sign: str, values: Sequence[Any]) -> bool:
    if sign == "between":
        return bool(values[0] <= found <= values[1])
    return bool(found.startswith(values[0])) if sign == "begins_with" else OPERATORS[sign](found, values[0])


# Each example makes a table, and reads it in a hundred ways.
EXAMPLES = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "15")))


# -- the law -----------------------------------------------------------------------------------------------------------


def numbered(item: Mapping[str, Any], path: str, number: int) -> Mapping[str, Any]:
    """An item with a revision as others keep it; without one for 0."""
    first, *rest = path.split(".")
    if not number:
        return {**item, first: {"M": {"by": {"S": "others"}}}} if rest else item
    value: Any = {"N": str(number)}
    return {**item, first: {"M": {rest[0]: value}} if rest else value}


def store(session: Session, engine: Transport, declared: Declared, drawn: Sequence[Row]) -> Stored:
    session.create_table(declared.table)
    entities = {number: entity_of(declared, row, number) for number, row in enumerate(drawn)}
    by_key = {repr(mapping_of(type(one)).primary_key.of(vars(one))): one for one in entities.values()}
    if declared.schema.revision:
        for one in by_key.values():
            item = numbered(item_of(one), declared.schema.revision, one.row % 4)
            engine.call(Call("PutItem", {"TableName": declared.table.name, "Item": item}))
    else:
        session.bulk_load(list(by_key.values()))
    items: dict[int, Mapping[str, Any]] = {}
    for item in engine.call(Call("Scan", {"TableName": declared.table.name}))["Items"]:
        number = int(item["row"]["N"])
        changed = of_others(item, drawn[number])
        if changed != item:
            engine.call(Call("PutItem", {"TableName": declared.table.name, "Item": changed}))
        items[number] = changed
    return Stored(declared, entities, items)


@EXAMPLES
@given(data=st.data())
def test_a_read_is_a_plain_filter(engine: Transport, transport: Transport, data: st.DataObject) -> None:
    schema = data.draw(schemas(numbered=True), label="schema")
    declared = declare(schema)
    session = Session(transport=transport, clock=FakeClock(NOON.timestamp()))
    drawn = data.draw(rows(schema), label="rows")
    stored = store(session, engine, declared, drawn)
    try:
        for _ in range(4):
            check(stored, session, data.draw(chains(declared, drawn), label="chain"), data)
    finally:
        engine.call(Call("DeleteTable", {"TableName": declared.table.name}))


def check(stored: Stored, session: Session, chain: Chain, data: st.DataObject) -> None:
    try:
        query = query_of(session, stored.declared, chain)
        found = query.all()
    except UsageError as refused:
        if not is_rightly_refused(str(refused)):
            raise
        event("refused")
        return
    wanted = stored.expected(chain)
    numbers = [entity.row for entity in found]
    places = [stored.place(number, chain) for number in numbers]
    ordered = sorted((stored.place(number, chain) for number in wanted), reverse=chain.descending)
    size = len(wanted) if chain.limit is None else min(chain.limit, len(wanted))
    event(f"{chain.kind}: {'found' if wanted else 'nothing'}")
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= set(wanted)
    assert len(numbers) == size
    if chain.kind != "scan":
        assert places == ordered[:size]
    for entity in found:
        assert entity == stored.entities[entity.row]
    assert [entity.row for entity in query] == numbers
    keys: list[Any] = [inspect(entity).key for entity in found]
    assert session.snapshot(keys) == session.get_many(keys)
    check_endings(query, found, data, is_scan=chain.kind == "scan")


def check_endings(query: Any, found: Sequence[Any], data: st.DataObject, *, is_scan: bool) -> None:
    numbers = [entity.row for entity in found]
    assert query.count() == len(found)
    keys = [inspect(entity).key for entity in found]
    assert list(query.keys()) == keys
    assert query.keys().all() == keys
    assert [one.row for one in [query.first()] if one is not None] == numbers[:1]
    check_pages(query, numbers, data, is_scan=is_scan)
    if len(found) == 1:
        assert query.one() == found[0]
    names = data.draw(
        st.lists(st.sampled_from(["row", "at", "flag", "until", "size"]), min_size=1, unique=True)
    )
    assert query.values(*names).all() == [tuple(getattr(one, name) for name in names) for one in found]


def is_rightly_refused(problem: str) -> bool:
    """Whether no key serves the fields: then nothing is sent, and the error says so."""
    return any(
        one in problem
        for one in (
            "comes after",
            "partition keys differ",
            "is in no key",
            "and DynamoDB refuses that",
            "can only be equal",
        )
    )

"""Guards and index keys: one guard for each live value, one live owner for each guard, keys as their templates say."""

from collections.abc import Iterator

from dynaorm.entity.dispatch import NotAnEntity
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import GlobalIndex
from dynaorm.errors import DynaormError
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.testing.census import Broken, Census, Inconsistency, Live, Stored


def broken_guards(census: Census) -> Iterator[Inconsistency]:
    """What is wrong with the guards of live entities, and with guards that are no live entity's."""
    guards: dict[tuple[str, str], list[Stored]] = {}
    for one in census.of(NotAnEntity.GUARD):
        guards.setdefault((one.table.name, _text(one)), []).append(one)
        yield from _shape(one)
    for live in census.live.values():
        for (home, text), constraint in live.guards.items():
            found = guards.get((home, text))
            if found is None:
                yield live.stored.breaks(
                    Broken.NO_GUARD, f"{constraint}: there is no item {text!r} in {home}"
                )
            else:
                yield from _held(live, found[0], constraint)
    held = {place for live in census.live.values() for place in live.guards}
    for place, found in guards.items():
        yield from (one for guard in found for one in _owned(guard, place in held, census))


def _text(guard: Stored) -> str:
    return str(guard.item[guard.table.pk.name]["S"])


def _shape(guard: Stored) -> Iterator[Inconsistency]:
    allowed = {*guard.table.key_names, OWNER, guard.table.ttl_attribute}
    if others := sorted(guard.item.keys() - allowed):
        yield guard.breaks(Broken.GUARD_SHAPE, f"it has {', '.join(others)}")
    elif OWNER in guard.item and "M" not in guard.item[OWNER]:
        yield guard.breaks(Broken.GUARD_SHAPE, f"its {OWNER} is {guard.item[OWNER]}, not a map")


def _held(live: Live, guard: Stored, constraint: str) -> Iterator[Inconsistency]:
    owner = guard.item.get(OWNER)
    if owner is None:  # written by hand, as AWS published them: it holds the value all the same
        return
    if not same(owner, live.owner):
        yield live.stored.breaks(Broken.FOREIGN_GUARD, f"{constraint}: {_text(guard)!r} is owned by {owner}")
        return
    theirs, ours = _expiry(guard), live.mapping.expiry_of(live.stored.item)
    if theirs != ours:
        yield guard.breaks(Broken.GUARD_EXPIRY, f"it expires at {theirs}, and its entity at {ours}")


def _owned(guard: Stored, is_held: bool, census: Census) -> Iterator[Inconsistency]:
    """Whether somebody holds it. An owner other than that of the value is reported with the value."""
    expiry = _expiry(guard)
    if is_held or (expiry is not None and expiry <= census.now) or _is_unreadable(guard, census):
        return
    yield guard.breaks(Broken.ORPHAN_GUARD, f"it is owned by {guard.item.get(OWNER, 'nobody')}")


def _is_unreadable(guard: Stored, census: Census) -> bool:
    """Whether its owner may be an entity that could not be read, and is reported already."""
    owner = guard.item.get(OWNER, {}).get("M")
    return any(owner is not None and one.key.items() <= owner.items() for one in census.unreadable.values())


def _expiry(guard: Stored) -> int | None:
    attribute = guard.table.ttl_attribute
    found = guard.item.get(attribute) if attribute is not None else None
    return int(found["N"]) if found is not None and "N" in found else None


# -- index keys --------------------------------------------------------------------------------------------------------


def broken_index_keys(census: Census) -> Iterator[Inconsistency]:
    """Which entities are not under the index keys that their fields render."""
    for live in census.live.values():
        mapping, item = live.mapping, live.stored.item
        try:
            wanted = mapping.index_keys(mapping.subject(item))
        except DynaormError as problem:
            yield live.stored.breaks(Broken.INDEX_KEY, str(problem))
            continue
        for name in sorted(_key_attributes(mapping)):
            if not same(item.get(name), wanted.get(name)):
                yield live.stored.breaks(
                    Broken.INDEX_KEY,
                    f"{name} is {_shown(item.get(name))}, and should be {_shown(wanted.get(name))}",
                )


def _key_attributes(mapping: EntityMapping) -> set[str]:
    """The attributes that only index keys are: what the class makes up, and those of indexes it has no place in."""
    own = {name for index in mapping.indexes.values() for name in index.made_up}
    table, known = mapping.table, {field.attribute for field in mapping.fields.values()}
    for index in table.indexes.values():
        partition = index.pk if isinstance(index, GlobalIndex) else ()
        own |= {key.name for key in (*partition, *index.sk)}
    return own - known - set(table.key_names)


def _shown(value: AttributeValue | Item | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))

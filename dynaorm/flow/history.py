"""The history of an entity: its versions read, got, restored and compared, pruned and purged.

Versions are read by key. The latest copy has the number of the newest version, which gives the keys of all versions.
So no Query is needed, versions come in numeric order, and version 10 cannot be taken for version 1. Only where the
latest copy is missing or wrong, a Query reads the keys of all versions: they are texts, which do not sort as numbers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from dynaorm.argument import check_count, check_flag
from dynaorm.entity.declare.catalog import stored_class, version_class
from dynaorm.entity.key import Key, identity
from dynaorm.entity.key_part import DELETED, PREVIOUS_DELETION, VERSION, VERSION_AT
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import PendingWrite, put_values, set_state, state_of, unsettled_of
from dynaorm.entity.table import ident_of
from dynaorm.entity.version import Version, time_of, version_of
from dynaorm.errors import (
    Contention,
    EntityNotFound,
    NotVersioned,
    StaleEntity,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.failure import counted, shown
from dynaorm.flow.call import Call, Context, Flow, PageKeys, ReadCost, Refusal, last_key, waited
from dynaorm.flow.commit import commit, settle, unit_of_work
from dynaorm.flow.entity import replace_state
from dynaorm.flow.read import (
    BATCH_GET_LIMIT,
    Target,
    answered,
    check_keys,
    error_of_refusal,
    get_item,
    get_items,
    repeat,
    target_of,
)
from dynaorm.flow.write import send
from dynaorm.item.action import ConditionCheck, Delete, to_wire
from dynaorm.item.condition import And, Attr, BeginsWith, Compare, Condition, equals, missing, render
from dynaorm.item.path import Path, Placeholders
from dynaorm.item.size import ACTION_LIMIT
from dynaorm.item.value import AttributeValue, Item, same_items
from dynaorm.plan.intent import NEVER_EXPIRED, Reads, Save
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Basis, Plan, Planned
from dynaorm.plan.stored import refuse_other_revision, standing, writable_state
from dynaorm.plan.versions import VERSIONS, VersionPurpose, version_key
from dynaorm.record import replace


def check_versioned(mapping: EntityMapping) -> None:
    """Raises NotVersioned if the class keeps no versions."""
    if mapping.versioning is None:
        raise NotVersioned(entity=mapping.entity.__name__)


def latest(target: Target, context: Context) -> Flow[Item | None]:
    """Read the latest copy, live or a tombstone, strongly consistent; None if the entity was never stored."""
    check_versioned(target.mapping)
    return (yield from get_item(target.mapping.table, target.key, context))


def newest(target: Target, copy: Item) -> int:
    """Return the number of the newest version according to a latest copy; 0 for none. Raises DecodeError."""
    return target.mapping.loader.version_of(copy) or 0


def no_latest(target: Target) -> EntityNotFound:
    """The error of a call that needs the latest copy or the tombstone where there is neither."""
    name = target.mapping.entity.__name__
    return EntityNotFound(
        key=target.name,
        remedy=f"check the key's fields; if history finds versions of it, another program has deleted its "
        f"latest copy: repair of {name} puts a tombstone in its place, and then restore brings it back",
    )


def beginning(target: Target, context: Context) -> Flow[tuple[Target, int]]:
    """The entity with its stored class, and the number of its newest version; 0 if it has none. Raises DecodeError.

    If the latest copy is gone, which only another program can do, the versions that are stored are its history.
    """
    copy = yield from latest(target, context)
    return (yield from _beginning(target, copy, context))


def _beginning(target: Target, copy: Item | None, context: Context) -> Flow[tuple[Target, int]]:
    if copy is None:
        return target, (yield from newest_version(target.mapping, target.key, context))
    target = as_stored(target, copy)
    return target, newest(target, copy)


def as_stored(target: Target, item: Item) -> Target:
    """The same entity with the class that its item or tombstone names, which may be a subclass."""
    named = version_class(target.mapping, item) or stored_class(target.mapping, item)
    return replace(target, mapping=named or target.mapping)


def at_version(target: Target, number: int, context: Context) -> Flow[Version[Any] | None]:
    """Read one version; None if it was never written, or was pruned. Raises UsageError, DecodeError."""
    mapping = target.mapping
    check_number(mapping, number)
    item = yield from get_item(mapping.table, version_key(mapping, target.key, number), context)
    return _version(target, number, item) if item is not None else None


def check_number(mapping: EntityMapping, number: object) -> None:
    """Raises NotVersioned, and UsageError for what cannot be the number of a version."""
    check_versioned(mapping)
    if type(number) is not int or number < 1:
        raise UsageError(
            problem=f"{mapping.entity.__name__} has no version {shown(number)}",
            remedy="versions are numbered from 1; leave the version out for the latest copy",
        )


def _version(target: Target, number: int, item: Item) -> Version[Any]:
    """The version in an item, of the class that it names."""
    return version_of(version_class(target.mapping, item) or target.mapping, target.key, number, item)


def as_of(target: Target, at: datetime, context: Context) -> Flow[Version[Any] | None]:
    """Read the version that was the newest at a time; None before the first version, and while it was deleted."""
    check_aware(at, "as_of")
    copy = yield from latest(target, context)
    if copy is not None and DELETED in copy and time_of(target.mapping, copy) <= at:
        return None
    target, number = yield from _beginning(target, copy, context)
    while number > 0:
        items, number = yield from _page(target, number, context)
        for one, item in items.items():
            if time_of(target.mapping, item) <= at:
                return _version(target, one, item)
            # It was deleted then, and this version created it again later.
            if PREVIOUS_DELETION in item and time_of(target.mapping, item, PREVIOUS_DELETION) <= at:
                return None
    return None


def check_aware(at: datetime, name: str) -> None:
    """Raises UsageError if the value is not a datetime, or has no time zone."""
    if not isinstance(at, datetime):
        raise UsageError(
            problem=f"{name}={at!r} is not a datetime", remedy="give one with a time zone (datetime.now(UTC))"
        )
    if at.tzinfo is None:
        raise UsageError(problem=f"{name}={at!r} has no time zone", remedy="give it one (datetime.now(UTC))")


def page(target: Target, upper: int, context: Context) -> Flow[tuple[list[Version[Any]], int]]:
    """Read up to 100 versions from number ``upper`` down, newest first, and the number of the next; 0 at the end."""
    items, upper = yield from _page(target, upper, context)
    return [_version(target, number, item) for number, item in items.items()], upper


def _page(target: Target, upper: int, context: Context) -> Flow[tuple[dict[int, Item], int]]:
    numbers = _downwards(upper)
    items = yield from _version_items(target, numbers, context)
    # Versions are pruned from the oldest up, so there is nothing below an empty page.
    return {number: items[number] for number in numbers if number in items}, (numbers[-1] - 1 if items else 0)


def _downwards(upper: int) -> range:
    return range(upper, max(0, upper - BATCH_GET_LIMIT), -1)


def _version_items(target: Target, numbers: Sequence[int], context: Context) -> Flow[Mapping[int, Item]]:
    keys = {number: version_key(target.mapping, target.key, number) for number in numbers}
    items = yield from get_items(target.mapping.table, [*keys.values()], context)
    stored = {identity(target.mapping.key_of(item)): item for item in items}
    found = {number: stored.get(identity(key)) for number, key in keys.items()}
    return {number: item for number, item in found.items() if item is not None}


def _stored_versions(target: Target, upper: int, context: Context) -> Flow[dict[int, Item]]:
    """Read the items of all stored versions by number, oldest first."""
    found: dict[int, Item] = {}
    while upper > 0:
        numbers = _downwards(upper)
        items = yield from _version_items(target, numbers, context)
        found.update(items)
        upper = numbers[-1] - 1 if items else 0
    return dict(sorted(found.items()))


# -- an entity as it was -----------------------------------------------------------------------------------------------


def entity_at(target: Target, number: int | None, at: datetime | None, context: Context) -> Flow[Any | None]:
    """The entity at a version or a time; None if there was none, or one of a class that was not asked for."""
    if number is not None and at is not None:
        raise UsageError(problem="version= and as_of= both say which version is meant", remedy="give one")
    if number is not None:
        return _whole(target, (yield from at_version(target, number, context)))
    assert at is not None
    return _whole(target, (yield from as_of(target, at, context)))


def _whole(target: Target, version: Version[Any] | None) -> Any | None:
    """The entity of a version; None for none, or for one of a class that was not asked for.

    Raises:
        UsageError: versions hold some fields only.
    """
    if version is not None and version.entity is None:
        raise UsageError(
            problem=f"versions of {target.mapping.entity.__name__} have some fields only, so there is no whole entity",
            remedy="read the values from its history",
        )
    if version is None or not isinstance(version.entity, target.mapping.entity):
        return None
    return version.entity


def not_there(key: Key[Any], options: Mapping[str, Any]) -> EntityNotFound:
    """The error of a key under which nothing was at the version or time that these options of ``get`` name."""
    number = options.get("version")
    return _no_version(key, number) if number else EntityNotFound(key=key)


def _no_version(key: Key[Any], number: int) -> EntityNotFound:
    """The error for a version number that an entity does not have."""
    return EntityNotFound(
        key=key,
        problem=f"{key!r} has no version {number}",
        remedy="it was never written, or was pruned; look at its history",
    )


def restore(named: Any, version: int, context: Context, *, exactly_once: bool | None = None) -> Flow[Any]:
    """Save an entity as it was at a version: of a live one the versioned fields, of a deleted one everything.

    Raises:
        EntityNotFound: there is no such version.
        StaleEntity: the object given is not the latest any more.
        Contention: by key, other writers changed the entity during every attempt.
        StoreError: a unique value has been taken by somebody else; nothing was written.
    """
    if exactly_once is not None:
        check_flag("exactly_once={}", exactly_once)
    pauses = context.retry.pauses(context.clock)
    while True:
        try:
            return (yield from _restore(named, version, context, exactly_once=exactly_once))
        except StaleEntity as lost:
            # By key, what turned out to be stale was read here, and is read again.
            if not isinstance(named, Key):
                raise
            if not (yield from waited(pauses)):
                raise Contention(attempts=context.retry.attempts, code="ConditionalCheckFailed") from lost


def _restore(named: Any, version: int, context: Context, *, exactly_once: bool | None) -> Flow[Any]:
    target = target_of(named)
    check_number(target.mapping, version)
    if not isinstance(named, Key):
        yield from settle([Save(named)], context)
        # Settling may have given the object another state and key.
        target = target_of(named)
    if target.state is not None:
        writable_state(target.mapping, target.state, NEVER_EXPIRED)
    copy = yield from latest(target, context)
    if copy is None:
        raise no_latest(target)
    _check_latest(target, copy)
    asked, target = target, as_stored(target, copy)
    found = yield from at_version(target, version, context)
    if found is None:
        raise _no_version(target.name, version)
    saving = _restored(asked, target, copy, found)
    entity = saving.entity
    before = state_of(entity)
    # What was just judged is also what the write is bound to; ``commit`` does not read it again.
    reads = Reads({ident_of(target.mapping.table, target.key): copy})
    try:
        yield from commit([saving], context, exactly_once=exactly_once, reads=reads)
        return entity if isinstance(named, Key) else replace_state(named, entity)
    except BaseException:  # also what stops the program in the middle: Ctrl-C, a cancelled task
        if unsettled_of(entity) is None and state_of(entity) is not before:  # it is committed
            replace_state(named, entity)
        else:
            _wait_for(named, entity)
        raise


def _restored(asked: Target, target: Target, copy: Item, version: Version[Any]) -> Save:
    """What a restoration saves: a new entity for a tombstone, otherwise the stored one with other values."""
    if target.mapping.is_tombstone(copy):
        entity = _whole(asked, version)
        if entity is None:
            raise _no_version(asked.name, version.number)
        state = state_of(entity)
        # As a new entity it is inserted, over the tombstone. The state of a version is read-only.
        set_state(entity, None)
        return Save(entity, origin=state.item if state is not None else None)
    # An entity of a class that was not asked for is stored there: to ``get``, too, it is absent.
    if not issubclass(target.mapping.entity, asked.mapping.entity):
        raise EntityNotFound(key=asked.name)
    entity = target.mapping.loader.hydrate(copy)
    _check_class(target, version)
    put_values(entity, version.values)
    return Save(entity)


def _check_class(target: Target, version: Version[Any]) -> None:
    """Raises UsageError if a version is of another class than the entity that is stored now."""
    stored = target.mapping.entity
    if version.entity is not None and type(version.entity) is not stored:
        raise UsageError(
            problem=f"version {version.number} of {target.name!r} is a {type(version.entity).__name__}, and a "
            f"{stored.__name__} is stored now",
            remedy="delete it first, then restore the version",
        )


def _wait_for(named: Any, entity: Any) -> None:
    """Let the caller's object settle a restoration whose outcome is not known, and take its values if it was made."""
    unsettled = unsettled_of(entity)
    if unsettled is not None and type(named) is type(entity):
        effect = unsettled.effect.for_object(named, dict(vars(entity)))
        set_state(named, PendingWrite(unsettled.plan, effect, state_of(named)))


def _check_latest(target: Target, copy: Any) -> None:
    if target.state is None:
        return
    expected, found = (target.mapping.revision_of(item) for item in (target.state.item, copy))
    is_mark = target.mapping.table.mark_of(copy) is not None
    # Two writers may give the same number, and a table may have no revision: then the whole item is compared.
    if expected != found or (not is_mark and not same_items(target.state.item, copy)):
        there = standing(target.mapping, copy)
        raise StaleEntity(key=target.name, expected=expected, found=found, stored=there)


def diff(named: Any, first: int, second: int, context: Context) -> Flow[dict[str, tuple[Any, Any]]]:
    """The fields that differ between two versions: name to (value in the first, value in the second).

    Raises:
        EntityNotFound: one of the versions does not exist.
    """
    target = target_of(named)
    for number in (first, second):
        check_number(target.mapping, number)
    sides: list[Mapping[str, Any]] = []
    for number in (first, second):
        found = yield from at_version(target, number, context)
        if found is None:
            raise _no_version(target.name, number)
        sides.append(found.values)
    before, after = sides
    # The versions may be of two classes, either of which has fields that the other has not.
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: (before.get(name), after.get(name)) for name in names}


# -- pruning and purging -----------------------------------------------------------------------------------------------


def prune(target: Target, context: Context, *, keep: int | None, older_than: datetime | None) -> Flow[int]:
    """Delete old versions, oldest first, and return how many were deleted. The newest version always stays.

    An interrupted call leaves a history without gaps, and can be repeated.

    Raises:
        UsageError: neither or both of ``keep`` and ``older_than`` were given.
        EntityNotFound: the entity was never stored, or its latest copy is gone.
        DecodeError: another library keeps the revision of one of these items.
    """
    if (keep is None) == (older_than is None):
        raise UsageError(
            problem=f"prune(keep={shown(keep)}, older_than={shown(older_than)}) does not say what to delete",
            remedy="give either keep= (at least 1) or older_than=",
        )
    if keep is not None:
        check_count("keep={}", keep)
    if older_than is not None:
        check_aware(older_than, "older_than")
    copy = yield from latest(target, context)
    if copy is None:
        raise no_latest(target)
    last = newest(target, copy)
    stored = yield from _stored_versions(target, last, context)
    _refuse_other_revisions(target, copy, *stored.values())
    kept = last - (keep or 0)
    deleted = 0
    for number, item in stored.items():
        doomed = number <= kept if older_than is None else time_of(target.mapping, item) < older_than
        if not doomed or number == last:
            # Clocks differ, so a later version may have an earlier time: stop at the first version to keep.
            break
        # Compare the time: after a purge, another version may have the same number.
        unchanged = equals(VERSION_AT, item[VERSION_AT]) if VERSION_AT in item else missing(VERSION_AT)
        action = _deletion(target, number, unchanged, context)
        with _saying(deleted):
            deleted += yield from _delete(action, context)
    return deleted


@contextmanager
def _saying(deleted: int) -> Iterator[None]:
    """Let an error that ends a deletion of several versions say how many of them are deleted already."""
    try:
        yield
    except (Contention, Throttled, Unreachable) as trouble:
        if deleted or isinstance(trouble, Unreachable):
            trouble.remedy = f"at least {_deleted(deleted)}"
        raise
    except (UnexpectedRefusal, UsageError) as trouble:
        if deleted:
            trouble.remedy += f"; {_deleted(deleted)}"
        raise


def _deleted(count: int) -> str:
    return f"{counted(count, 'version was', 'versions were')} deleted; call it again to delete the rest"


def _refuse_other_revisions(target: Target, *items: Item) -> None:
    """Raises DecodeError if another library keeps the revision of an item that would be deleted."""
    for item in items:
        refuse_other_revision(target.mapping, item)


def _deletion(target: Target, number: int, condition: Condition | None, context: Context) -> Delete:
    table = context.table_name(target.mapping.table.name)
    return Delete(table, version_key(target.mapping, target.key, number), condition)


def _delete(action: Delete, context: Context) -> Flow[bool]:
    (body,) = to_wire(action).values()
    call = Call("DeleteItem", body)
    try:
        # Sent again after a lost answer, it finds nothing or a version of another time, and deletes neither.
        yield from answered(call, context)
    except Refusal as refusal:
        if refusal.code != "ConditionalCheckFailedException":
            raise error_of_refusal(refusal, call) from refusal
        return False
    return True


def purge(target: Target, context: Context) -> Flow[int]:
    """Delete the versions of a deleted entity, then its tombstone, and return how many versions were deleted.

    Each transaction has at most ``ACTION_LIMIT`` actions: it deletes versions, and checks the tombstone, so that an
    entity that was created again keeps its history. An interrupted call can be repeated.

    Raises:
        UsageError: the entity is not deleted.
        EntityNotFound: it was never stored, or is purged already.
        StaleEntity: it was created again during the purge.
        DecodeError: another library keeps the revision of one of these items.
    """
    copy = yield from latest(target, context)
    if copy is None:
        raise no_latest(target)
    if not target.mapping.is_tombstone(copy):
        raise UsageError(
            problem=f"{target.name!r} is not deleted",
            remedy="delete it first; use dynaorm.tools.prune to delete old versions of a live entity",
        )
    stored = yield from _stored_versions(target, newest(target, copy), context)
    _refuse_other_revisions(target, copy, *stored.values())
    numbers = list(stored)
    while True:
        step, numbers = numbers[: ACTION_LIMIT - 1], numbers[ACTION_LIMIT - 1 :]
        watch = _watch(target, copy, context, last=not numbers)
        unit = unit_of_work(context)
        actions = (watch, *_removals(target, step, context))
        with _saying(len(stored) - len(numbers) - len(step)):
            yield from send(Plan(actions, unit.write_id, made_at=unit.now), context)
        if not numbers:
            return len(stored)


def _watch(target: Target, tombstone: Item, context: Context, *, last: bool) -> Planned:
    """Check the tombstone, or delete it together with the last versions."""
    table = context.table_name(target.mapping.table.name)
    revision, attribute = target.mapping.table.mark_of(tombstone), target.mapping.table.revision_attribute
    if revision is not None and attribute is not None:
        values: dict[Path, AttributeValue] = {(attribute,): tombstone[attribute]}
    else:
        values = {(name,): tombstone[name] for name in (VERSION, VERSION_AT, DELETED) if name in tombstone}
    condition = And(tuple(Compare(Attr(path), "=", value) for path, value in values.items()))
    return Planned(
        Delete(table, target.key, condition) if last else ConditionCheck(table, target.key, condition),
        OWN_ITEM,
        ItemPurpose.PURGE if last else ItemPurpose.CHECK,
        target.mapping,
        target.key,
        before=tombstone,
        basis=Basis(expected=revision, expected_values=values if revision is None else None),
    )


def _removals(target: Target, numbers: Iterable[int], context: Context) -> Iterable[Planned]:
    for number in numbers:
        yield Planned(
            # Without a condition: the tombstone that is checked beside them says that nobody has created the entity
            # again.
            _deletion(target, number, None, context),
            VERSIONS,
            VersionPurpose.PURGE,
            target.mapping,
            target.key,
            label=number,
        )


# -- the newest version, whatever the latest copy says -----------------------------------------------------------------


def newest_version(
    mapping: EntityMapping, key: Item, context: Context, cost: ReadCost | None = None
) -> Flow[int]:
    """The highest number of a version stored beside a latest copy's key, strongly consistent; 0 if there is none.

    ``cost``: counts the requests and capacity, if given.
    """
    table = mapping.table
    request = _request_of_keys(mapping, key, context)
    page_keys: PageKeys[Item] = PageKeys()
    found = 0
    while True:
        reply = yield from repeat(Call("Query", request), context)
        if cost is not None:
            cost.add(reply)
        items = reply.get("Items", ())
        check_keys("Query", items, table.keys)
        found = max([found, *(version_beside(mapping, key, item) for item in items)])
        after = page_keys.checked("Query", last_key(reply))
        if after is None:
            return found
        request = {**request, "ExclusiveStartKey": after}


def version_beside(mapping: EntityMapping, key: Item, item: Item) -> int:
    """The number of the version in an item, if it is one of the entity with this latest copy's key; otherwise 0."""
    assert mapping.versioning is not None and mapping.sort is not None
    sort, template = mapping.sort.attribute, mapping.versioning.template
    if item[mapping.table.pk.name] != key[mapping.table.pk.name]:
        return 0
    stored = item[sort.name].get(sort.kind)
    if stored is None or template.latest_of(stored) != key[sort.name][sort.kind]:
        return 0
    return template.number_in(stored) or 0


def _request_of_keys(mapping: EntityMapping, key: Item, context: Context) -> dict[str, Any]:
    assert mapping.versioning is not None and mapping.sort is not None
    table, sort, template = mapping.table, mapping.sort.attribute, mapping.versioning.template
    latest = key[sort.name][sort.kind]
    # What the keys of all its versions begin with: those of two that differ from the first digit on.
    beginning = _common(template.rewrap(latest, 1), template.rewrap(latest, 2 * 10**template.padding))
    condition = equals(table.pk.name, key[table.pk.name])
    if beginning:
        condition = And((condition, BeginsWith((sort.name,), {sort.kind: beginning})))
    placeholders = Placeholders()
    return {
        "TableName": context.table_name(table.name),
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
        "KeyConditionExpression": render(condition, placeholders),
        "ProjectionExpression": ", ".join(placeholders.name(name) for name in table.key_names),
        "ExpressionAttributeNames": placeholders.names,
        "ExpressionAttributeValues": placeholders.values,
    }


def _common(one: str | bytes, other: str | bytes) -> str | bytes:
    length = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return one[:length]

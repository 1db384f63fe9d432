"""An entity as it was: got at a version or time, saved again as it was then, and compared between two versions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dynaorm.entity.ident import ident_of
from dynaorm.entity.key import Key
from dynaorm.entity.state import Unsettled, put_values, set_state, state_of, unsettled_of
from dynaorm.entity.version import Version
from dynaorm.errors import Contention, EntityNotFound, StaleEntity, UsageError
from dynaorm.flow import history
from dynaorm.flow.commit import commit, settle
from dynaorm.flow.entity import take_over
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import waited
from dynaorm.flow.target import Target, target_of
from dynaorm.item.value import Item, same
from dynaorm.plan.image import writable_state
from dynaorm.plan.intent import Save
from dynaorm.plan.reads import Reads
from dynaorm.plan.taken import standing
from dynaorm.plan.unit_of_work import EVER


def get(target: Target, number: int | None, at: datetime | None, context: Context) -> Flow[Any | None]:
    """The entity at a version or a time; None if there was none, or one of a class that was not asked for."""
    if number is not None and at is not None:
        raise UsageError(problem="version= and as_of= both say which version is meant", remedy="give one")
    if number is not None:
        return _whole(target, (yield from history.at_version(target, number, context)))
    assert at is not None
    return _whole(target, (yield from history.as_of(target, at, context)))


def _whole(target: Target, version: Version[Any] | None) -> Any | None:
    """The entity of a version; None for none, or for one of a class that was not asked for.

    Raises:
        UsageError: versions hold some fields only.
    """
    if version is not None and version.entity is None:
        raise UsageError(
            problem=f"versions of {target.mapping.entity.__name__} have some fields only, so there is no whole entity",
            remedy="read the values from session.history(...)",
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
        remedy="it was never written, or was pruned; look at session.history(...)",
    )


def restore(named: Any, version: int, context: Context, *, exactly_once: bool | None = None) -> Flow[Any]:
    """Save an entity as it was at a version: of a live one the versioned fields, of a deleted one everything.

    Raises:
        EntityNotFound: there is no such version.
        StaleEntity: the object given is not the latest any more.
        Contention: by key, other writers changed the entity during every attempt.
        StoreError: a unique value has been taken by somebody else; nothing was written.
    """
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
    history.check_number(target.mapping, version)
    if not isinstance(named, Key):
        yield from settle([Save(named)], context)
        # Settling may have given the object another state and key.
        target = target_of(named)
    if target.state is not None:
        writable_state(target.mapping, target.state, EVER)
    copy = yield from history.latest(target, context)
    if copy is None:
        raise history.no_latest(target)
    _check_latest(target, copy)
    asked, target = target, history.as_stored(target, copy)
    found = yield from history.at_version(target, version, context)
    if found is None:
        raise _no_version(target.name, version)
    saving = _restored(asked, target, copy, found)
    entity = saving.entity
    # What was just judged is also what the write is bound to; ``commit`` does not read it again.
    reads = Reads({ident_of(target.mapping.table, target.key): copy})
    try:
        yield from commit([saving], context, exactly_once=exactly_once, reads=reads)
    except BaseException:  # also what stops the program in the middle: Ctrl-C, a cancelled task
        _wait_for(named, entity)
        raise
    return entity if isinstance(named, Key) else take_over(named, entity)


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
    entity = target.mapping.hydrate(copy)
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
        set_state(named, Unsettled(unsettled.plan, effect, state_of(named)))


def _check_latest(target: Target, copy: Any) -> None:
    if target.state is None:
        return
    expected, found = (target.mapping.revision_of(item) for item in (target.state.item, copy))
    is_mark = target.mapping.table.mark_of(copy) is not None
    # Two writers may give the same number, and a table may have no revision: then the whole item is compared.
    if expected != found or (not is_mark and not same({"M": target.state.item}, {"M": copy})):
        there = standing(target.mapping, copy)
        raise StaleEntity(key=target.name, expected=expected, found=found, stored=there)


def diff(named: Any, first: int, second: int, context: Context) -> Flow[dict[str, tuple[Any, Any]]]:
    """The fields that differ between two versions: name to (value in the first, value in the second).

    Raises:
        EntityNotFound: one of the versions does not exist.
    """
    target = target_of(named)
    for number in (first, second):
        history.check_number(target.mapping, number)
    sides: list[Mapping[str, Any]] = []
    for number in (first, second):
        found = yield from history.at_version(target, number, context)
        if found is None:
            raise _no_version(target.name, number)
        sides.append(found.values)
    before, after = sides
    # The versions may be of two classes, either of which has fields that the other has not.
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: (before.get(name), after.get(name)) for name in names}

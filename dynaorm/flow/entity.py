"""The verbs of a session about one entity, besides getting it, as flows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from dynaorm.entity.declare.catalog import stored_class
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import put_values, set_state, state_of, unsettled_of
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.failure import shown
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.commit import commit
from dynaorm.flow.read import load, target_of
from dynaorm.item.condition import Condition
from dynaorm.item.update import AddTo, Change, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.edit import check_changes, check_complete, validate_changes
from dynaorm.plan.intent import NEVER_EXPIRED, Deletion, Edit
from dynaorm.plan.plan import hydrated
from dynaorm.plan.stored import writable_state
from dynaorm.record import replace


def refresh(entity: Any, context: Context) -> Flow[Any]:
    """Read a loaded entity again, consistently; or one whose insert has no known outcome.

    Raises:
        EntityNotFound: it is not stored.
        UsageError: it is new, was read at a version, or is no entity.
    """
    if isinstance(entity, Key):
        raise UsageError(
            problem=f"refresh() reads an object again, and got {entity!r}",
            remedy="get it by its key with get_one()",
        )
    target = target_of(entity)
    if target.state is not None or unsettled_of(entity) is None:
        writable_state(target.mapping, target.state, NEVER_EXPIRED)
    fresh = yield from load(target.mapping, target.key, context, consistent=True, required=target.name)
    if fresh is None:
        raise EntityNotFound(key=target.name)
    return replace_state(entity, fresh)


def replace_state(entity: Any, fresh: Any) -> Any:
    """Give an object the values and state that were read. A frozen object, or one of another class, is replaced."""
    if type(entity) is not type(fresh) or type(entity).model_config.get("frozen"):
        return fresh
    # Not by assignment: with ``validate_assignment``, validators would see the old and new values mixed. All at once,
    # or Ctrl-C could leave an object without values. The state comes last: with it, old values would count as changes.
    object.__setattr__(entity, "__dict__", {**vars(fresh)})
    object.__setattr__(entity, "__pydantic_fields_set__", set(fresh.model_fields_set))
    set_state(entity, state_of(fresh))
    return entity


def edit_of(named: Any, given: Sequence[Change | Mapping[str, Any]], condition: Condition | None) -> Edit:
    """The edit that ``update`` was called for, with validated values.

    Raises:
        UnknownField, InvalidValue, UsageError: it changes what an update cannot, or breaks a rule of a field.
    """
    changes = _changes_of("update", given)
    if not changes:
        raise UsageError(problem="update() was given nothing to change", remedy="name at least one change")
    return _validated(Edit(named, changes, condition))


def upsert_of(named: Any, given: Sequence[Change | Mapping[str, Any]], condition: Condition | None) -> Edit:
    """The edit that ``upsert`` was called for. Raises as ``edit_of``, and UsageError if it cannot create the entity."""
    if not isinstance(named, Key):
        raise UsageError(
            problem=f"upsert() takes a key, and got an object of {type(named).__name__}",
            remedy="give Key(Class, ...) and the changes; save(entity, overwrite=True) stores a whole object",
        )
    edit = _validated(Edit(named, _changes_of("upsert", given), condition, creates=True))
    check_complete(target_of(named).mapping, named, edit.changes)
    return edit


def _validated(edit: Edit) -> Edit:
    # Once, and here: the call raises the errors, before anything is read, and the edit may be compiled several times.
    mapping = target_of(edit.target).mapping
    check_changes(mapping, edit.changes)
    return replace(edit, changes=validate_changes(mapping, edit.changes))


def _changes_of(verb: str, given: Sequence[Change | Mapping[str, Any]]) -> tuple[Change, ...]:
    changes: list[Change] = []
    for one in given:
        if isinstance(one, Mapping):
            changes += [SetTo((name,), value) for name, value in one.items()]
        elif isinstance(one, Change):
            changes.append(one)
        else:
            raise UsageError(
                problem=f"{verb}() cannot make the change {shown(one)}",
                remedy='write F.field.set(value) and its like, or {"field": value}',
            )
    return tuple(changes)


def update(edit: Edit, context: Context, *, exactly_once: bool | None = None) -> Flow[Any]:
    """Make a partial update or an upsert: the entity that it made, the caller's own object where that may change."""
    mapping, item = yield from _updated(edit, context, exactly_once=exactly_once)
    entity = edit.target
    fresh = hydrated(mapping, item)
    if isinstance(entity, Key) or type(entity).model_config.get("frozen"):
        return fresh
    # A field may hold something unsaved, and the update name the value that is stored already.
    put_values(entity, {str(change.path[0]): vars(fresh)[str(change.path[0])] for change in edit.changes})
    return entity


def _updated(
    edit: Edit, context: Context, *, exactly_once: bool | None = None
) -> Flow[tuple[EntityMapping, Item]]:
    """Make one partial update: the class and the item that it made.

    A transaction does not return the item. So an update by key that is sent as one is bound to the item that was read,
    which says what it makes.
    """
    if exactly_once is None:
        exactly_once = context.exactly_once
    plan, item = yield from commit(
        [replace(edit, read_first=exactly_once)], context, exactly_once=exactly_once
    )
    if not plan.actions:
        # Nothing would change: the item that was read or loaded is the stored one.
        state = None if isinstance(edit.target, Key) else state_of(edit.target)
        item = state.item if state is not None else item
        assert item is not None
        mapping = target_of(edit.target).mapping
        return stored_class(mapping, item) or mapping, item
    first = plan.actions[0]
    item = first.after if item is None else item
    assert item is not None  # an update without a known outcome is a plain one, which returns the item
    return stored_class(first.mapping, item) or first.mapping, item


def next_number(named: Any, field: str, context: Context, *, exactly_once: bool | None = None) -> Flow[int]:
    """Add 1 to a counter: the number that it is then. It is created where its key and defaults suffice for that.

    Raises as ``update``.
    """
    if not isinstance(named, Key):
        raise UsageError(
            problem=f"next_number() takes a key, and got an object of {type(named).__name__}",
            remedy="give Key(Class, ...)",
        )
    edit = edit_of(named, [AddTo((field,), 1)], None)
    with suppress(UsageError):
        check_complete(target_of(named).mapping, named, edit.changes)
        edit = replace(edit, creates=True)
    counter = yield from update(edit, context, exactly_once=exactly_once)
    number: int = getattr(counter, field)
    return number


def touch_of(named: Any) -> Edit:
    """The edit that ``touch`` was called for.

    Raises:
        UsageError: it is no entity object, or nothing of its class would change.
    """
    if isinstance(named, Key):
        raise UsageError(
            problem=f"touch() says that a loaded object is unchanged, and got {named!r}",
            remedy="get the entity and touch the object",
        )
    mapping = target_of(named).mapping
    if mapping.table.revision is None and not mapping.updated:
        raise UsageError(
            problem=f"{mapping.entity.__name__} keeps neither a revision nor the time of its last write, so touch() "
            "would write nothing",
            remedy="declare Table(..., revision_attribute=...) or a field with UpdatedAt()",
        )
    return Edit(named, (), touches=True)


def delete(removal: Deletion, context: Context, *, exactly_once: bool | None = None) -> Flow[Any]:
    """Delete an entity: what was deleted, as a new entity, if the deletion returns it. Raises as ``commit``."""
    if removal.returning:
        is_transaction = context.exactly_once if exactly_once is None else exactly_once
        removal = replace(removal, read_first=is_transaction)
    plan, item = yield from commit([removal], context, exactly_once=exactly_once)
    if not (removal.returning and plan.actions):
        return None
    first = plan.actions[0]
    # A deletion that got no answer may have been recognised by its tombstone, which is then the item.
    item = item if first.before is None else first.before
    # No answer came, and nothing is stored any more: nobody knows what this deleted.
    if item is None:
        return None
    found = (stored_class(first.mapping, item) or first.mapping).loader.hydrate(item)
    set_state(found, None)
    return found

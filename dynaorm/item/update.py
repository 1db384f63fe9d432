"""Changes of an item: rendered as an update expression, or applied to an item in memory.

Rule 1. Every change reads the item as it was before the update. So two changes cannot have overlapping paths, and an
        index is that of the old list: elements are removed last, and elements set beyond the end are appended in order.
Rule 2. A missing attribute counts as its default; without one, a missing number counts as zero, a missing set or list
        as empty. A missing parent of a path is an error.
Rule 3. DynamoDB's ADD and DELETE accept top-level attributes only. A nested number is added with SET; a change of a
        nested set is applied in memory, and the outcome is set.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.item.path import EXPRESSION_LIMIT, Path, Placeholders, Resolver, dotted, overlaps, value_at
from dynaorm.item.value import EXACT, SET_TAGS, AttributeValue, Item, number_text, set_of
from dynaorm.record import record

_ZERO: Final[AttributeValue] = {"N": "0"}
_EMPTY_LIST: Final[AttributeValue] = {"L": []}


@record
class Change:
    """A change of one field: what ``F.visits.add(1)`` gives. ``update`` and ``upsert`` take changes."""

    path: Path


@record
class SetTo(Change):
    """Store this value."""

    value: Any


@record
class SetIfMissing(Change):
    """Store this value unless one is stored."""

    value: Any


@record
class AddTo(Change):
    """Add to a number, or add elements to a set. ``start`` is what an absent one counts as; None for 0 or empty."""

    value: Any
    start: AttributeValue | None = None


@record
class Append(Change):
    """Add these to the end of a list. ``start`` is what an absent one counts as; None for an empty one."""

    values: tuple[Any, ...]
    start: AttributeValue | None = None


@record
class Prepend(Change):
    """Add these to the start of a list, in this order. ``start`` as for ``Append``."""

    values: tuple[Any, ...]
    start: AttributeValue | None = None


@record
class Discard(Change):
    """Remove these from a set; DynamoDB removes a set that becomes empty. ``start`` as for ``AddTo``."""

    values: tuple[Any, ...]
    start: AttributeValue | None = None


@record
class Remove(Change):
    """Remove the attribute or element."""


def resolve_changes(changes: Iterable[Change], resolver: Resolver) -> tuple[Change, ...]:
    """The same changes on attribute names and attribute values, without those that add or discard nothing.

    Raises:
        UsageError: two changes have overlapping paths, or DynamoDB cannot make a change. Errors of the resolver are
            passed on.
    """
    resolved = [found for change in changes if (found := _resolved(change, resolver)) is not None]
    if len({change.path[0] for change in resolved}) == len(resolved):
        return tuple(resolved)
    for position, change in enumerate(resolved):
        for other in resolved[:position]:
            if overlaps(change.path, other.path):
                raise UsageError(
                    problem=f"{dotted(change.path)} and {dotted(other.path)} are changed in one update",
                    remedy="combine the two changes, or send two updates",
                )
    return tuple(resolved)


def _resolved(change: Change, resolver: Resolver) -> Change | None:
    path = resolver.attribute(change.path)
    match change:
        case SetTo() | SetIfMissing():
            return type(change)(path, resolver.encode(change.path, change.value, role="value"))
        case Append() | Prepend():
            values = tuple(resolver.encode(change.path, value, role="element") for value in change.values)
            return type(change)(path, values, resolver.start(change.path)) if values else None
        case AddTo():
            return _resolved_addition(change, path, resolver)
        case Discard():
            return _resolved_discard(change, path, resolver)
    return type(change)(path)


def _resolved_addition(change: AddTo, path: Path, resolver: Resolver) -> Change | None:
    # DynamoDB adds only to numbers and sets, so a text or binary is an element of a set.
    given = {change.value} if isinstance(change.value, (str, bytes)) else change.value
    value = resolver.encode(change.path, given, role="addend")
    ((tag, content),) = value.items()
    if isinstance(given, (set, frozenset)) and not content:
        return None
    if tag != "N" and tag not in SET_TAGS.values():
        raise UsageError(
            problem=f"{dotted(change.path)} is neither a number nor a set, so nothing can be added to it",
            remedy="use .set(...), or .append(...) on a list",
        )
    return AddTo(path, value, resolver.start(change.path))


def _resolved_discard(change: Discard, path: Path, resolver: Resolver) -> Change | None:
    members: list[object] = []
    for value in change.values:
        # A set of texts has another order in each process, and an equal block under a token has equal changes.
        members += sorted(value, key=repr) if isinstance(value, (set, frozenset)) else (value,)
    values = tuple(resolver.encode(change.path, member, role="element") for member in members)
    if not values:
        return None
    try:
        set_of(values)
    except ValueError as problem:
        raise UsageError(
            problem=f"{dotted(change.path)} is not a set: {problem}",
            remedy="use .set(...) with the value to store, or .remove() on an element: F.items[0].remove()",
        ) from problem
    return Discard(path, values, resolver.start(change.path))


def by_whole_fields(changes: Sequence[Change]) -> str:
    """The remedy for changes that do not fit what is stored: to set the fields of which they change parts."""
    parts = [change for change in changes if len(change.path) > 1] or changes
    names = dict.fromkeys(dotted(change.path[:1]) for change in parts)
    return f"set the whole field: {', '.join(f'F.{name}.set(...)' for name in names)}"


def render_update(changes: Iterable[Change], placeholders: Placeholders) -> str:
    """The update expression of resolved changes; empty if there are none.

    Raises:
        ValueError: a change adds to or discards from a nested set, or a set with a default.
        UsageError: it is longer than DynamoDB accepts.
    """
    clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
    for change in changes:
        keyword, text = _clause(change, placeholders.path(change.path), placeholders)
        clauses[keyword].append(text)
    text = " ".join(f"{keyword} {', '.join(texts)}" for keyword, texts in clauses.items() if texts)
    if len(text) > EXPRESSION_LIMIT:
        attributes = sum(map(len, clauses.values()))
        raise UsageError(
            problem=f"changes of {counted(attributes, 'attribute')} became an update expression of "
            f"{counted(len(text), 'character')}; "
            f"DynamoDB accepts {EXPRESSION_LIMIT}",
            remedy="change fewer at once, or store the whole item: session.save(entity, overwrite=True)",
        )
    return text


def _clause(change: Change, path: str, placeholders: Placeholders) -> tuple[str, str]:
    if isinstance(change, SetTo):
        return "SET", f"{path} = {placeholders.value(change.value)}"
    if isinstance(change, Remove):
        return "REMOVE", path
    # ADD begins at zero or an empty set: a default needs SET.
    if len(change.path) == 1 and getattr(change, "start", None) is None:
        if isinstance(change, AddTo):
            return "ADD", f"{path} {placeholders.value(change.value)}"
        if isinstance(change, Discard):
            return "DELETE", f"{path} {placeholders.value(set_of(change.values))}"
    return "SET", f"{path} = {_operand(change, path, placeholders.value)}"


def _operand(change: Change, path: str, value: Callable[[AttributeValue], str]) -> str:
    match change:
        case SetIfMissing():
            return f"if_not_exists({path}, {value(change.value)})"
        case Append(start=start):
            present = f"if_not_exists({path}, {value(start or _EMPTY_LIST)})"
            return f"list_append({present}, {value({'L': [*change.values]})})"
        case Prepend(start=start):
            added = value({"L": [*change.values]})
            return f"list_append({added}, if_not_exists({path}, {value(start or _EMPTY_LIST)}))"
        case AddTo(start=start) if "N" in change.value:
            return f"if_not_exists({path}, {value(start or _ZERO)}) + {value(change.value)}"
    raise ValueError(
        f"{dotted(change.path)} is a set that is nested or has a default; DynamoDB only replaces it as a whole"
    )


def apply_changes(item: Item, changes: Iterable[Change]) -> dict[str, AttributeValue]:
    """The item that DynamoDB would store after resolved changes; the given item is not changed.

    Raises:
        ValueError: DynamoDB would refuse the update: overlapping paths, a missing parent, or a value of the wrong type.
    """
    changes = tuple(changes)
    for position, change in enumerate(changes):
        if any(overlaps(change.path, other.path) for other in changes[:position]):
            raise ValueError(f"{dotted(change.path)} is changed twice in one update")
    after: AttributeValue = {"M": item}
    # In the order of Rule 1.
    for change in sorted((one for one in changes if not isinstance(one, Remove)), key=_position):
        after = with_part(after, change.path, changed_value(change, value_at(item, change.path)))
    removals = [one for one in changes if isinstance(one, Remove)]
    for change in sorted(removals, key=_position, reverse=True):
        after = with_part(after, change.path, None)
    return dict(after["M"])


def _position(change: Change) -> list[int]:
    return [step for step in change.path if isinstance(step, int)]


def with_part(value: AttributeValue, path: Path, new: AttributeValue | None) -> AttributeValue:
    """A copy with one part replaced, or removed if ``new`` is None."""
    step, rest = path[0], path[1:]
    tag = "M" if isinstance(step, str) else "L"
    if tag not in value:
        raise ValueError(
            f"the path leads through {step!r}, which a value of type {next(iter(value))} cannot have"
        )
    parts: Any = dict(value["M"]) if tag == "M" else list(value["L"])
    found = parts.get(step) if isinstance(step, str) else parts[step] if step < len(parts) else None
    if rest:
        if found is None:
            raise ValueError(f"the path leads through {step!r}, which is not stored")
        parts[step] = with_part(found, rest, new)
    elif new is None:
        if found is not None:
            del parts[step]
    elif found is None and tag == "L":
        # Rule 1: beyond the end of a list, DynamoDB appends.
        parts.append(new)
    else:
        parts[step] = new
    return {tag: parts}


def changed_value(change: Change, current: AttributeValue | None) -> AttributeValue | None:
    """What a change makes of a value; None for an absent one. Raises ValueError as ``apply_changes`` does."""
    match change:
        case SetTo(value=value):
            return {**value}
        case SetIfMissing(value=value):
            return {**value} if current is None else current
        case Append(values=values, start=start):
            return {"L": [*_content(change, current or start, "L"), *values]}
        case Prepend(values=values, start=start):
            return {"L": [*values, *_content(change, current or start, "L")]}
        case AddTo(value=value, start=start):
            return _sum(change, current or start, value)
        case Discard(values=values, start=start):
            return _rest(change, current or start, set_of(values))
    raise ValueError(f"{change!r} is not a change; use one of F")


def _content(change: Change, current: AttributeValue | None, tag: str) -> Any:
    if current is None:
        return ()
    if tag not in current:
        raise ValueError(f"{dotted(change.path)} has type {next(iter(current))}, not {tag}")
    return current[tag]


def _sum(change: Change, current: AttributeValue | None, value: AttributeValue) -> AttributeValue:
    ((tag, added),) = value.items()
    present = _content(change, current, tag)
    if tag != "N":
        identity = _IDENTITY[tag]
        known = set(map(identity, present))
        return {tag: [*present, *(one for one in added if identity(one) not in known)]}
    return {"N": number_text(EXACT.add(Decimal(present or 0), Decimal(added)))}


def _rest(change: Change, current: AttributeValue | None, value: AttributeValue) -> AttributeValue | None:
    ((tag, removed),) = value.items()
    identity = _IDENTITY[tag]
    gone = set(map(identity, removed))
    kept = [one for one in _content(change, current, tag) if identity(one) not in gone]
    return {tag: kept} if kept else None


# Numbers by value: 1.50 is the member 1.5.
_IDENTITY: Final[Mapping[str, Callable[[Any], object]]] = {"SS": str, "NS": Decimal, "BS": bytes}

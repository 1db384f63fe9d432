"""A plan's actions in words."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.key import Key, key_texts
from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.place import IndexMapping, IndexPlaces
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import texts_of
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.printable import printable
from dynaorm.item.update import AddTo
from dynaorm.item.value import Item
from dynaorm.plan.planned import Planned, Purpose

_MAIN: Final = (Purpose.INSERT, Purpose.UPDATE, Purpose.REPLACE)


def sentences(actions: Sequence[Planned]) -> list[str]:
    """One sentence per action: what is sent, to which item, and why."""
    # Stored text is part of it, and it is printed on terminals.
    return [printable(f"{_verb(planned)} {_where(planned)}: {reason(planned)}") for planned in actions]


def reason(planned: Planned) -> str:
    """Why an action is in the plan."""
    subject = _named(planned.subject)
    if planned.purpose is Purpose.AGGREGATE:
        return _added(planned, subject)
    if planned.purpose is Purpose.REMEMBER:
        return f"remember the token {planned.value!r}, if it is not remembered yet"
    claim = planned.claim
    value = "" if claim is None else f"{claim.constraint} = {claim.value!r}"
    text = {
        Purpose.INSERT: f"insert {subject}, if nothing is stored under its key",
        Purpose.UPDATE: f"write what changed of {subject}{_provided(planned)}",
        Purpose.UPSERT: f"create {subject} if it is not stored, otherwise write the changes",
        Purpose.REPLACE: f"replace {subject}{_provided(planned)}",
        Purpose.DELETE: f"delete {subject}{_provided(planned)}",
        Purpose.BURY: f"delete {subject}, leaving a tombstone that keeps its version number{_provided(planned)}",
        Purpose.VERSION: f"keep version {planned.number} of {subject}, a number never used before",
        Purpose.CLAIM: f"claim {value} for {subject}, if nobody else holds it",
        Purpose.PASS_ON: f"pass {value} on to {subject}, if it is still where it was",
        Purpose.RELEASE: f"release {value}, which {subject} no longer holds",
        Purpose.CHECK: f"write nothing, but refuse everything unless {subject} is as expected",
        Purpose.PURGE: f"remove version {planned.number} of {subject} for good"
        if planned.number is not None
        else f"remove the tombstone of {subject}, the last of its items",
    }[planned.purpose]
    text += _because(planned) if claim is not None else _placed(planned)
    if planned.totals:
        text += f", and only if nothing is counted in {' and '.join(planned.totals)} any more"
    return text + (", and only under the caller's condition" if planned.has_condition else "")


def _because(planned: Planned) -> str:
    """The condition of a unique value that is claimed."""
    when = planned.mapping.constraints[planned.constraint or ""].when
    text = when.text(planned.mapping.secrets.fields) if when is not None else ""
    return f", because {text}" if text and planned.purpose is Purpose.CLAIM else ""


def _placed(planned: Planned) -> str:
    """The places in indexes that an entity is in, or leaves, under a condition."""
    mapping, found = planned.mapping, []
    if planned.after is None or planned.purpose not in _MAIN:
        return ""
    for index in mapping.places.values():
        if all(place.when is None for place in index.places):
            continue
        before, after = (_place_in(mapping, index, item) for item in (planned.before, planned.after))
        if after is not None and after.when is not None:
            text = after.when.text(mapping.secrets.fields)
            why = f", because {text}" if text else ""
            found.append(f"; it is in {after.attribute_name} of {index.name}{why}")
        elif before is not None and before is not after:
            found.append(f"; it leaves {before.attribute_name} of {index.name}")
    return "".join(found)


def _place_in(mapping: EntityMapping, index: IndexPlaces, item: Item | None) -> IndexMapping | None:
    """The place of a stored item in an index; None if it has none, or cannot be read."""
    try:
        placed = placed_in(mapping, index, mapping.subject(item)) if item is not None else None
    except (DecodeError, UsageError):
        return None
    return placed[0] if placed is not None else None


def _added(planned: Planned, subject: str) -> str:
    assert isinstance(planned.action, Update)
    names = {field.attribute: name for name, field in planned.mapping.fields.items()}
    added = {
        names[str(change.path[0])]: change.value["N"]
        for change in planned.action.changes
        if isinstance(change, AddTo) and change.path[0] in names
    }
    texts = texts_of(planned.mapping.secrets.hiding(added), str)
    totals = " and ".join(f"{text} to {name}" for name, text in texts.items())
    keepers = dict.fromkeys(planned.mapping.maintained[name] for name in added)
    provided = ", if it exists" if planned.blind else ", or make it of its key"
    return f"add {totals} of {subject} for {' and '.join(keepers)}{provided}{_counted(planned, added)}"


def _counted(planned: Planned, added: Iterable[str]) -> str:
    """The conditions under which entities are counted in these totals."""
    target, texts = planned.mapping, dict[str, None]()
    for source in catalog_of(target.table).counted.values():
        for one in source.aggregates.values():
            text = one.when.text(source.secrets.fields) if one.when is not None else ""
            if text and is_of(target, mapping_of(one.target)) and {*one.maintained} & {*added}:
                texts[f"; {source.entity.__name__}.{one.name} counts where {text}"] = None
    return "".join(texts)


def _named(key: Key[Any]) -> str:
    assert key.entity is not None
    return f"{key.entity.__name__}({', '.join(f'{name}={text}' for name, text in key_texts(key).items())})"


def _provided(planned: Planned) -> str:
    if planned.blind:
        return ", if it exists"
    if planned.expected is not None:
        return f", if its revision is still {planned.expected}"
    if planned.expected_values is not None:
        return ", if what it depends on is unchanged"
    return ", whatever is stored"


def _verb(planned: Planned) -> str:
    action = planned.action
    if isinstance(action, ConditionCheck):
        return "Check"
    return "Put" if isinstance(action, Put) else "Delete" if isinstance(action, Delete) else "Update"


def _where(planned: Planned) -> str:
    mapping, key, constraint = planned.mapping, planned.item_key, planned.constraint
    shown = (
        mapping.secrets.hiding_key({**key})
        if constraint is None
        else mapping.secrets.hiding_guard(constraint, key)
    )
    texts = texts_of(shown, lambda value: str(next(iter(value.values()))))
    return " ".join([planned.action.table, *(f"{name}={text}" for name, text in texts.items())])

"""A plan's actions in words."""

from collections.abc import Sequence
from typing import Any

from dynaorm.entity.key import Key, field_texts
from dynaorm.failure import texts_of
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.printable import printable
from dynaorm.item.update import AddTo
from dynaorm.plan.planned import Planned, Purpose


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
    if planned.totals:
        text += f", and only if nothing is counted in {' and '.join(planned.totals)} any more"
    return text + (", and only under the caller's condition" if planned.has_condition else "")


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
    return f"add {totals} of {subject} for {' and '.join(keepers)}{provided}"


def _named(key: Key[Any]) -> str:
    assert key.entity is not None
    return f"{key.entity.__name__}({', '.join(f'{name}={text}' for name, text in field_texts(key).items())})"


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

"""What writes of an entity send: the plans of its insert, of a change of a field, and of its deletion.

Rule 1. The plans are those of sessions, from the same compiler. Nothing is sent or read: a loaded object knows its
        item, and a new one is only inserted.
Rule 2. Fields whose changes send the same actions are one write: that of the first of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from dynaorm.description.entry import Entry
from dynaorm.description.factory import choices, counted, type_of_field
from dynaorm.entity.base import detached
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Ident, ident_of
from dynaorm.errors import DynaormError
from dynaorm.failure import texts_of
from dynaorm.item.text import key_text, printable
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.guards import GUARDS
from dynaorm.plan.intent import NOTHING_READ, Deletion, Intent, Save, UnitOfWork
from dynaorm.plan.plan import Plan, Planned, verb_of
from dynaorm.record import record

# Any will do that no item has, but the price depends on its length.
_WRITE_ID: Final = "f" * 32
# Numbers of made values: one may be that of the entity, and high ones may be beyond the bounds of the field.
_NUMBERS: Final = (7, 8, 1)


@record
class WriteAction:
    """An action of a write.

    Attributes:
        verb: ``"Put"``, ``"Update"``, ``"Delete"`` or ``"Check"``.
        reason: why it is sent, as ``plan.explain()`` says it.
        table: the declared name of its table.
        key: the key of the item that it writes; an attribute with a secret is masked.
        entry: the position of that item among the entries; None if it is not there.
    """

    verb: str
    reason: str
    table: str
    key: Mapping[str, str]
    entry: int | None


@record
class Write:
    """A write of an entity.

    Attributes:
        kind: what it does.
        fields: of a change, the fields whose change sends these actions. They are sent for the first one.
        operation: the DynamoDB operation; empty where there is no plan.
        units: its price in write capacity units.
        actions: what is sent, in order.
        problem: why there is no plan; empty if there is one.
    """

    kind: Literal["insert", "change", "delete"]
    fields: tuple[str, ...] = ()
    operation: str = ""
    units: int = 0
    actions: tuple[WriteAction, ...] = ()
    problem: str = ""


class Writes:
    """The writes of entities among some entries.

    Args:
        entries: the items of a table.
        now: the time of the writes, in seconds since the epoch.
    """

    def __init__(self, entries: Sequence[Entry], now: float) -> None:
        self._unit = UnitOfWork(now, _WRITE_ID, str)
        self._at: dict[Ident, int] = {}
        for at, entry in enumerate(entries):
            if entry.kind == "entity" and entry.cls is not None:
                self._at[ident_of(mapping_of(entry.cls).table, entry.item)] = at
        self._add_kept(entries)

    def _add_kept(self, entries: Sequence[Entry]) -> None:
        """The items that are kept for entities; those of a guard table are under its name."""
        tables = {mapping_of(one.cls).table for one in entries if one.cls is not None}
        for at, entry in enumerate(entries):
            for table in tables:
                home = table.guards if entry.kind == "guard" else table
                if entry.kind != "entity" and all(name in entry.item for name in home.key_names):
                    self._at.setdefault(ident_of(home, entry.item), at)

    def of(self, entity: Any) -> tuple[Write, ...]:
        """The writes of a loaded entity: its insert, one change for each group of consequences, and its deletion."""
        insert = self._write("insert", (), self._insertion(entity))
        delete = self._write("delete", (), self._plan([Deletion(entity)]))
        return (insert, *self._changes(entity), delete)

    def _insertion(self, entity: Any) -> Plan | DynaormError:
        begins = dict.fromkeys(mapping_of(type(entity)).maintained, 0)
        try:
            new = detached(entity, **begins)
        except DynaormError as problem:
            return problem
        return self._plan([Save(new)])

    def _changes(self, entity: Any) -> Iterator[Write]:
        mapping = mapping_of(type(entity))
        groups: dict[object, tuple[list[str], Plan | DynaormError]] = {}
        for name in _changeable(mapping):
            plan = self._plan_of_change(mapping, entity, name)
            if plan is not None:
                groups.setdefault(_consequences(plan), ([], plan))[0].append(name)
        for names, plan in groups.values():
            yield self._write("change", tuple(names), plan)

    def _plan_of_change(self, mapping: EntityMapping, entity: Any, name: str) -> Plan | DynaormError | None:
        """The plan of a change of one field; None if no other value can be made for it."""
        refused: DynaormError | None = None
        for value in other_values(mapping, name, getattr(entity, name)):
            plan = self._plan([Save(entity.model_copy(update={name: value}))])
            if isinstance(plan, Plan) and plan.actions:
                return plan
            # A rule of the class may refuse what was made up. That says nothing about the write.
            refused = plan if isinstance(plan, DynaormError) and not isinstance(plan, ValueError) else None
        return refused

    def _plan(self, intents: Sequence[Intent]) -> Plan | DynaormError:
        try:
            return compile_plan(merge_intents(intents, self._unit.now), NOTHING_READ, self._unit)
        except DynaormError as problem:
            return problem

    def _write(
        self, kind: Literal["insert", "change", "delete"], fields: tuple[str, ...], plan: Plan | DynaormError
    ) -> Write:
        if isinstance(plan, DynaormError):
            return Write(kind, fields, problem=printable(str(plan)))
        actions = tuple(map(self._action, plan.actions))
        return Write(kind, fields, plan.operation, plan.write_units, actions)

    def _action(self, planned: Planned) -> WriteAction:
        return WriteAction(
            verb=verb_of(planned),
            reason=printable(planned.reason),
            table=planned.table.name,
            key=texts_of(planned.kind.shown_key(planned), key_text),
            entry=self._at.get(planned.ident),
        )


def _changeable(mapping: EntityMapping) -> Iterator[str]:
    """The fields that a caller may change: not those of the key, nor those that are kept by every write."""
    fixed = {*mapping.key_fields, *mapping.made_of.computed_key, *mapping.managed}
    nested = {name.partition(".")[0] for name in mapping.key_fields}
    return (name for name in mapping.fields if name not in fixed | nested)


def _consequences(plan: Plan | DynaormError) -> object:
    """What two changes have to have in common to be shown as one."""
    if isinstance(plan, DynaormError):
        return str(plan)
    return tuple(_consequence(action) for action in plan.actions)


def _consequence(planned: Planned) -> object:
    before, after = planned.before, planned.after
    keys = {key.name for index in planned.table.indexes.values() for key in (*index.sk, *index.pk)}
    moved = {key for key in keys if before and after and before.get(key) != after.get(key)}
    constraint = planned.label[0] if planned.kind is GUARDS else ""
    return planned.kind, planned.purpose, planned.mapping.name, frozenset(moved), constraint


def other_values(mapping: EntityMapping, name: str, value: Any) -> Iterator[Any]:
    """Values that a field may have instead of its own, the most telling first."""
    tree = type_of_field(mapping.entity.model_fields[name])
    found = [*choices(tree)]
    if isinstance(value, str) and not found:
        found.append(f"new.{value}" if "@" in value else f"{value}-2")
    if isinstance(value, int) and not isinstance(value, bool):
        found.append(value + 1)
    found += [counted(name, tree, number) for number in _NUMBERS]
    yield from (one for one in found if one != value)
    if value is not None:
        yield None

"""Filters of a query, in the attribute names of the stored items."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from dynaorm.entity.declare.catalog import catalog_of, names_of, not_of_others
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import attributes_of, values_in
from dynaorm.entity.resolve import resolve_condition
from dynaorm.errors import UsageError
from dynaorm.item.condition import (
    And,
    Attr,
    Condition,
    IsIn,
    LocalCondition,
    Missing,
    Not,
    Or,
    all_of,
    has_local_condition,
    holds,
    paths_of,
)
from dynaorm.item.value import Item
from dynaorm.query.query_spec import QuerySpec
from dynaorm.record import record


@record
class Filter:
    """The filter of a query.

    Attributes:
        condition: the whole filter in attribute names; one that any class may have, if they differ.
        by_class: the filter of each class, by the class's name. They differ where defaults do.
        server: the part that DynamoDB evaluates; it may match more. None for nothing.
        entry: the part that an index entry answers, if DynamoDB does not evaluate all of it; it may match more.
        is_local: ``holds`` must be called for each item.
        is_never: no item can match.
        judged: the fields that it names and DynamoDB cannot compare.
        loaded: the attributes from which these follow; None for all.
    """

    condition: Condition
    by_class: Mapping[str, Condition]
    server: Condition | None
    entry: Condition | None
    is_local: bool
    is_never: bool
    judged: tuple[str, ...]
    loaded: frozenset[str] | None

    @property
    def attributes(self) -> frozenset[str] | None:
        """The attributes that it reads; None for all."""
        names = frozenset(str(path[0]) for path in paths_of(self.condition))
        return None if self.loaded is None else names | self.loaded

    def check(self, mapping: EntityMapping, item: Item) -> None:
        """Raises DecodeError if a field that it names cannot be loaded or computed."""
        if self.judged:
            values_in(mapping, item, self.judged)

    def may_hold(self, entry: Item) -> bool:
        """Whether the item of an index entry may match."""
        return self.entry is None or holds(self.entry, entry)

    def holds(self, mapping: EntityMapping, item: Item) -> bool:
        """Whether an item matches. One whose values cannot be read does, so that it is reported."""
        try:
            return holds(self.by_class[mapping.name], item)
        except ValueError:
            return True


def filter_of(spec: QuerySpec) -> Filter | None:
    """The filter, which must mean the same for all classes; None for none.

    Raises:
        UnknownField, InvalidValue: a class has no such field, or the field no such value.
        UsageError: a field is a key of the table or index, or two classes store it differently.
    """
    if not spec.filters:
        return None
    # A query finds its filter when it is built, to refuse it there, and again when it is sent. Between these, a class
    # can join the table.
    catalog = catalog_of(spec.source.table)
    known = spec.memo.get(Filter)
    if known is None or known[0] is not catalog:
        known = spec.memo[Filter] = catalog, _filter(spec)
    found: Filter = known[1]
    return found


def _filter(spec: QuerySpec) -> Filter:
    by_class: dict[str, Condition] = {}
    for mapping in mappings_of(spec):
        condition = all_of(*[resolve_condition(mapping, one, computed=True) for one in spec.filters])
        assert condition is not None
        by_class[mapping.name] = condition
    distinct: list[Condition] = []
    for one in by_class.values():
        if one not in distinct:
            distinct.append(one)
    condition = distinct[0]
    if len(distinct) > 1:
        if len(set(map(paths_of, distinct))) > 1:
            raise UsageError(
                problem=f"{spec} store the fields of the filter differently",
                remedy="query the classes one by one",
            )
        condition = Or(tuple(distinct))
    is_whole = spec.source.is_whole
    if is_whole and spec.segments is None:
        _refuse_keys(spec, condition)
    judged = _judged(spec)
    # Most filters are sent as they are.
    is_sent_whole = not judged and spec.source.projected is None
    server, entry = (condition, None) if is_sent_whole else _parts(spec, condition)
    return Filter(
        condition=condition,
        by_class=by_class,
        server=server,
        entry=entry,
        is_local=bool(judged) or not is_whole or len(distinct) > 1,
        is_never=_truth(condition) is False,
        judged=judged,
        loaded=attributes_of(spec.source.mapping, judged) if judged else frozenset(),
    )


def _judged(spec: QuerySpec) -> tuple[str, ...]:
    """The fields of the filter that DynamoDB cannot compare."""
    mapping = spec.source.mapping
    if not mapping.judged:
        return ()
    paths = frozenset().union(*map(paths_of, spec.filters)) - {mapping.revision_path}
    return tuple(sorted({str(path[0]) for path in paths} & mapping.judged))


def _refuse_keys(spec: QuerySpec, condition: Condition) -> None:
    keys = {key.name for key in spec.source.keys}
    paths = paths_of(condition)
    if keys.isdisjoint([path[0] for path in paths]):
        return
    for path in sorted(paths, key=str):
        if path[0] in keys:
            fields = (field for one in mappings_of(spec) for field in one.fields.values())
            name = next((field.name for field in fields if field.attribute == path[0]), path[0])
            raise UsageError(
                problem=f"the filter names {name}, which is a key of {spec}, and DynamoDB refuses that",
                remedy="give it as part of the key, or bound it: ge, le, between, begins_with",
            )


def _parts(spec: QuerySpec, condition: Condition) -> tuple[Condition | None, Condition | None]:
    """The part that DynamoDB evaluates, and the part that an index entry answers, if that is more."""
    projected = spec.source.projected
    if projected is None:
        return _relaxed(condition, frozenset()), None
    unknown = {str(path[0]) for path in paths_of(condition)} - projected
    entry = _relaxed(condition, unknown)
    # Amazon DynamoDB Developer Guide, "Filter expressions for the Query operation": they name no key of the index.
    keys = {key.name for key in spec.source.keys} if spec.segments is None else set[str]()
    server = _relaxed(condition, unknown | keys)
    return server, entry if entry != server else None


def _relaxed(condition: Condition, unknown: AbstractSet[str]) -> Condition | None:
    """A condition on what is stored that matches what the given one does, and maybe more; None for everything.

    ``unknown`` is not read.
    """
    if not unknown and not has_local_condition(condition):
        return condition
    if isinstance(condition, And):
        return all_of(*(_relaxed(part, unknown) for part in condition.parts))
    if isinstance(condition, Or):
        parts = [_relaxed(part, unknown) for part in condition.parts]
        found = [part for part in parts if part is not None]
        return Or(tuple(found)) if len(found) == len(parts) else None
    if isinstance(condition, LocalCondition):
        return _relaxed(condition.part, unknown | condition.attributes)
    return condition if unknown.isdisjoint(str(path[0]) for path in paths_of(condition)) else None


def _truth(condition: Condition) -> bool | None:
    """Whether a condition always (True) or never (False) matches; None where that depends on the item."""
    if isinstance(condition, IsIn):
        return None if condition.values else False
    if isinstance(condition, LocalCondition):
        return _truth(condition.part)
    if isinstance(condition, (And, Or)):
        each = [_truth(part) for part in condition.parts]
        decisive = isinstance(condition, Or)
        return decisive if decisive in each else None if None in each else not decisive
    if isinstance(condition, Not):
        found = _truth(condition.part)
        return None if found is None else not found
    return None


def canonical(condition: object) -> object:
    """A form of a condition that does not depend on the order of its parts and values."""
    if isinstance(condition, And | Or):
        return [type(condition).__name__, sorted(map(_text, condition.parts))]
    if isinstance(condition, LocalCondition):
        return canonical(condition.part)
    if isinstance(condition, Not):
        return ["Not", canonical(condition.part)]
    if isinstance(condition, IsIn):
        return ["IsIn", repr(condition.operand), sorted(set(map(_text, condition.values)))]
    if isinstance(condition, Mapping):
        return {
            tag: sorted(map(repr, content)) if tag in _SETS else repr(content)
            for tag, content in condition.items()
        }
    return repr(condition)


_SETS: Final = frozenset({"SS", "NS", "BS"})


def _text(condition: object) -> str:
    return repr(canonical(condition))


def of_classes(spec: QuerySpec) -> Condition | None:
    """The condition that an item is of one of the classes; None where the table has no type attribute."""
    attribute = spec.source.table.type_attribute
    if attribute is None or not spec.source.is_whole:
        return None
    mappings = mappings_of(spec)
    if any(one.type_names.accepts_unknown for one in mappings):
        return not_of_others(mappings, attribute)
    names = tuple({"S": name} for mapping in mappings for name in names_of(mapping))
    return Or((IsIn(Attr((attribute,)), names), Missing((attribute,))))


def mappings_of(spec: QuerySpec) -> list[EntityMapping]:
    """The classes of a query and their subclasses, in the order of declaration."""
    wanted = tuple(source.mapping.entity for source in spec.sources)
    mappings = catalog_of(spec.source.table).mappings.values()
    return [mapping for mapping in mappings if issubclass(mapping.entity, wanted)]

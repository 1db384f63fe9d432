"""``samples``: items that the classes of a table would leave there, made without any engine.

Rule 1. The same declarations give the same bytes, in every process: values count up, times and revisions are fixed.
Rule 2. An entity is written as a save writes it, so its guards, its versions and the totals that count it are there.
Rule 3. Entities share partitions where their sort keys differ, because that is what a key design is about.
Rule 4. Where ``when=`` compares fields with values, one entity has these values, and one has others. More entities are
        made for that than were asked for, if it takes more. A function of ``when=`` is not looked into: give seeds.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from dynaorm.argument import check_count, check_kind
from dynaorm.description.entry import Entry, classify
from dynaorm.description.factory import FAR, built, choices, counted_for, problems_in, type_of_field
from dynaorm.description.tables_in_memory import TablesInMemory
from dynaorm.entity.base import detached
from dynaorm.entity.classify import NotAnEntity, checked_item, class_of, entity_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table, check_table
from dynaorm.entity.type_tree import TypeTree
from dynaorm.errors import AlreadyExists, DynaormError, EntityNotFound, UniqueViolation, UsageError
from dynaorm.failure import message_of, shown, suggestion
from dynaorm.flow.dump_and_load import entity_from_json
from dynaorm.item.condition import And, Attr, BeginsWith, Between, Compare, Condition, IsIn, Or, SizeOf
from dynaorm.plan.inspection import item_of
from dynaorm.plan.intent import Save
from dynaorm.record import record

_ITEM: Final = "Item"


@record
class Seed:
    """A new entity, and the place of its line, which errors name: ``"seeds.jsonl:3"``."""

    place: str
    entity: Any


def in_order_of_saving(seeds: Iterable[Seed]) -> list[Seed]:
    """Entities with totals come first, because what is counted may need them."""
    return sorted(seeds, key=lambda one: not mapping_of(type(one.entity)).maintained)


def at_line(seed_place: str, error: DynaormError) -> UsageError:
    """The error of a line."""
    problem = message_of(error).removesuffix(error.remedy).rstrip("\n; ")
    return UsageError(problem=f"{seed_place}: {problem}", remedy=error.remedy)


def seeds_in(lines: Iterable[str], tables: tuple[Table, ...], *, place: str = "line {}") -> Iterator[Seed]:
    """The entities of the lines.

    Args:
        lines: JSON lines; those that are blank are left out.
        tables: the tables of the classes that the lines may name.
        place: how errors name a line, with ``{}`` for its number.

    Raises:
        UsageError: a line is not valid.
    """
    for number, line in enumerate(lines, 1):
        check_kind(
            f"{place.format(number)} of the seeds: {{}}",
            line,
            str,
            "a text",
            remedy="give lines of JSON as str",
        )
        try:
            entity = _entity(line, tables) if line.strip() else None
        except DynaormError as error:
            raise at_line(place.format(number), error) from error
        if entity is not None:
            yield Seed(place.format(number), entity)


def _invalid(problem: str, remedy: str) -> UsageError:
    return UsageError(problem=problem, remedy=remedy)


def _entity(line: str, tables: tuple[Table, ...]) -> Any | None:
    """The new entity of a line; None for an item that belongs to an entity."""
    name, content = _member(line)
    classes = [mapping for table in tables for mapping in catalog_of(table).mappings.values()]
    found = [one for one in classes if one.name == name]
    if name == _ITEM and (not found or _is_item(content)):
        return _of_item(content, tables)
    if len(found) != 1:
        names = sorted({one.name for one in classes})
        if found:
            places = " and ".join(one.table.name for one in found)
            raise _invalid(f"{name} is a class of {places}", "give one of these tables, or write an Item")
        raise _invalid(
            f"{name!r} is not a class of {', '.join(table.name for table in tables)}",
            suggestion(name, [*names, _ITEM]),
        )
    return entity_from_json(found[0], content)


def _member(line: str) -> tuple[str, dict[str, Any]]:
    """The name of the only member of an object, and its value."""
    remedy = 'write one object with one member on each line: {"User": {"user_id": "bob"}}'
    try:
        # A dict would hide that a name comes twice.
        pairs = json.loads(line, object_pairs_hook=list)
        content = json.loads(line)
    except ValueError as error:
        raise _invalid(f"it is no JSON: {error}", remedy) from error
    if not isinstance(content, dict) or len(pairs) != 1:
        raise _invalid("it is not an object with one member", remedy)
    ((name, value),) = content.items()
    if not isinstance(value, dict):
        raise _invalid(f"the value of {name!r} is not an object", remedy)
    return name, value


def _is_item(content: Mapping[str, Any]) -> bool:
    try:
        checked_item(content)
    except UsageError:
        return False
    return True


def _of_item(content: Mapping[str, Any], tables: tuple[Table, ...]) -> Any | None:
    item = checked_item(content)
    kinds = [class_of(table, item) for table in tables]
    for table, kind in zip(tables, kinds, strict=True):
        if isinstance(kind, EntityMapping):
            entity = entity_of(item, table)
            fields = type(entity).model_fields
            return detached(entity, **{name: fields[name].get_default() for name in kind.maintained})
    if any(kind is not NotAnEntity.UNKNOWN for kind in kinds):
        return None
    return entity_of(item, tables[0])  # raises the error that says why it is none


_ATTEMPTS: Final = 12
"""How many numbers are tried for one more entity: another class may have its key or its unique value."""

_DEPTH: Final = 8
"""How many targets are made for one entity: its target may be counted itself."""


# All samples are in memory.
_MOST: Final = 10_000


def samples(table: Table, per_class: int = 2, seeds: Iterable[str] | None = None) -> list[Entry]:
    """Items that the classes of a table would leave in it. Nothing is sent, and no engine is needed.

    The same declarations give the same items, in every process. Targets of totals are made before what they count. The
    items of a ``guard_table`` are among them; those of targets in other tables are not.

    Args:
        per_class: how many entities of each class; fewer where the keys or unique values of a class allow no more, and
            more where one has to be in an index, or not, as ``when=`` says.
        seeds: lines of JSON, such as an open file, as ``dynaorm.testing.load_seeds`` reads them. The items are then
            those of these entities alone.

    Raises:
        UsageError: an entity of a class cannot be made, or a line of the seeds is not valid. The message names the
            class or the line.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.description import samples
        >>> app = Table("app")
        >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> [entry.item["PK"] for entry in samples(app)]
        [{'S': 'SONG#song_id-1'}, {'S': 'SONG#song_id-2'}]
    """
    check_table("samples", table)
    check_count("per_class={}", per_class, most=_MOST)
    tables = TablesInMemory()
    if seeds is None:
        _Maker(tables, per_class).make(catalog_of(table).mappings.values())
    else:
        _save_seeds(tables, table, seeds)
    entries = [classify(item, table) for item in tables.items_of(table)]
    if table.guards is not table:
        guards = (classify(item, table.guards) for item in tables.items_of(table.guards))
        entries += [guard for guard in guards if guard.cls is None or mapping_of(guard.cls).table is table]
    return entries


def _save_seeds(tables: TablesInMemory, table: Table, lines: Iterable[str]) -> None:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise UsageError(
            problem=f"seeds={shown(lines)} are not lines of a file",
            remedy="give the open file, or text.splitlines()",
        )
    for seed in in_order_of_saving(seeds_in(lines, _with_targets(table))):
        try:
            tables.write(Save(seed.entity))
        except DynaormError as error:
            raise at_line(seed.place, error) from error


def _with_targets(table: Table) -> tuple[Table, ...]:
    """The table, and those with totals that count its entities."""
    found, waiting = {table: None}, [table]
    while waiting:
        for target in _targets(catalog_of(waiting.pop()).mappings.values()):
            if target.table not in found:
                found[target.table] = None
                waiting.append(target.table)
    return tuple(found)


def _targets(mappings: Iterable[EntityMapping]) -> Iterator[EntityMapping]:
    return (mapping_of(aggregate.target) for mapping in mappings for aggregate in mapping.aggregates.values())


class _Maker:
    """Makes entities, and writes them."""

    def __init__(self, tables: TablesInMemory, per_class: int) -> None:
        self.tables = tables
        self.per_class = per_class
        # A family shares its keys, so its classes share the numbers.
        self.numbers: dict[type, int] = {}
        self.made: dict[type, list[Any]] = {}

    def make(self, mappings: Iterable[EntityMapping]) -> None:
        """Make entities of some classes, and first of the classes with totals that count them."""
        for mapping in mappings:
            if mapping.entity not in self.made:
                self.made[mapping.entity] = []
                self.make(_targets((mapping,)))
                self._make_class(mapping)

    def _make_class(self, mapping: EntityMapping) -> None:
        made = self.made[mapping.entity]
        # A target may have been made already for what it counts.
        if not made:
            self._make_one(mapping, {}, is_whole=True)
        for given in _deciding_values(mapping):
            if not any(given.items() <= vars(entity).items() for entity in made):
                with suppress(UsageError):
                    self._make_one(mapping, given, is_whole=False)
        while len(made) < self.per_class:
            if not self._make_one(mapping, {}, is_whole=not made):
                break

    def _make_one(
        self,
        mapping: EntityMapping,
        given: Mapping[str, Any],
        *,
        is_whole: bool,
        depth: int = 0,
    ) -> bool:
        """Make an entity with these values, and write it. False: there is none whose key and unique values are free."""
        taken: DynaormError | None = None
        for _ in range(_ATTEMPTS):
            number = self.numbers[mapping.root] = self.numbers.get(mapping.root, 0) + 1
            entity = self._entity(mapping, number, given, is_whole=is_whole)
            try:
                self._write(entity, depth)
            except (AlreadyExists, UniqueViolation) as error:
                taken = error
            except DynaormError as error:
                raise _unmakeable(mapping, error) from error
            else:
                self.made.setdefault(mapping.entity, []).append(entity)
                return True
        if not self.made.get(mapping.entity) and taken is not None:
            raise _unmakeable(mapping, taken) from taken
        return False

    def _write(self, entity: Any, depth: int) -> None:
        for _ in range(_DEPTH):
            try:
                self.tables.write(Save(entity))
            except EntityNotFound as missing:
                key: Any = missing.key
                if key.entity is None or depth == _DEPTH:
                    raise
                self._make_one(mapping_of(key.entity), dict(key.fields), is_whole=False, depth=depth + 1)
            else:
                return

    # -- values --------------------------------------------------------------------------------------------------------

    def _entity(
        self, mapping: EntityMapping, number: int, given: Mapping[str, Any], *, is_whole: bool
    ) -> Any:
        """A new entity with a number. Raises UsageError where the rules of the class refuse every one that is made."""
        first: ValidationError | DynaormError | None = None
        for values in self._attempts(mapping, number, given, is_whole=is_whole):
            # A default that is made anew, such as an identifier, is only left to the class if no other value is valid.
            without = {name: one for name, one in values.items() if not _is_made_by_class(mapping, name)}
            for some in (values, {**without, **given}):
                try:
                    entity = built(mapping, some)
                    if some is values or item_of(entity) == item_of(built(mapping, some)):
                        return entity
                except (ValidationError, DynaormError) as problem:
                    first = first or problem
        raise _unmakeable(mapping, first) from first

    def _attempts(
        self, mapping: EntityMapping, number: int, given: Mapping[str, Any], *, is_whole: bool
    ) -> Iterator[dict[str, Any]]:
        """The values to try, the best ones first."""
        links = self._links(mapping, number)
        for linked in (links, {}) if links else ({},):
            for whole in (is_whole, not is_whole):
                yield {**self._values(mapping, number, is_whole=whole), **linked, **given}

    def _values(self, mapping: EntityMapping, number: int, *, is_whole: bool) -> dict[str, Any]:
        """The values of fields that have to be made; ``is_whole``: of those, too, that are None otherwise."""
        left = mapping.managed
        unique = {name for constraint in mapping.constraints.values() for name in constraint.fields}
        shared = _shared_fields(mapping)
        found: dict[str, Any] = {}
        for name, info in mapping.entity.model_fields.items():
            is_made = info.is_required() or info.default_factory is not None or name in mapping.key_fields
            is_made = is_made or name in unique or (is_whole and info.default is None)
            if is_made and name not in left:
                own = 1 + (number - 1) // max(self.per_class, 1) if name in shared else number
                found[name] = _value(mapping, name, type_of_field(info), own)
        return found

    def _links(self, mapping: EntityMapping, number: int) -> dict[str, Any]:
        """The values of fields that name a target: those of one that was made."""
        found: dict[str, Any] = {}
        for aggregate in mapping.aggregates.values():
            targets: Sequence[Any] = self.made.get(aggregate.target, ())
            if targets:
                target = targets[(number - 1) // max(self.per_class, 1) % len(targets)]
                values = {
                    own: getattr(target, name) for name, own in aggregate.key.items() if hasattr(target, name)
                }
                found = {own: value for own, value in values.items() if own in mapping.fields} | found
        return found


def _deciding_values(mapping: EntityMapping) -> Iterator[dict[str, Any]]:
    """Values with which the conditions of ``when=`` hold, each followed by others."""
    declared: tuple[Any, ...] = (
        *mapping.indexes.values(),
        *mapping.constraints.values(),
        *mapping.aggregates.values(),
    )
    for when in (one.when for one in declared if one.when is not None):
        values = _values_in(when.given) if isinstance(when.given, Condition) else {}
        if values.keys() <= mapping.fields.keys() - mapping.managed:
            yield values
            for name, value in values.items():
                info = mapping.entity.model_fields[name]
                tree = type_of_field(info)
                counted = counted_for(mapping, name, tree, 1, whole=True)
                others = [*choices(tree), *([] if info.is_required() else [info.default]), counted]
                yield {name: next((one for one in others if one != value), value)}


def _values_in(condition: Condition) -> dict[str, Any]:
    """The values that a condition compares fields with, so that it holds for an entity that has them."""
    match condition:
        case And(parts):
            return {name: value for part in parts for name, value in _values_in(part).items()}
        case Or((first, *_)):
            return _values_in(first)
        case (
            Compare(Attr((str(name),)), "=" | "<=" | ">=", value)
            | Between(Attr((str(name),)), value, _)
            | IsIn(Attr((str(name),)), (value, *_))
            | BeginsWith((str(name),), value)
        ) if not isinstance(value, Attr | SizeOf):
            return {name: value}
    return {}


def _value(mapping: EntityMapping, name: str, tree: TypeTree, number: int) -> Any:
    if mapping.expires is not None and mapping.expires.name == name:
        return FAR + timedelta(seconds=number)
    if few := [choice for choice in choices(tree) if choice is not None]:
        return few[(number - 1) % len(few)]
    value = counted_for(mapping, name, tree, number, whole=True)
    is_address = name.endswith("email") and value == f"{name}-{number}"
    return f"{value}@example.com" if is_address else value


def _is_made_by_class(mapping: EntityMapping, name: str) -> bool:
    info: FieldInfo = mapping.entity.model_fields[name]
    return info.default_factory is not None


def _shared_fields(mapping: EntityMapping) -> frozenset[str]:
    """The fields of the partition key, if the sort key has others, by which entities of one partition differ."""
    partition = frozenset(mapping.partition.fields)
    others = frozenset(mapping.sort.fields) - partition if mapping.sort is not None else frozenset[str]()
    return partition if others else frozenset()


def _unmakeable(mapping: EntityMapping, problem: ValidationError | DynaormError | None) -> UsageError:
    if isinstance(problem, UsageError) and problem.problem.startswith("samples()"):
        return problem
    name = mapping.entity.__name__
    wrong = "its values differ each time it is made" if problem is None else problems_in(problem)
    return UsageError(
        problem=f"samples() cannot make a {name}: {wrong}",
        remedy=f'give seeds, JSON lines with the entities to show: {{"{name}": {{...}}}}',
    )

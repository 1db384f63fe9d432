"""The new entities of JSON lines, in plain JSON or in DynamoDB JSON: seeds of tests, and samples."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dynaorm.argument import check_kind
from dynaorm.entity.base import detached
from dynaorm.entity.classify import NotAnEntity, class_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.stored_entity import checked_item, entity_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError, UsageError
from dynaorm.failure import said, suggestion
from dynaorm.flow.transfer.lines import entity_from_json
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
    problem = said(error).removesuffix(error.remedy).rstrip("\n; ")
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
    classes = [one for table in tables for one in catalog_of(table).mappings.values()]
    found = [one for one in classes if one.name == name]
    if name == _ITEM and (not found or _is_item(content)):
        return _of_item(content, tables)
    if len(found) != 1:
        names = sorted({one.name for one in classes})
        if found:
            places = " and ".join(one.table.name for one in found)
            raise _invalid(f"{name} is a class of {places}", "give one of these tables, or write an Item")
        raise _invalid(
            f"{name!r} is no class of {', '.join(table.name for table in tables)}",
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
        raise _invalid("it is no object with one member", remedy)
    ((name, value),) = content.items()
    if not isinstance(value, dict):
        raise _invalid(f"the value of {name!r} is no object", remedy)
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

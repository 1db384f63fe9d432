"""``load_seeds``: saves the entities of a JSON-lines file, in plain JSON or in DynamoDB JSON."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from dynaorm.entity.base import detached
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.dispatch import NotAnEntity
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.stored_entity import checked_item, class_of, entity_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError, UsageError
from dynaorm.failure import suggestion
from dynaorm.record import record
from dynaorm.session.session import Session
from dynaorm.testing.tables import Source, tables_of

_ITEM: Final = "Item"


def load_seeds(session: Session, path: str | Path, /, *sources: Source) -> list[Any]:
    """Save the entities of a JSON-lines file, and return them in the order of the file.

    Each line is an object with one member: a class with its fields, or ``Item`` with an item in DynamoDB JSON, as the
    lines of DynamoDB's exports have it::

        {"User": {"user_id": "bob", "email": "bob@x.com"}}
        {"Item": {"PK": {"S": "USER#liz"}, "SK": {"S": "PROFILE"}, "_type": {"S": "User"}, "user_id": {"S": "liz"}}}

    Every entity is saved as a new one, with its guard items and its first version. So items that belong to entities
    (guard items, version items, tombstones, remembered tokens) are left out, and totals are counted anew. Entities with
    totals are saved first.

    Args:
        session: a session on the tables, which exist.
        path: the file.
        *sources: the tables of the classes that the file may name, as for ``tables_of``.

    Raises:
        UsageError: a line is not valid, or its entity cannot be saved. The message names the file and the line. If a
            line is not valid, nothing is saved.
    """
    if not sources:
        raise UsageError(
            problem="load_seeds() got no class and no table",
            remedy="give those that the file may name: load_seeds(session, path, app)",
        )
    file = Path(path)
    seeds = list(_seeds(file, tables_of(*sources)))
    for seed in sorted(seeds, key=lambda one: not mapping_of(type(one.entity)).maintained):
        try:
            session.save(seed.entity)
        except DynaormError as error:
            raise _at(file, seed.line, error) from error
    return [_with_totals(session, seed.entity) for seed in seeds]


def _with_totals(session: Session, entity: Any) -> Any:
    return session.refresh(entity) if mapping_of(type(entity)).maintained else entity


@record
class _Seed:
    line: int
    entity: Any


def _at(file: Path, line: int, error: DynaormError) -> UsageError:
    """The error of a line."""
    problem = str(error).removesuffix(error.remedy).rstrip("\n; ")
    return UsageError(problem=f"{file}:{line}: {problem}", remedy=error.remedy)


def _invalid(problem: str, remedy: str) -> UsageError:
    return UsageError(problem=problem, remedy=remedy)


def _seeds(file: Path, tables: tuple[Table, ...]) -> Iterator[_Seed]:
    """The entities of the lines. Raises UsageError for the first that is not valid."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(
            problem=f"{file} cannot be read: {error.strerror}", remedy="give the path of a JSON-lines file"
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            entity = _entity(line, tables) if line.strip() else None
        except DynaormError as error:
            raise _at(file, number, error) from error
        if entity is not None:
            yield _Seed(number, entity)


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
    return _of_fields(found[0], content)


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


def _of_fields(mapping: EntityMapping, content: Mapping[str, Any]) -> Any:
    known = [*mapping.entity.model_fields]
    for name in content:
        if name not in known:
            raise _invalid(f"{mapping.name} has no field {name!r}", suggestion(name, known))
    try:
        # Fields have their own names here, whatever aliases they have.
        return mapping.entity.__pydantic_validator__.validate_json(
            json.dumps(content), by_alias=False, by_name=True
        )
    except ValidationError as wrong:
        # Without the input, which may be a secret.
        problems = [
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors(include_input=False)
        ]
        raise _invalid(f"no valid {mapping.name}: {'; '.join(problems)}", "correct these values") from wrong


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

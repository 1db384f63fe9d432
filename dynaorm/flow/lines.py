"""The forms in which files have items: those of ``dump``, of exports to S3, and of AWS's own command line.

| form | whose it is |
|---|---|
| ``{"Item": {...}}`` | a line of ``dump``, or of an export to S3 |
| ``{"User": {"user_id": "u1"}}`` | a line of ``dump(entities=True)``, of ``dynaorm get --json``, or a seed |
| ``{"Items": [...]}`` | what ``aws dynamodb scan`` and ``query`` print |
| ``{"app": [{"PutRequest": {"Item": {...}}}]}`` | a file of ``aws dynamodb batch-write-item`` |
| ``{"PK": {"S": "..."}, ...}`` | an item itself |
| ``[...]`` | several of these |
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from pydantic import ValidationError

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError, UsageError
from dynaorm.failure import suggestion
from dynaorm.item.json_body import ITEM, item_in
from dynaorm.item.value import Item
from dynaorm.plan.inspection import item_of

FORMS: Final = (
    'give lines such as {"Item": {...}} or {"User": {...}}, or what aws dynamodb scan or batch-write-item has'
)


def items_in(line: bytes, table: Table, names: Collection[str]) -> list[Item | ValueError | UsageError]:
    """The items of a line, or of a whole file, in place of each that is none an error that says why.

    Args:
        line: the JSON.
        table: the table of the items.
        names: its declared and its physical name: requests name the tables of their items.
    """
    try:
        return [item_in(line)]  # nearly all lines have this form
    except ValueError as problem:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return [problem]
    return [_item(one, table) for one in _records(found, names)]


def _records(found: Any, names: Collection[str]) -> Iterator[Any]:
    """The members of lists, responses and requests."""
    if isinstance(found, list):
        yield from chain.from_iterable(_records(one, names) for one in found)
    elif not isinstance(found, dict):
        yield found
    elif isinstance(found.get("Items"), list):
        yield from ({ITEM: one} for one in found["Items"])
    elif isinstance(found.get("RequestItems"), dict):
        yield from _records(found["RequestItems"], names)
    elif found and all(_is_request(one) for one in found.values()):
        for name, requests in found.items():
            yield from _records(requests, names) if name in names else [_elsewhere(name)] * len(requests)
    else:
        yield found.get("PutRequest", found)


def _is_request(found: Any) -> bool:
    return isinstance(found, list) and all(
        isinstance(one, dict) and one.keys() <= {"PutRequest", "DeleteRequest"} for one in found
    )


def _elsewhere(table: str) -> ValueError:
    return ValueError(f"it is an item of the table {table!r}")


def _item(found: Any, table: Table) -> Item | ValueError | UsageError:
    if isinstance(found, ValueError):
        return found
    if not isinstance(found, dict):
        return ValueError(f"it is no object with the member {ITEM!r} or the name of a class")
    try:
        if ITEM in found:
            return item_in(json.dumps(found).encode())
        if all(isinstance(found.get(key.name), dict) and key.kind in found[key.name] for key in table.keys):
            return item_in(json.dumps({ITEM: found}).encode())
        mapping = class_in(found, table)
        return _item_of(mapping, entity_from_json(mapping, found[mapping.name]))
    except (ValueError, DynaormError) as problem:
        return problem if isinstance(problem, UsageError | ValueError) else ValueError(str(problem))


def class_in(found: Mapping[str, Any], table: Table) -> EntityMapping:
    """The class whose name one member of an object has. Raises ValueError."""
    classes = {one.name: one for one in catalog_of(table).mappings.values()}
    named = [name for name in found if name in classes]
    if len(named) != 1:
        raise ValueError(f"it has neither the member {ITEM!r} nor one with the name of a class")
    return classes[named[0]]


def _item_of(mapping: EntityMapping, entity: Any) -> Item:
    """The item of a new entity, with the times that a session keeps."""
    kept = {one.attribute: one.encode(getattr(entity, name)) for name, one in mapping.kept.items()}
    return {**item_of(entity), **{name: value for name, value in kept.items() if value is not None}}


def entity_from_json(mapping: EntityMapping, content: Any) -> Any:
    """A new entity from its fields in JSON. Raises UsageError."""
    name = mapping.name
    if not isinstance(content, dict):
        raise UsageError(
            problem=f"the value of {name!r} is no object", remedy="give the fields of one entity"
        )
    known = [*mapping.entity.model_fields]
    for field in content:
        if field not in known:
            raise UsageError(problem=f"{name} has no field {field!r}", remedy=suggestion(field, known))
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
        raise UsageError(
            problem=f"no valid {name}: {'; '.join(problems)}", remedy="correct these values"
        ) from wrong


def entity_line(mapping: EntityMapping, item: Item, entity: Any) -> bytes | None:
    """The line of an entity in readable JSON; None if it would not load as the same entity.

    That is so for what an item has beside its class, and for values that the application does not write: masked
    secrets, bytes that are no text, fields that it leaves out.
    """
    table = mapping.table
    every = (*table.key_names, table.type_attribute, table.revision_attribute)
    if item.keys() - mapping.known_attributes.union(name for name in every if name is not None):
        return None
    try:
        content = entity.model_dump(mode="json", by_alias=False, round_trip=True)
        read = entity_from_json(mapping, content)
        text = json.dumps({mapping.name: content}, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, UsageError):  # pydantic's errors of serialization are ValueErrors
        return None
    is_same = all(is_equal(vars(read)[name], vars(entity)[name]) for name in mapping.fields)
    return f"{text}\n".encode() if is_same else None


def joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file; a file that is one JSON document of several lines is one line."""
    lines = iter(lines)
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    if head and not _is_json(head[-1]):
        head += lines
        whole = head[0][:0].join(head)
        if _is_json(whole):
            head = [whole]
    yield from chain(head, lines)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

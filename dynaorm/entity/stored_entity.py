"""The entity in a stored item that a program has in its hands, or the error that says what the item is instead."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar, overload

from dynaorm.entity.classify import NotAnEntity, class_of
from dynaorm.entity.declare.catalog import catalog_of, constraint_at, stored_class, type_in
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import RedactedDict, shown, with_article
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import AttributeValue, Item, is_item, is_value

E = TypeVar("E")


@overload
def entity_of(item: Mapping[str, Any], source: type[E], /) -> E: ...
@overload
def entity_of(item: Mapping[str, Any], source: Table, /) -> Any: ...
def entity_of(item: Mapping[str, Any], source: Any, /) -> Any:
    """The entity in an item, validated and loaded, as a read of the item would give it. No request is sent.

    With a table, the item's type attribute or the shape of its key names the class. An expired entity is returned like
    any other, because the time plays no part.

    Args:
        item: the item in DynamoDB JSON: attribute names and values like ``{"S": "text"}``. Binary values are bytes, as
            boto3 gives them, or base64, as in an event or a file.
        source: the table of the item, or the class that you expect.

    Raises:
        DecodeError: the item is not valid for its class, is of another class, or is no entity: a guard item, a version
            item, a tombstone, or an item that no class declares. The error says which.
        UsageError: ``item`` is not DynamoDB JSON, or ``source`` is neither a table nor an entity class.

    Examples:
        >>> from dynaorm import Entity, Table, entity_of
        >>> app = Table("app")
        >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> item = {"PK": {"S": "SONG#1"}, "SK": {"S": "SONG"}, "_type": {"S": "Song"}, "song_id": {"S": "1"}}
        >>> entity_of(item, app)
        Song(song_id='1')
    """
    wanted = None if isinstance(source, Table) else mapping_of(source)
    table = source if wanted is None else wanted.table
    stored = checked_item(item)
    found = class_of(table, stored)
    if isinstance(found, NotAnEntity):
        raise no_entity(table, stored, found)
    if wanted is None:
        return found.loader.hydrate(stored)
    own = stored_class(wanted, stored) if found.root is wanted.root else None
    if own is None or not issubclass(own.entity, wanted.entity):
        raise _refused(table, stored, wanted.entity.__name__, f"it is {with_article(found.name)}")
    return own.loader.hydrate(stored)


def checked_item(item: object, name: str = "this") -> Item:
    """An item from outside, with bytes for binary values. Raises UsageError if it is not DynamoDB JSON.

    ``name``: what the error calls it.
    """
    given = dict(item) if isinstance(item, Mapping) else {}
    with suppress(ValueError, RecursionError):
        found: object = with_bytes(given)
        if given and is_item(found):
            return found
    wrong = "it is empty" if isinstance(item, Mapping) else "it is no dict"
    # A value of the wrong form may be a secret, so the message shows only its name.
    problems = (
        f"{attribute!r} {problem}" for attribute, one in given.items() if (problem := _problem_of(one))
    )
    raise UsageError(
        problem=f"{name} is not an item in DynamoDB JSON: {next(problems, wrong)}",
        remedy="give attribute values like {'S': 'text'} and {'N': '1'}, as boto3's client returns them",
    )


def _problem_of(value: object) -> str:
    """Why it is no attribute value; empty if it is one."""
    try:
        return "" if is_value(with_bytes(value)) else "is no attribute value"
    except ValueError:
        return "has a binary value that is not base64"
    except RecursionError:
        return "is nested too deeply"


def no_entity(table: Table, item: Item, found: NotAnEntity) -> DecodeError:
    """The error of an item that is no entity, which says what it is."""
    return _refused(table, item, f"an entity of {table}", _what_it_is(table, item, found))


def _refused(table: Table, item: Item, wanted: str, problem: str) -> DecodeError:
    return DecodeError(entity=wanted, key=shown_key(table, item), problems=(problem,), remedy=_REMEDY)


_REMEDY: Final = "Give items of entities, and import the module that declares their class"

_KINDS: Final[Mapping[NotAnEntity, str]] = {
    NotAnEntity.GUARD: "it is a guard item, which reserves a unique value for its owner",
    NotAnEntity.TOKEN: "it is a token item, which remembers a transaction",
    NotAnEntity.VERSION: "it is a version item, which keeps an old version of an entity",
    NotAnEntity.TOMBSTONE: "it is the tombstone of a deleted entity",
}


def _what_it_is(table: Table, item: Item, found: NotAnEntity) -> str:
    if found is not NotAnEntity.UNKNOWN:
        return _KINDS[found]
    if missing := [key for key in table.keys if key.kind not in item.get(key.name, ())]:
        return f"it has no {missing[0].name} of type {missing[0].kind}, which is part of the key of {table}"
    tag = type_in(table, item)
    named = "" if tag is None else f": its {table.type_attribute} is {shown(next(iter(tag.values())))}"
    return f"it belongs to no class of {table}{named}"


def shown_key(table: Table, item: Item) -> dict[str, AttributeValue]:
    """The primary key of any item of a table, under a ``repr`` that masks what may be secret."""
    key = {name: item[name] for name in table.key_names if name in item}
    catalog = catalog_of(table)
    hidden = {name for one in catalog.mappings.values() for name in one.secrets.keys}
    constraint = constraint_at(table, {table.pk.name: {"S": ""}, **key})
    if any(constraint in one.secrets.constraints for one in catalog.guarded.values()):
        hidden |= key.keys()
    return RedactedDict(key, frozenset(hidden)) if hidden else key

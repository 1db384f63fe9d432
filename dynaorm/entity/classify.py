"""The class of a stored item: an entity class, a guard or token item, a version, a tombstone, or unknown.

Rule 1. An item with a type attribute is of the class it names, by its present or a former name. Otherwise its key
        decides, unless it could be a key of several classes.
Rule 2. An item whose key looks like a guard item's is a guard, because a class whose key is a bare field refuses such
        values. If the class has opted out with ``{field:raw}``, the item is a guard only if it has no attributes but
        those of a guard.
Rule 3. Classes are looked up by the literal text that their keys begin with, so that a hundred classes cost no more
        than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar, overload

from dynaorm.entity.declare.catalog import (
    cached_per_table,
    catalog_of,
    check_not_redeclared,
    class_named,
    class_of_other_type,
    constraint_at,
    is_guard_of_others,
    stored_class,
    type_in,
)
from dynaorm.entity.internal_items import is_token_item, more_than_a_guard
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import RedactedDict, shown, with_article
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import AttributeValue, Item, is_item, is_value
from dynaorm.record import record

# How many classes a message lists.
_LISTED: Final = 5


class NotAnEntity(Enum):
    """The kinds of items that are not entities."""

    GUARD = "guard"
    TOKEN = "token"
    VERSION = "version"
    TOMBSTONE = "tombstone"
    UNKNOWN = "unknown"


def classify(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    """The class of an item, or its kind if it is not an entity. Only its key and type attribute are needed."""
    tag = type_in(table, item)
    if tag is None:
        return _by_shape(table, item)
    found = class_named(table, tag.get("S", ""))
    if found is None and is_guard_of_others(table, item):
        return NotAnEntity.GUARD
    if found is None and "S" in tag:
        found = class_of_other_type(table, item)
    if found is None:
        return NotAnEntity.UNKNOWN
    return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found


def class_of(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    """The class of an item. An item without its whole primary key is of no class."""
    is_whole = all(key.kind in item.get(key.name, ()) for key in table.keys)
    return classify(table, item) if is_whole else NotAnEntity.UNKNOWN


def live_class(mapping: EntityMapping, item: Item | None, now: float) -> EntityMapping | None:
    """The class of an item under a key of ``mapping``, or None where reads find nothing.

    Reads find nothing where there is no item, or it has expired, is a tombstone, or belongs to another class.

    Raises:
        UsageError: the class was declared again.
    """
    if item is None or mapping.is_tombstone(item):
        return None
    stored = stored_class(mapping, item)
    if stored is None or not issubclass(stored.entity, mapping.entity):
        check_not_redeclared(mapping)
        return None
    return None if stored.is_expired(item, now) else stored


def unknown_item(table: Table, item: Item) -> DecodeError:
    """The error of an item of no declared class. It masks key attributes in which a class has a secret field."""
    mappings = catalog_of(table).mappings.values()
    tag = type_in(table, item)
    if tag is not None:
        reason = f"{table.type_attribute} is {shown(tag.get('S', tag))}, which no declared class is called"
    else:
        texts = [f"{mapping.entity.__name__} {_key_text(mapping)}" for mapping in mappings]
        more = f", and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
        reason = f"its key is that of no declared class ({', '.join(texts[:_LISTED])}{more})"
    secret = frozenset(name for mapping in mappings for name in mapping.secrets.keys)
    key = {name: item[name] for name in table.key_names}
    return DecodeError(
        entity=str(table),
        key=RedactedDict(key, secret) if secret else key,
        problems=(f"{reason}; declare one, import its module, or correct the item",),
    )


def _key_text(mapping: EntityMapping) -> str:
    return ", ".join(f"{part.attribute.name}={part.text!r}" for part in mapping.primary_parts)


def _by_shape(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    if is_token_item(table, item):
        return NotAnEntity.TOKEN
    shapes = key_beginnings(table)
    candidates = shapes.candidates(item)
    matching = [mapping for mapping in candidates if mapping.key_matches(item)]
    # Only the type attribute, which the item lacks, tells classes apart whose keys are alike.
    found = matching[0] if len(matching) == 1 else None
    if found is None and is_guard_of_others(table, item):
        return NotAnEntity.GUARD
    if shapes.is_like_guard(item) and (found is None or _is_guard(found, item)):
        return NotAnEntity.GUARD
    if found is not None:
        return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found
    return (
        NotAnEntity.VERSION
        if any(version_number_in(mapping, item) is not None for mapping in candidates)
        else NotAnEntity.UNKNOWN
    )


def _is_guard(mapping: EntityMapping, item: Item) -> bool:
    """Whether an item is a guard although its key matches this class; the key looks like a guard's."""
    return any(part.is_single_field for part in mapping.primary_parts) or not more_than_a_guard(
        mapping.table, item
    )


def version_number_in(mapping: EntityMapping, item: Item) -> int | None:
    """The number of the version that an item's key is of; None if it is no key of a version of this class."""
    if mapping.versioning is None or mapping.sort is None or not mapping.partition.matches(item):
        return None
    stored = item.get(mapping.sort.attribute.name, {}).get(mapping.sort.attribute.kind)
    return None if stored is None else mapping.versioning.template.number_in(stored)


# -- looking up classes by the beginning of a key ----------------------------------------------------------------------

_Beginning: TypeAlias = tuple[str, ...]


@record
class KeyBeginnings:
    """The classes of a table, by what their keys begin with.

    Attributes:
        names: the table's key attributes.
        classes: the classes, by the literal texts that the parts of their primary keys begin with.
        lengths: the lengths of these texts.
        constraints: the names that guard items begin with.
    """

    names: tuple[str, ...]
    classes: Mapping[_Beginning, tuple[EntityMapping, ...]]
    lengths: tuple[tuple[int, ...], ...]
    constraints: frozenset[str]

    def candidates(self, item: Item) -> list[EntityMapping]:
        """The classes that may have a key like this item's."""
        texts = [item.get(name, {}).get("S", "") for name in self.names]
        beginnings = dict.fromkeys(
            tuple(text[:length] for text, length in zip(texts, lengths, strict=True))
            for lengths in self.lengths
        )
        return [mapping for beginning in beginnings for mapping in self.classes.get(beginning, ())]

    def is_like_guard(self, item: Item) -> bool:
        """Whether all key attributes are the same text, which begins with the name of a constraint."""
        if not self.constraints:
            return False
        first, *others = (item.get(name, {}).get("S") for name in self.names)
        if first is None or any(other != first for other in others):
            return False
        name, found, _ = first.partition("#")
        return bool(found) and name in self.constraints


def key_beginnings(table: Table) -> KeyBeginnings:
    """What the keys of a table's classes begin with."""
    return cached_per_table(table, _key_beginnings)


def _key_beginnings(table: Table) -> KeyBeginnings:
    classes: dict[_Beginning, tuple[EntityMapping, ...]] = {}
    for mapping in _families(table):
        beginning = tuple(literal_beginning(part) for part in mapping.primary_parts)
        classes[beginning] = (*classes.get(beginning, ()), mapping)
    return KeyBeginnings(
        names=table.key_names,
        classes=classes,
        lengths=tuple(dict.fromkeys(tuple(map(len, beginning)) for beginning in classes)),
        constraints=frozenset(
            name
            for mapping in catalog_of(table).guarded.values()
            for name, one in mapping.constraints.items()
            if not one.parts
        ),
    )


def _families(table: Table) -> Iterable[EntityMapping]:
    """One class of each family, because a family shares its keys: the root, if it is complete."""
    found: dict[type, EntityMapping] = {}
    for mapping in catalog_of(table).mappings.values():
        if mapping.root is mapping.entity or mapping.root not in found:
            found[mapping.root] = mapping
    return found.values()


def literal_beginning(part: KeyPart) -> str:
    """The literal text that begins all keys of a class, including those of its versions."""
    if part.attribute.kind != "S":
        return ""
    literal, template = "", part.template
    if part.version is not None:
        literal, found, _ = part.version.text.partition("{sk}")[0].partition("{version}")
        if found:
            return literal
    if template is None:
        return literal
    return literal + (template.pieces[0].before if template.pieces else template.after)


# The entity in a stored item that a program has in its hands, or the error that says what the item is instead.

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
    wrong = "it is empty" if isinstance(item, Mapping) else "it is not a dict"
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
        return "" if is_value(with_bytes(value)) else "is not an attribute value"
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
    hidden = {name for mapping in catalog.mappings.values() for name in mapping.secrets.keys}
    constraint = constraint_at(table, {table.pk.name: {"S": ""}, **key})
    if any(constraint in one.secrets.constraints for one in catalog.guarded.values()):
        hidden |= key.keys()
    return RedactedDict(key, frozenset(hidden)) if hidden else key

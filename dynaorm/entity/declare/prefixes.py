"""Fields whose members are attributes: which types they can have, and which attributes they would take from others.

Rule 1. An attribute that begins with a prefix is a member. So nothing else that an item of the class may have begins
        so: no field, key, revision, type or time of expiry, and not the attributes of another such field.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dynaorm.entity.codec.value import Codec, CodecError, UnsupportedType
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import replaces
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.item.path import Prefix
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace


def prefixed_codec(codec: Codec) -> Codec:
    """The codec of a field whose members are attributes. Raises UnsupportedType for what is no ``dict[str, ...]``."""
    is_dict = codec.tags == {"M"} and codec.element is not None and codec.key is None
    if not is_dict or codec.nullable:
        raise UnsupportedType("only the members of a dict can be attributes; write dict[str, ...]")

    def encode(value: Any) -> AttributeValue:
        found = codec.encode(value)
        if "" in found["M"]:
            _check_name("")
        return found

    return replace(codec, encode=encode, key=_check_name)


def _check_name(name: str) -> str:
    if not name:
        raise CodecError(
            "has an empty key, and a key is the rest of an attribute's name", remedy="give it a name"
        )
    return name


def prefix_problems(fields: Mapping[str, FieldMapping], others: Iterable[str], table: Table) -> Iterator[str]:
    """Why the members of some fields could be other attributes, one sentence each.

    Args:
        fields: the fields of a class.
        others: the other attributes that its items may have.
        table: its table.
    """
    prefixed = [one for one in fields.values() if isinstance(one.attribute, Prefix)]
    if not prefixed:
        return
    names = {name for one in fields.values() if not one.in_key for name in (one.attribute, *one.formerly)}
    names |= {*others, *table.kinds}
    if table.type_attribute is not None:
        names.add(table.type_attribute)
    if table.revision is not None:
        names.add(table.revision.attribute)
    for one in prefixed:
        beginning = str(getattr(one.attribute, "beginning", ""))
        if taken := sorted(name for name in names - {one.attribute} if name.startswith(beginning)):
            yield (
                f"{one.name}: {beginning!r} is the beginning of {', '.join(map(repr, taken))}, which is no member "
                f"of it; give it another prefix, or the other attribute another name"
            )


def prefix_conflicts(mapping: EntityMapping) -> Iterator[str]:
    """Why a class cannot join its table: DynamoDB would expire items by a member of a dict."""
    expiring = {name for home in mapping.table.homes for name in home.expiry_attributes}
    others = [one for one in catalog_of(mapping.table).mappings.values() if not replaces(mapping, one)]
    sides = [(mapping, expiring)]
    if mapping.expiry is not None:
        sides += [(one, {mapping.expiry.attribute}) for one in others]
    for one, names in sides:
        for prefix in one.prefixes:
            for name in sorted(names):
                if name.startswith(prefix.beginning):
                    yield (
                        f"{mapping.table} expires items by {name!r}, which begins with the prefix "
                        f"{prefix.beginning!r} of {one.entity.__name__}; give one of them another name"
                    )

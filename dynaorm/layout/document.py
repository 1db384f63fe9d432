"""A table as plain data: the description and its entries, for other programs."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dynaorm.description.classes import name_of
from dynaorm.description.description import TableDescription, check_description
from dynaorm.description.entry import Entry, check_entries
from dynaorm.entity.mapping.mapping import mapping_of

FORMAT: Final = "dynaorm.layout/1"
"""The format of ``to_json``. Later versions of format 1 may add members, and remove none."""


def to_json(description: TableDescription, entries: Sequence[Entry]) -> dict[str, Any]:
    """A table as plain data for ``json.dumps``: ``format``, ``description``, ``entries``.

    An entry has ``item`` in DynamoDB JSON, with bytes in base64 and secrets masked, ``kind``, ``class``, ``places``,
    ``owner``, ``constraint`` and ``number``, as ``dynaorm.description.Entry`` has them.

    Args:
        description: of the table.
        entries: its items.

    Examples:
        >>> to_json(describe(app), samples(app))["format"]
        'dynaorm.layout/1'
    """
    check_description(description)
    return {
        "format": FORMAT,
        "description": description.to_json(),
        "entries": [_entry(check_entry) for check_entry in check_entries(entries)],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "item": _plain(entry.visible),
        "kind": entry.kind,
        "class": None if entry.cls is None else name_of(mapping_of(entry.cls)),
        "places": dict(entry.places),
        "owner": _plain(entry.visible_owner),
        "constraint": entry.constraint,
        "number": entry.number,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return value

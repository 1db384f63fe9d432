"""The items of the table, read with AWS's client and interpreted without dynaorm."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import botocore.session

from tests.torture.entities import CLASS, KEYS, UNIQUE, VERSIONED, WITHOUT_REVISION, base_of, name_of

Item: TypeAlias = Mapping[str, Mapping[str, Any]]

CONSTRAINTS = frozenset(name for unique in UNIQUE.values() for name in unique)
HIDDEN = frozenset(
    {
        "PK",
        "SK",
        "GSI1PK",
        "GSI1SK",
        "_type",
        "_rev",
        "version",
        "version_at",
        "deleted",
        "previous_deletion",
        "version_type",
    }
)

TOKEN = "#token#"

_DOCUMENT = "DOC#"

DEFAULTS = {"name": "", "members": 0, "hours": 0}


@dataclass(frozen=True, slots=True)
class Stored:
    """An entity, a version or a tombstone (``values`` is None), with its item."""

    name: str
    revision: str
    version: int
    values: Mapping[str, Any] | None
    item: Item


@dataclass(slots=True)
class Snapshot:
    """All items of a table, by kind.

    Attributes:
        entities: live ones, by name.
        tombstones: of deleted ones, by name.
        versions: by name and number.
        guards: by key.
        tills, purses: what they count, and their items.
        tokens: token items, by token.
        strangers: items of no kind.
    """

    entities: dict[str, Stored] = field(default_factory=dict)
    tombstones: dict[str, Stored] = field(default_factory=dict)
    versions: dict[tuple[str, int], Stored] = field(default_factory=dict)
    guards: dict[str, Item] = field(default_factory=dict)
    tills: dict[str, tuple[int, Item]] = field(default_factory=dict)
    purses: dict[str, tuple[int, Item]] = field(default_factory=dict)
    tokens: dict[str, Item] = field(default_factory=dict)
    strangers: list[Item] = field(default_factory=list)

    def all_stored(self) -> Iterable[Stored]:
        yield from self.entities.values()
        yield from self.tombstones.values()
        yield from self.versions.values()


def raw_items(endpoint: str | None, table: str) -> list[Item]:
    """Every item, strongly consistent."""
    session = botocore.session.get_session()
    client: Any = session.create_client("dynamodb", region_name="us-east-1", endpoint_url=endpoint)
    try:
        pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]
    finally:
        client.close()


def snapshot_of(items: Iterable[Item]) -> Snapshot:
    snapshot = Snapshot()
    for item in items:
        _sort_in(item, snapshot)
    return snapshot


def plain(value: Mapping[str, Any]) -> Any:
    """A string, whole number or truth value."""
    ((kind, content),) = value.items()
    return int(content) if kind == "N" else content


def _sort_in(item: Item, snapshot: Snapshot) -> None:
    partition, sort = plain(item["PK"]), plain(item["SK"])
    constraint, _, _ = partition.partition("#")
    if constraint in CONSTRAINTS and partition == sort:
        snapshot.guards[partition] = item
    elif _is_of_tokens(item, snapshot):
        return
    elif (stored := _stored(item)) is None:
        snapshot.strangers.append(item)
    elif stored.values is None:
        snapshot.tombstones[stored.name] = stored
    elif partition.startswith(_DOCUMENT) and not sort.startswith("v0_"):
        snapshot.versions[stored.name, int(sort.partition("_")[0].removeprefix("v"))] = stored
    else:
        snapshot.entities[stored.name] = stored


def _stored(item: Item) -> Stored | None:
    """An entity, a version or a tombstone; None for an item of no kind."""
    partition = plain(item["PK"])
    type_ = item["_type"]["S"] if "_type" in item else VERSIONED if partition.startswith(_DOCUMENT) else ""
    kind = base_of(type_)
    values = {name: plain(value) for name, value in item.items() if name not in HIDDEN}
    if "deleted" in item:
        values |= {"id": partition.removeprefix(_DOCUMENT)}
    if kind == "Note":
        values[CLASS] = type_
    if kind == "Group":
        # The first membership creates its group with only what it adds. An absent attribute means its default.
        values = {**DEFAULTS, **values}
    is_written = "_rev" in item or kind == WITHOUT_REVISION
    if kind not in KEYS or not set(KEYS[kind]) <= values.keys() or not is_written:
        return None
    name, revision = name_of(kind, values), item.get("_rev", {"S": ""})["S"]
    number = int(item["version"]["N"]) if "version" in item else 0
    return Stored(name, revision, number, None if "deleted" in item else values, item)


def _is_of_tokens(item: Item, snapshot: Snapshot) -> bool:
    """Whether an item is a token item, a till, a purse or a receipt, which no model follows."""
    if item["PK"] == item["SK"] and item["PK"]["S"].startswith(TOKEN):
        snapshot.tokens[item["PK"]["S"].removeprefix(TOKEN)] = item
        return True
    kind, values = item.get("_type", {}).get("S"), {name: plain(value) for name, value in item.items()}
    if kind == "Till":
        snapshot.tills[values["id"]] = (values["runs"], item)
    elif kind == "Purse":
        snapshot.purses[values["id"]] = (values["total"], item)
    return kind in ("Till", "Purse", "Receipt")

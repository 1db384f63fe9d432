"""Addresses and numbers as texts, and read back: as a checkpoint file and an engine keep them.

Rule 1. Equal addresses have equal texts, in every process.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dynaorm.entity.table import Table
from dynaorm.flow.integrity.ledger import Sums
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.value import Item


def address_text(address: ItemAddress) -> str:
    """An address as JSON."""
    return json.dumps([address.table.name, json.loads(key_text(address.key))], sort_keys=True)


def address_in(text: str, tables: Mapping[str, Table]) -> ItemAddress:
    """The address in a text. ``tables``: the tables that it can name, by name."""
    name, key = json.loads(text)
    return ItemAddress(tables[name], key_in(json.dumps(key)))


def key_text(key: Item) -> str:
    """A primary key as JSON, with base64 for binary values."""
    return json.dumps(
        {
            name: {kind: b64encode(content).decode() if kind == "B" else content}
            for name, value in key.items()
            for kind, content in value.items()
        },
        sort_keys=True,
    )


def key_in(text: str) -> dict[str, Any]:
    """The primary key in a text."""
    return {
        name: {kind: b64decode(content) if kind == "B" else content}
        for name, value in json.loads(text).items()
        for kind, content in value.items()
    }


def numbers_text(numbers: Sums) -> str:
    """Exact numbers as JSON. They are texts in it, because Python reads a number in JSON as a float."""
    return json.dumps({name: str(number) for name, number in numbers.items()}, sort_keys=True)


def parse_numbers(text: str) -> dict[str, Decimal]:
    """The numbers in a text."""
    return {name: Decimal(number) for name, number in json.loads(text).items()}

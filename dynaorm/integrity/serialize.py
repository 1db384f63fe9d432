"""Facts, addresses and keys as texts, and read back: what checkpoint files, processes and engines keep.

Rule 1. Equal addresses have equal texts, in every process.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dynaorm.entity.table import Ident, Table
from dynaorm.flow.integrity.finding import Amount, Claim, Fact
from dynaorm.flow.integrity.ledger import Sums
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import Item


def to_json(value: Any) -> str:
    """A text of JSON, with base64 for binary values."""
    return json.dumps(value, default=base64_text)


def base64_text(value: object) -> str:
    """A binary value as base64."""
    assert isinstance(value, bytes)
    return b64encode(value).decode()


def key_text(key: Item) -> str:
    """A primary key."""
    return to_json(dict(sorted(key.items())))


def parse_key(text: str) -> dict[str, Any]:
    """The primary key in a text."""
    key: dict[str, Any] = with_bytes(json.loads(text))
    return key


def address_text(address: ItemAddress) -> str:
    """An address."""
    return json.dumps([address.table.name, key_text(address.key)])


def parse_address(text: str, tables: Mapping[str, Table]) -> ItemAddress:
    """The address in a text. ``tables``: the tables that it can name, by name."""
    name, key = json.loads(text)
    return ItemAddress(tables[name], parse_key(key))


def ident_text(ident: Ident) -> str:
    """What identifies an address, or a search."""
    return to_json([{"B": part} if isinstance(part, bytes) else part for part in ident])


def parse_ident(text: str) -> Ident:
    """What a text identifies."""
    return tuple(part["B"] if isinstance(part, dict) else part for part in with_bytes(json.loads(text)))


def numbers_text(numbers: Sums) -> str:
    """Exact numbers. They are texts in it, because Python reads a number in JSON as a float."""
    return json.dumps({name: str(number) for name, number in numbers.items()}, sort_keys=True)


def parse_numbers(text: str) -> dict[str, Decimal]:
    """The numbers in a text."""
    return {name: Decimal(number) for name, number in json.loads(text).items()}


def fact_text(fact: Fact) -> str:
    """What an item says of another one."""
    address = address_text(fact.address)
    if isinstance(fact, Amount):
        return json.dumps([address, numbers_text(fact.numbers)])
    holder = None if fact.holder is None else address_text(fact.holder)
    return json.dumps([address, holder, fact.is_harmless])


def parse_fact(text: str, tables: Mapping[str, Table]) -> Fact:
    """The fact in a text. ``tables``: as for ``parse_address``."""
    address, *rest = json.loads(text)
    if len(rest) == 1:
        return Amount(parse_address(address, tables), parse_numbers(rest[0]))
    holder, is_harmless = rest
    return Claim(
        parse_address(address, tables),
        None if holder is None else parse_address(holder, tables),
        is_harmless,
    )

"""The command ``show``: what a stored item is, whom it belongs to, and what is wrong with it."""

import json
from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import click
from pydantic_core import to_jsonable_python

from dynaorm.cli.frame import Argument, AsJson, ConnectionOptions, Option, ShowSecrets, Target, command
from dynaorm.cli.target import load_table
from dynaorm.cli.terminal import CLEAN, FOUND, NOTHING, complain, write_line, write_rows, write_sentences
from dynaorm.description.entry import Entry, classify, entity_in, secret_in_any
from dynaorm.description.tables import describe
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import KeyAttribute, Table
from dynaorm.errors import DynaormError, UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.finding import Finding, FindingKind
from dynaorm.integrity.run import findings_of, stored_item, stored_partition
from dynaorm.integrity.serialize import as_json as finding_as_json
from dynaorm.item.text import printable
from dynaorm.item.value import AttributeValue, Item
from dynaorm.layout.view import ItemRow, PartitionBlock, plain_text, view_of
from dynaorm.record import replace


@command
def show(
    *,
    target: Target,
    partition: Annotated[str, Argument("PK")],
    sort: Annotated[str | None, Argument("[SK]")] = None,
    limit: Annotated[int, Option("The most items without SK.", type=click.IntRange(min=1))] = 20,
    show_secrets: ShowSecrets = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Show any stored item by its raw key: what it is, whom it belongs to, and what verify would find.

    Without a sort key, show what the items of the partition are. A binary key is given as base64. Exit status: 1 if
    something is wrong with the item, if one of several cannot be read, or if there is none.

    Example: dynaorm show shop.models:app USER#u1 PROFILE
    """
    table = load_table(target)
    shown = ItemFormatter(table, secrets=show_secrets, as_json=as_json)
    keys = [_key_value(table.pk, partition)]
    if sort is not None and table.sk is None:
        raise UsageError(problem=f"{table} has no sort key", remedy="give the partition key alone")
    keys += [] if sort is None or table.sk is None else [_key_value(table.sk, sort)]
    findings: Sequence[Finding] | None = None
    with connection.session([target], [table]) as session:
        if len(keys) == len(table.keys):
            found = stored_item(session, table, dict(zip(table.key_names, keys, strict=True)))
            items = [] if found is None else [found]
        else:
            items = stored_partition(session, table, keys[0], limit + 1)
        if len(items) == 1:
            key = {name: items[0][name] for name in table.key_names}
            findings = findings_of(session, table, key)
            shown.one(items[0], findings)
    if not items:
        complain(f"no item of {table} has this key: {' '.join(filter(None, (partition, sort)))}")
    unread = shown.several(items[:limit]) if len(items) > 1 else 0
    if len(items) > limit:
        write_sentences(f"there are more items: --limit {2 * limit}", err=True)
    return (FOUND if findings or unread else CLEAN) if items else NOTHING


def _key_value(key: KeyAttribute, text: str) -> AttributeValue:
    """A key attribute from its text. Raises UsageError."""
    if key.kind == "S":
        return {"S": text}
    try:
        if key.kind == "N":
            return {"N": str(Decimal(text))}
        return {"B": b64decode(text, validate=True)}
    except (InvalidOperation, ValueError):
        kind = "a number" if key.kind == "N" else "base64"
        raise UsageError(
            problem=f"{key.name} is {kind}, and {text!r} is not", remedy=f"give {kind}"
        ) from None


class ItemFormatter:
    """How the items of a table are shown."""

    def __init__(self, table: Table, *, secrets: bool, as_json: bool) -> None:
        self._table, self._description = table, describe(table)
        self._secrets, self._as_json = secrets, as_json

    def one(self, item: Item, findings: Sequence[Finding] | None) -> None:
        """An item with all its attributes and what is wrong with it; None: it changes all the time."""
        entry = self._entry(item)
        block, row = self._row(entry)
        if self._as_json:
            judged = None if findings is None else [json.loads(finding_as_json(one)) for one in findings]
            write_line(json.dumps({**self._json(entry, row), "findings": judged}))
            return
        write_sentences(printable(_said(entry, row, findings)))
        for one in findings or ():
            write_sentences(f"  {one.kind.value}: {printable(one.detail)}")
            if one.kind is FindingKind.ORPHAN_GUARD:
                write_sentences("  (another entity may hold the value: verify looks at all of them)")
        keys = zip(self._table.key_names, (*block.key, *row.sort), strict=True)
        known = {name: plain_text(pieces) for name, pieces in keys} | {
            one.name: one.text for one in row.attributes
        }
        write_rows((printable(name), text) for name, text in known.items())

    def several(self, items: Sequence[Item]) -> int:
        """Some items, one line for each. Returns how many of them no class can read."""
        unread = 0
        for item in items:
            entry = self._entry(item)
            _, row = self._row(entry)
            is_read = _is_read(entry)
            unread += not is_read
            if self._as_json:
                write_line(json.dumps({**self._json(entry, row), "readable": is_read}))
            else:
                wrong = "" if is_read or entry.kind == "unknown" else "; it cannot be read"
                write_sentences(printable(f"{row.sort_text}  {_what(entry, row)}{wrong}"))
        if unread:
            cannot = counted(unread, "item cannot", "items cannot")
            complain(f"{cannot} be read by a class; give its sort key, too, to see what is wrong")
        return unread

    def _entry(self, item: Item) -> Entry:
        entry = classify(item, self._table)
        if entry.kind == "unknown":
            # Who may read the item may see it, but for what a declared class keeps secret.
            entry = replace(entry, secret=secret_in_any(self._table, entry.item))
        return entry.revealed if self._secrets else entry

    def _row(self, entry: Entry) -> tuple[PartitionBlock, ItemRow]:
        view = view_of(self._description, [entry])
        (block,) = (*view.blocks, *view.apart)
        (row,) = block.rows
        return block, row

    def _json(self, entry: Entry, row: ItemRow) -> dict[str, Any]:
        found: dict[str, Any] = {
            "Item": entry.visible,
            "kind": entry.kind,
            "class": row.cls,
            "says": _what(entry, row),
            "places": dict(entry.places),
            "constraint": entry.constraint,
            "version": entry.number,
            "owner": entry.visible_owner,
        }
        return {name: to_jsonable_python(one, bytes_mode="base64") for name, one in found.items()}


def _is_read(entry: Entry) -> bool:
    """Whether a class can read an item, if it is one that classes read."""
    if entry.kind == "entity" and entry.cls is not None:
        try:
            entity_in(entry)
        except DynaormError:
            return False
    return entry.kind != "unknown"


def _what(entry: Entry, row: ItemRow) -> str:
    """What an item is, in words."""
    if entry.kind == "entity":
        return row.name
    if entry.kind == "unknown":
        return "an item of no declared class"
    kind = {"guard": "guard item", "token": "token item", "version": ""}.get(entry.kind, entry.kind)
    if entry.kind == "tombstone":
        return f"tombstone: {row.said}"
    if entry.kind == "guard" and entry.owner is None:
        return f"guard item: reserves {entry.constraint}, and names no owner"
    return f"{kind}: {row.said}" if kind in ("guard item", "token item") else f"{kind} {row.said}".strip()


def _said(entry: Entry, row: ItemRow, findings: Sequence[Finding] | None) -> str:
    places = [f"in {index} as {place}" for index, place in entry.places.items()]
    parts = [", ".join([_what(entry, row), *places])]
    if findings is None:
        parts.append("it changes all the time, so it was not judged")
    elif findings:
        parts.append(f"{counted(len(findings), 'thing is', 'things are')} wrong with it")
    elif entry.kind == "guard" and entry.owner is not None:
        parts.append("the owner exists and holds it")
    elif entry.kind != "token":
        has_totals = entry.kind == "entity" and entry.cls is not None and mapping_of(entry.cls).maintained
        parts.append("nothing is wrong with it" + (", but its totals were not counted" if has_totals else ""))
    return "; ".join(parts) + (":" if findings else "")

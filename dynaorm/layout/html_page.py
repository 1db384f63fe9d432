"""The page of a table: one closed HTML file with its items, its keys and what can be asked of it.

Rule 1. The page requests nothing. Its policy allows its own style and script by their hashes, and nothing else.
Rule 2. Text of the data stands in a JSON island, in which ``<`` is escaped, and in the title, which is escaped.
Rule 3. The same description, entries and source give the same bytes.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from dynaorm.argument import check_kind
from dynaorm.description.access_patterns import describe
from dynaorm.description.answer import answer_of, values_of
from dynaorm.description.description import (
    AccessPattern,
    IndexKeyDescription,
    TableDescription,
    check_description,
)
from dynaorm.description.entry import Entry, check_entries, entity_in
from dynaorm.description.sample_items import samples
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.failure import MASK, counted, hidden_in, texts_of
from dynaorm.item.json_body import encode_body
from dynaorm.item.text import key_text, printable
from dynaorm.item.value import Item
from dynaorm.layout.markdown import KeyRow, cost_of, key_rows
from dynaorm.layout.view import ItemRow, KeyPiece, PartitionBlock, ShownAttribute, TableView, view_of
from dynaorm.layout.writes import Write, WriteAction, Writes
from dynaorm.record import FIELDS, record

# The data of the page: what its script draws. Everything that is shown is decided here, and nothing in the script.
#
# Rule 1. What is masked in the view is masked here: the data has no value of a secret field, in no key and no
#         sentence.
# Rule 2. The same description and entries give the same data, byte for byte.

PLANNED: Final = 100
"""So many entities have plans of their own; the others show those of the first one of their class."""

_PIECES: Final = {"literal": "l", "value": "f", "shard": "s", "masked": "m"}


def page_data(
    description: TableDescription, entries: Sequence[Entry], now: float, *, has_values: bool = True
) -> dict[str, Any]:
    """The data of the page, for ``json.dumps``.

    Args:
        description: of the table.
        entries: its items.
        now: the time of the writes that are shown, in seconds since the epoch.
        has_values: whether the items have their values. Without them, they can ask nothing and be written by nobody:
            each class shows the writes of a sample.
    """
    table = view_of(description, entries)
    if len(table.rows) < len(entries):  # what has no key of the table is not in it
        entries = [entries[at] for at in sorted(row.entry for row in table.rows)]
        table = view_of(description, entries)
    indexes = [view_of(description, entries, index.name) for index in description.indexes]
    shown = _attributes((*table.partition, *table.sort), entries, (table, *indexes))
    asked = _PageQuestions(description, entries, has_values=has_values)
    items = _PageItems(description, entries, now, has_values=has_values)
    return {
        "table": description.to_json(),
        "items": [
            items.data(row, shown[row.entry], asked.by_entry[row.entry])
            for row in sorted(table.rows, key=lambda one: one.entry)
        ],
        "views": [_view(view, shown) for view in (table, *indexes)],
        "like": items.planned if has_values else _sampled(description, entries, now),
        "keys": {row.cls.name: _said_of_keys(row) for row in key_rows(description)},
        "calls": asked.calls,
        "answers": asked.answers,
        "costs": {question.id: cost_of(question) for question in description.questions},
    }


def _said_of_keys(row: KeyRow) -> dict[str, Any]:
    """What the declarations say of a class besides its templates, in words."""
    when = {place.name: place.when for places in row.places for place in places if place.when}
    return {"unique": [*row.unique], "also": [*row.also], "when": when}


# -- what lies where ---------------------------------------------------------------------------------------------------


def _attributes(
    names: Iterable[str], entries: Sequence[Entry], views: Iterable[TableView]
) -> Mapping[int, dict[str, ShownAttribute]]:
    """By entry, every attribute of the item, the primary key first: each view leaves out those that its keys show."""
    found: dict[int, dict[str, ShownAttribute]] = {
        at: dict(_keys(names, one)) for at, one in enumerate(entries)
    }
    for view in views:
        for row in view.rows:
            for one in row.attributes:
                found[row.entry].setdefault(one.name, one)
    return found


def _keys(names: Iterable[str], entry: Entry) -> Iterator[tuple[str, ShownAttribute]]:
    for name in names:
        # A guard may be in another table, with other keys.
        if name not in entry.item:
            continue
        is_secret = name in entry.secret
        text = MASK if is_secret else key_text(entry.item[name])
        yield name, ShownAttribute(name, "", text, next(iter(entry.item[name])), "key", (), is_secret)


def _view(view: TableView, shown: Mapping[int, Mapping[str, ShownAttribute]]) -> dict[str, Any]:
    return {
        "index": view.index,
        "partitions": [
            _partition(block, shown, is_apart=is_apart)
            for is_apart, blocks in ((False, view.blocks), (True, view.apart))
            for block in blocks
        ],
    }


def _partition(
    block: PartitionBlock, shown: Mapping[int, Mapping[str, ShownAttribute]], *, is_apart: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {"key": [*map(_key, block.key)], "rows": []}
    for row in block.rows:
        at = {name: position for position, name in enumerate(shown[row.entry])}
        sides = [
            [at[one.name] for one in row.attributes if one.is_extra is is_extra] for is_extra in (False, True)
        ]
        found["rows"].append([row.entry, [*map(_key, row.sort)], *sides])
    return {**found, "apart": True} if is_apart else found


def _key(pieces: Iterable[KeyPiece]) -> list[list[str]]:
    return [[_PIECES[piece.kind], piece.text] for piece in pieces]


# -- items -------------------------------------------------------------------------------------------------------------


class _PageItems:
    """The data of items. The first entities of each class, and the first ones of all, have plans."""

    def __init__(
        self, description: TableDescription, entries: Sequence[Entry], now: float, *, has_values: bool
    ) -> None:
        self.has_values = has_values
        self.places = {one.name: one.places for one in description.classes}
        self.indexes = [index.name for index in description.indexes]
        self.entries = entries
        self.writes = Writes(entries, now)
        self.table = description.name
        self.planned: dict[str, int] = {}
        self.left = PLANNED

    def data(
        self, row: ItemRow, shown: Mapping[str, ShownAttribute], asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        entry = self.entries[row.entry]
        found: dict[str, Any] = {
            "kind": row.kind,
            "cls": row.cls,
            "name": row.name or row.said,
            "item": json.loads(encode_body(entry.visible)),
            "attributes": [_attribute(one, entry.visible) for one in shown.values()],
            "places": dict(row.places),
            "size": row.size,
        }
        optional = {"owner": row.owner, "number": row.number, "constraint": entry.constraint}
        found |= {name: value for name, value in optional.items() if value is not None}
        if row.kind == "entity" and self.has_values:
            found |= asked
            found |= self._of_entity(row, entry)
        return found

    def _of_entity(self, row: ItemRow, entry: Entry) -> dict[str, Any]:
        if entry.cls is None or row.cls is None:
            return {}
        try:
            entity = entity_in(entry)
        except DynaormError as problem:
            return {"problem": printable(str(problem))}
        found: dict[str, Any] = {"absent": dict(self._absent(row, entity))}
        if self.left > 0 or row.cls not in self.planned:
            self.left -= 1
            found["writes"] = [_write(one, self.table) for one in self.writes.of(entity)]
            self.planned.setdefault(row.cls, row.entry)
        return found

    def _absent(self, row: ItemRow, entity: Any) -> Iterator[tuple[str, str]]:
        """Why an entity is not in an index in which its class has a place."""
        for index in self.indexes:
            places = [one for one in self.places.get(row.cls or "", ()) if one.index == index]
            if places and index not in row.places:
                yield index, "; ".join(_reason(place, entity) for place in places)


def _write(write: Write, table: str) -> dict[str, Any]:
    return {
        "kind": write.kind,
        "title": f"change {write.fields[0]}" if write.fields else write.kind,
        "also": [*write.fields[1:]],
        "operation": write.operation,
        "units": write.units,
        "problem": write.problem,
        "actions": [_action(action, table) for action in write.actions],
    }


def _action(action: WriteAction, table: str) -> dict[str, Any]:
    return {
        "verb": action.verb,
        "reason": action.reason,
        "table": None if action.table == table else action.table,
        "key": " · ".join(dict.fromkeys(action.key.values())),
        "item": action.entry,
    }


def _sampled(description: TableDescription, entries: Sequence[Entry], now: float) -> dict[str, Any]:
    """For each class, the writes of a sample; nothing where no sample can be made."""
    table = next((mapping_of(entry.cls).table for entry in entries if entry.cls is not None), None)
    try:
        made = [] if table is None else samples(table)
    except DynaormError:
        return {}
    found: dict[str, Any] = {}
    writes = Writes(made, now)
    for row in view_of(description, made).rows:
        cls = made[row.entry].cls
        if row.kind == "entity" and row.cls is not None and cls is not None and row.cls not in found:
            entity = entity_in(made[row.entry])
            found[row.cls] = {
                "name": row.name,
                "writes": [_write(one, description.name) for one in writes.of(entity)],
            }
    return found


def _attribute(one: ShownAttribute, item: Item) -> list[str]:
    """Its name, and its text unless the item says the same."""
    return [one.name] if one.text == next(iter(item[one.name].values())) else [one.name, one.text]


def _reason(place: IndexKeyDescription, entity: Any) -> str:
    unset = [name for name in place.absent_if if getattr(entity, name, "") is None]
    if unset:
        return f"{place.name} needs {' and '.join(unset)}"
    if place.when is None:
        return f"{place.name} has no key for it"
    return f"{place.name} has it only when {place.when}"


# -- questions ---------------------------------------------------------------------------------------------------------


class _PageQuestions:
    """What the entries can ask, and the answers.

    Attributes:
        calls: for each question, its call for each choice of fields: texts, and between them the names of fields.
        answers: for each question, its answers: positions of entries.
        by_entry: for each entry, the questions that it can ask, each with the number of its answer and of its call,
            and the texts of the fields in them.
    """

    def __init__(self, description: TableDescription, entries: Sequence[Entry], *, has_values: bool) -> None:
        self.entries = entries
        self.has_values = has_values
        self.at = {id(one): at for at, one in enumerate(entries)}
        self.versions = self._versions()
        self.calls: dict[str, list[list[str]]] = {}
        self.answers: dict[str, list[list[int]]] = {}
        self.by_entry: list[dict[str, Any]] = [{"asks": {}, "says": {}} for _ in entries]
        for question in description.questions:
            self._ask(question)

    def _versions(self) -> Mapping[object, list[Entry]]:
        found: dict[object, list[Entry]] = {}
        for entry in self.entries:
            if entry.kind == "version" and entry.owner is not None:
                found.setdefault(identity(entry.owner), []).append(entry)
        return found

    def _ask(self, question: AccessPattern) -> None:
        names = [*dict.fromkeys(question.fields_by_class.values())]
        self.calls[question.id] = [_call(question, name) for name in names]
        numbers: dict[tuple[int, ...], int] = {}
        known: dict[object, int] = {}
        entities = [one for one in self.entries if one.kind == "entity"]
        for at, entry in enumerate(self.entries if self.has_values else ()):
            values = values_of(question, entry)
            if values is None:
                continue
            key = _same_values(question, values) or at
            if key not in known:
                found = answer_of(question, entry, self._among(question, entry, entities))
                known[key] = numbers.setdefault(tuple(self.at[id(one)] for one in found), len(numbers))
            told = self.by_entry[at]
            told["asks"][question.id] = [known[key], names.index(tuple(values))]
            told["says"] |= texts_of(values, _said)
        self.answers[question.id] = [[*number] for number in numbers]

    def _among(self, question: AccessPattern, entry: Entry, entities: list[Entry]) -> list[Entry]:
        """The entries that may be in an answer: looking at all of them takes too long where each asks for itself."""
        if question.kind in ("query", "collection"):
            return entities
        assert entry.cls is not None
        key = mapping_of(entry.cls).key_of(entry.item)
        return [entry, *self.versions.get(identity(key), ())]


def _same_values(question: AccessPattern, values: Mapping[str, Any]) -> str | None:
    """A text that is the same for entries that ask the same; None where each asks for itself, or a secret."""
    if question.kind not in ("query", "collection") or hidden_in(values):
        return None
    return repr([*values.items()])


class _Hole:
    """Stands in a call for the value of a field."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"\0{self.name}\0"


def _call(question: AccessPattern, names: Iterable[str]) -> list[str]:
    return question.call(**{name: _Hole(name) for name in names}).split("\0")


def _said(value: Any) -> str:
    """A value as people write it in Python."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, date | time | timedelta):
        return repr(value).replace("datetime.timezone.utc", "UTC").replace("datetime.", "")
    return printable(repr(value))


# What ends the island, what JavaScript took for the end of a line, and half a surrogate pair, which no file can hold.
_UNSAFE: Final = re.compile("[<\u2028\u2029\ud800-\udfff]")
_INLINE: Final = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
_PLACEHOLDER: Final = re.compile("%(TITLE|DATA)%")
_SAMPLES_AT: Final = datetime(2024, 1, 1, tzinfo=UTC)


@record
class ItemSource:
    """Where items of a real table are from.

    Attributes:
        table: its physical name.
        account: the AWS account; None if it is not known.
        region: the AWS Region; None if it is not known.
        at: when they were read, with a time zone.
        with_values: whether the items have their values; otherwise the values were replaced before.
        read: how many items were read to find them; None if that is not known.
        is_all: whether these are all items of the table.
        items: how many items the table has, approximately; None if that is not known.

    Examples:
        >>> ItemSource(table="app", account=None, region="eu-west-1", at=datetime(2024, 5, 1, tzinfo=UTC)).with_values
        False
    """

    table: str
    account: str | None
    region: str | None
    at: datetime
    with_values: bool = False
    read: int | None = None
    is_all: bool = False
    items: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The source as plain data, for ``json.dumps``.

        Examples:
            >>> source = ItemSource("app", None, "eu-west-1", datetime(2024, 5, 1, tzinfo=UTC), read=20, items=31)
            >>> source.to_json()["read"]
            20
        """
        return {name: getattr(self, name) for name in getattr(self, FIELDS)} | {"at": self.at.isoformat()}

    @property
    def text(self) -> str:
        """What a picture of the items says of it."""
        at = self.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        where = f"account {self.account or 'unknown'}, Region {self.region or 'unknown'}"
        said = [f"Items of the table {self.table} ({where}), read at {at}."]
        if self.read is not None:
            said.append(self._extent(self.read))
        said.append(
            "Their values are shown: pass this on with care."
            if self.with_values
            else "Their values are replaced by their types."
        )
        return " ".join(said)

    def _extent(self, read: int) -> str:
        if self.is_all:
            return f"The table has {counted(read, 'item')}, and all are read."
        if self.items is not None and self.items > read:
            return f"{read} of about {counted(self.items, 'item')} {'is' if read == 1 else 'are'} read."
        return f"It has more items than the {counted(read, 'item')} that {'is' if read == 1 else 'are'} read."


def render_html(
    table: Table | TableDescription, entries: Sequence[Entry], source: ItemSource | None = None
) -> str:
    """The page of a table as one HTML file, for a browser without a network.

    The first 100 entities have plans of their own; the others show those of another entity of their class. Items whose
    values were replaced show those of a sample, and ask no question. Secret fields are masked everywhere.

    Args:
        table: the table, or its description.
        entries: its items, as ``samples`` or ``classify`` give them.
        source: where real items are from, which the page says at its top; None for samples.

    Examples:
        >>> render_html(app, samples(app)).startswith("<!doctype html>")
        True
    """
    description = describe(table) if isinstance(table, Table) else table
    check_description(description)
    entries = check_entries(entries)
    if source is not None:
        check_kind("source={}", source, ItemSource, "an ItemSource")
    at = _SAMPLES_AT if source is None else source.at
    data = {
        "source": {
            "real": source is not None,
            "text": "Sample items, made from the declarations." if source is None else source.text,
        },
        **page_data(description, entries, at.timestamp(), has_values=source is None or source.with_values),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "TITLE": escape(f"{description.name} - layout".encode(errors="replace").decode()),
        "DATA": _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text),
    }
    # In one pass, because the title may look like a placeholder, too.
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], _template())


@cache
def _template() -> str:
    """The file of the page, with its policy."""
    text = files("dynaorm.layout").joinpath("page.html").read_text(encoding="utf-8")
    allowed = {kind: f"'sha256-{_hash(content)}'" for kind, content in _INLINE.findall(text)}
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {allowed['style']}",
            f"script-src {allowed['script']}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return text.replace("%POLICY%", policy, 1)


def _hash(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode()

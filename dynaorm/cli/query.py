"""The commands ``get``, ``query`` and ``history``."""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from secrets import token_bytes
from typing import Annotated, Any, Final, TypeAlias

import click
from pydantic_core import to_jsonable_python

from dynaorm.cli.frame import Argument, AsJson, Class, ConnectionOptions, Option, ShowSecrets, Target, command
from dynaorm.cli.target import load_class, load_source, load_table
from dynaorm.cli.terminal import (
    CLEAN,
    FAILED,
    FOUND,
    NOTHING,
    complain,
    write_line,
    write_rows,
    write_sentences,
)
from dynaorm.cli.values import (
    EntityFormatter,
    assigned,
    assignment,
    bound_of,
    fields_of,
    moment_of,
    single_values,
    value_of,
    values_of,
)
from dynaorm.description.access_patterns import describe
from dynaorm.description.entry import Entry, classify, entity_in, secret_in_any
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import KeyAttribute, Table
from dynaorm.entity.version import Version
from dynaorm.errors import DecodeError, DynaormError, UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.finding import Finding, FindingKind
from dynaorm.integrity.run import findings_of, stored_item, stored_partition
from dynaorm.integrity.serialize import as_json as finding_as_json
from dynaorm.item.condition import Condition
from dynaorm.item.field import F
from dynaorm.item.text import printable, time_text
from dynaorm.item.value import AttributeValue, Item
from dynaorm.layout.view import ItemRow, PartitionBlock, plain_text, view_of
from dynaorm.plan.inspection import inspect
from dynaorm.query.source import source_of
from dynaorm.record import record, replace
from dynaorm.session.query import Query

Fields: TypeAlias = Annotated[tuple[str, ...], Argument("FIELD=VALUE...")]
Limit: TypeAlias = Annotated[int, Option("The most of them.", type=click.IntRange(min=1))]
Consistent: TypeAlias = Annotated[bool, Option("Read strongly consistent, at twice the price.")]
_ASSIGNED: Final = "FIELD=VALUE"
_SEVERAL: TypeAlias = tuple[str, ...]


# -- one entity --------------------------------------------------------------------------------------------------------


@command
def get(
    *,
    target: Class,
    fields: Fields,
    version: Annotated[int | None, Option("As it was at version N.", "N")] = None,
    as_of: Annotated[str | None, Option("As it was at a time: 2026-01-31T12:00Z.", "TIME")] = None,
    consistent: Consistent = False,
    show_secrets: ShowSecrets = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Show the entity with a key, or with a unique value.

    Give the fields of its primary key, or those of a unique constraint.

    Example: dynaorm get shop.models:User email=liz@example.com
    """
    entity, shown = load_class(target), EntityFormatter(show_secrets)
    mapping = mapping_of(entity)
    values = single_values(mapping, fields)
    if _is_unique(mapping, values):
        for option, is_given in (("--version", version is not None), ("--as-of", as_of is not None)):
            if is_given:
                raise UsageError(
                    problem=f"{option} needs a key, and {', '.join(values)} is a unique value",
                    remedy=f"give {', '.join(mapping.key_fields)}",
                )
        with connection.session([target], [entity]) as session:
            found = session.get_by(entity, **values)
        return _show(
            found,
            f"no {entity.__name__} holds {' and '.join(assigned(shown.texts(mapping, values)))}",
            shown,
            as_json=as_json,
        )
    key = Key(entity, **values)
    moment = None if as_of is None else moment_of("--as-of", as_of)
    with connection.session([target], [entity]) as session:
        found = session.get(key, version=version, as_of=moment, consistent=consistent or None)
    absent = f"nothing is stored under {shown.name(key)}"
    if version is not None:
        absent = f"there is no version {version} of {shown.name(key)}"
    elif moment is not None:
        absent = f"{shown.name(key)} was not stored at {time_text(moment)}"
    return _show(found, absent, shown, as_json=as_json)


def _is_unique(mapping: EntityMapping, values: Mapping[str, Any]) -> bool:
    """Whether the values are those of a unique constraint, and not of the key."""
    names = values.keys()
    return names != {*mapping.key_fields} and any(
        names == {*constraint.fields} for constraint in mapping.constraints.values()
    )


def _show(found: Any, otherwise: str, shown: EntityFormatter, *, as_json: bool) -> int:
    """Show an entity. Returns the status of the command."""
    if found is None:
        complain(otherwise)
        return NOTHING
    if as_json:
        write_line(json.dumps(shown.entity(found)))
        return CLEAN
    state = inspect(found)
    assert state.key is not None
    head = [shown.name(state.key)]
    head += [] if state.version is None else [f"version {state.version}"]
    head += [] if state.revision is None else [f"revision {state.revision}"]
    write_sentences("  ".join(head))
    write_rows(shown.texts(mapping_of(type(found)), fields_of(found)).items())
    return CLEAN


# -- many entities -----------------------------------------------------------------------------------------------------


@record
class _Bounds:
    """The bounds of the sort key."""

    ge: Annotated[_SEVERAL, Option("In the sort key: from this value on.", _ASSIGNED)] = ()
    gt: Annotated[_SEVERAL, Option("In the sort key: after this value.", _ASSIGNED)] = ()
    le: Annotated[_SEVERAL, Option("In the sort key: up to this value.", _ASSIGNED)] = ()
    lt: Annotated[_SEVERAL, Option("In the sort key: before this value.", _ASSIGNED)] = ()
    begins_with: Annotated[
        _SEVERAL, Option("In the sort key: a key that begins with this text.", _ASSIGNED)
    ] = ()


@record
class _Reading:
    """What is read, and how."""

    filter: Annotated[
        _SEVERAL, Option("Only entities with this value, which is compared after reading.", _ASSIGNED)
    ] = ()
    limit: Limit = 20
    descending: Annotated[bool, Option("From the end of the sort key.")] = False
    consistent: Consistent = False
    expired: Annotated[bool, Option("Include what has expired and is still stored.")] = False
    after: Annotated[str | None, Option("Continue after the page that ended with this cursor.", "CURSOR")] = (
        None
    )


@command
def query(
    *,
    given: Annotated[tuple[str, ...], Argument("MODULE:CLASS[.PLACE]... FIELD=VALUE...")],
    bounds: _Bounds,
    chosen: _Reading,
    explain: Annotated[bool, Option("Say which requests would be sent, and send none.")] = False,
    show_secrets: ShowSecrets = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Show entities by the key of their table, or of an index.

    A field that is given several times may have any of the values. Several classes are read together, if they share
    their partitions. A date without a time is a whole day, a month or a year.

    Example: dynaorm query shop.models:Ticket.by_status status=open --ge created=2026-01
    """
    targets = [one for one in given if "=" not in one]
    if not targets:
        raise UsageError(problem="no class is named", remedy="write: dynaorm query MODULE:CLASS FIELD=VALUE")
    sources = [load_source(target) for target in targets]
    mappings = [source_of(source).mapping for source in sources]
    read = _Fields(mappings)
    equal = read.equal([one for one in given if "=" in one])
    shown, errors = EntityFormatter(show_secrets), DecodeErrors()
    entities = [mapping.entity for mapping in mappings]
    # A cursor holds a key. One that is encrypted for this process alone is of no use to the next.
    is_hidden = any(mapping.secrets.keys for mapping in mappings)
    key = token_bytes(32) if is_hidden else None
    with connection.session(targets, entities, on_decode_error=errors, cursor_secret=key) as session:
        found: Query[Any] = session.query(sources[0], **equal)
        if len(sources) > 1:
            found = session.collection(*sources, **equal)
        found = _built(found, read, bounds, chosen)
        if explain:
            _explain(found, as_json=as_json)
            return CLEAN
        page = found.page(chosen.limit, after=chosen.after)
    following = None if is_hidden else page.cursor
    for one in page:
        write_line(json.dumps(shown.entity(one))) if as_json else write_sentences(shown.line(one))
    if as_json:
        end = {"entities": len(page), "requests": page.requests, "read_units": page.read_units}
        write_line(json.dumps({"kind": "page", **end, "next": following}))
    else:
        count = counted(len(page), "entity", "entities") if page.entities else "nothing was found"
        price = f"{counted(page.requests, 'request')}, {counted(page.read_units, 'read unit')}"
        more = "" if page.cursor is None else f"\nnext page: --after {following}"
        if page.cursor is not None and is_hidden:
            more = "\nmore follow; a cursor would show a secret field, so give a larger --limit"
        write_sentences(f"{count}; {price}{more}", err=True)
    return FAILED if errors.count else CLEAN if page.entities else NOTHING


class _Fields:
    """The fields of the classes of a query. Their values are read by the first class that has the field."""

    def __init__(self, mappings: Iterable[EntityMapping]) -> None:
        self._mappings = list(mappings)

    def equal(self, given: Iterable[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        given = list(given)
        for name in dict.fromkeys(assignment(one).name for one in given):
            own = [one for one in given if assignment(one).name == name]
            found |= values_of(self.of(name), own)
        return found

    def bound(self, operator: str, given: str) -> tuple[str, str, Any]:
        return bound_of(self.of(assignment(given).name), operator, given)

    def condition(self, given: str) -> Condition:
        one = assignment(given)
        path: Any = F
        for step in one.name.split("."):
            path = path[step]
        found: Condition = path == value_of(self.of(one.name), one)
        return found

    def of(self, name: str) -> EntityMapping:
        """The first class with a field; the first of all if none has it."""
        first = name.partition(".")[0]
        own = (mapping for mapping in self._mappings if first in mapping.fields or name in mapping.computed)
        return next(own, self._mappings[0])


def _built(query: Query[Any], read: _Fields, bounds: _Bounds, chosen: _Reading) -> Query[Any]:
    for name in ("ge", "gt", "le", "lt", "begins_with"):
        for given in getattr(bounds, name):
            operator, field, value = read.bound(name, given)
            query = getattr(query, operator)(**{field: value})
    query = query.filter(*map(read.condition, chosen.filter))
    for name in ("descending", "consistent", "expired"):
        if getattr(chosen, name):
            query = getattr(query, name)()
    return query


def _explain(query: Query[Any], *, as_json: bool) -> None:
    text = query.explain()
    if as_json:
        write_line(json.dumps({"kind": "explanation", "lines": text.split("\n")}))
    else:
        write_sentences(text)


class DecodeErrors:
    """Complains of each item that cannot be read, without its values, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: DecodeError) -> None:
        self.count += 1
        complain(f"left out: {error}")


# -- versions ----------------------------------------------------------------------------------------------------------


@command
def history(
    *,
    target: Class,
    fields: Fields,
    diff: Annotated[
        tuple[int, int] | None, Option("The fields that differ between two versions.", "N M")
    ] = None,
    limit: Limit = 20,
    show_secrets: ShowSecrets = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Show the versions of an entity, newest first, each with what it changed.

    Example: dynaorm history shop.models:Guide slug=first-steps --diff 1 3
    """
    entity, shown = load_class(target), EntityFormatter(show_secrets)
    mapping = mapping_of(entity)
    key = Key(entity, **single_values(mapping, fields))
    with connection.session([target], [entity]) as session:
        if diff is not None:
            _show_diff(session.diff(key, *diff), diff, mapping, shown, as_json=as_json)
            return CLEAN
        # One more, which says what the last one changed.
        versions = list(islice(session.history(key), limit + 1))
    if not versions:
        complain(f"nothing is stored of {shown.name(key)}")
        return NOTHING
    if as_json:
        for one in versions[:limit]:
            values = shown.values(mapping, one.values)
            line = {"kind": "version", "number": one.number, "at": one.at.isoformat(), "values": values}
            write_line(json.dumps(line))
        return CLEAN
    for one, before in zip(versions[:limit], [*versions[1:], None], strict=False):
        write_sentences(f"version {one.number}  {time_text(one.at)}  {_changes(one, before, mapping, shown)}")
    if len(versions) > limit:
        write_sentences(f"there are older versions: --limit {2 * limit}", err=True)
    return CLEAN


def _changes(
    one: Version[Any], before: Version[Any] | None, mapping: EntityMapping, shown: EntityFormatter
) -> str:
    """What a version changed; all its values if it is the oldest."""
    changed = {
        name: value
        for name, value in one.values.items()
        if before is None or before.values.get(name) != value
    }
    if before is None:
        changed = {name: value for name, value in changed.items() if value is not None}
    return "  ".join(assigned(shown.texts(mapping, changed))) or "no change"


def _show_diff(
    found: Mapping[str, tuple[Any, Any]],
    numbers: tuple[int, int],
    mapping: EntityMapping,
    shown: EntityFormatter,
    *,
    as_json: bool,
) -> None:
    sides = [{name: pair[side] for name, pair in found.items()} for side in (0, 1)]
    if as_json:
        before, after = (shown.values(mapping, side) for side in sides)
        changes = {name: [before[name], after[name]] for name in found}
        write_line(json.dumps({"kind": "diff", "versions": list(numbers), "changes": changes}))
    elif found:
        was, became = (shown.texts(mapping, side) for side in sides)
        write_rows((name, f"{was[name]} -> {became[name]}") for name in found)
    else:
        write_sentences(f"versions {numbers[0]} and {numbers[1]} are equal", err=True)


# The command ``show``: what a stored item is, whom it belongs to, and what is wrong with it.


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
            attribute.name: attribute.text for attribute in row.attributes
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

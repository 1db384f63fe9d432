"""The commands ``get``, ``get-by``, ``query`` and ``history``."""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from secrets import token_bytes
from typing import Any, Final

import click

from dynaorm.cli.lines import complain, write_line, write_rows, write_sentences
from dynaorm.cli.options import AS_JSON, SHOW_SECRETS, TableAccess, connected, options
from dynaorm.cli.shown import Shown, assigned, fields_of
from dynaorm.cli.status import CLEAN, FAILED, NOTHING
from dynaorm.cli.target import load_class, load_source
from dynaorm.cli.values import assignment, bound_of, moment_of, single_values, value_of, values_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.version import Version
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import counted
from dynaorm.item.condition import Condition
from dynaorm.item.field import F
from dynaorm.item.value_text import time_text
from dynaorm.plan.inspection import inspect
from dynaorm.query.source import source_of
from dynaorm.session.query import Query

CLASS: Final = click.argument("target", metavar="MODULE:CLASS")
FIELDS: Final = click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE...")
_BOUNDS: Final = {
    "ge": "from this value on",
    "gt": "after this value",
    "le": "up to this value",
    "lt": "before this value",
    "begins_with": "a key that begins with this text",
}


def _bound(name: str) -> Any:
    said = f"In the sort key: {_BOUNDS[name]}."
    return click.option(f"--{name.replace('_', '-')}", name, multiple=True, metavar="FIELD=VALUE", help=said)


# -- one entity --------------------------------------------------------------------------------------------------------


@click.command("get", short_help="Show the entity with a key.")
@CLASS
@FIELDS
@options(
    click.option("--version", type=int, metavar="N", help="As it was at version N."),
    click.option("--as-of", metavar="TIME", help="As it was at a time: 2026-01-31T12:00Z."),
    click.option("--consistent", is_flag=True, help="Read strongly consistent, at twice the price."),
    SHOW_SECRETS,
    AS_JSON,
)
@connected
def get_command(
    *,
    connection: TableAccess,
    target: str,
    fields: tuple[str, ...],
    version: int | None,
    as_of: str | None,
    consistent: bool,
    show_secrets: bool,
    as_json: bool,
) -> None:
    """Show the entity with a key, which is given as the fields of its primary key.

    Example: dynaorm get shop.models:User user_id=u1
    """
    entity, shown = load_class(target), Shown(show_secrets)
    key = Key(entity, **single_values(mapping_of(entity), fields))
    moment = None if as_of is None else moment_of("--as-of", as_of)
    with connection.session([target], [entity]) as session:
        found = session.get(key, version=version, as_of=moment, consistent=consistent or None)
    absent = f"nothing is stored under {shown.name(key)}"
    if version is not None:
        absent = f"there is no version {version} of {shown.name(key)}"
    elif moment is not None:
        absent = f"{shown.name(key)} was not stored at {time_text(moment)}"
    _show(found, absent, shown, as_json=as_json)


@click.command("get-by", short_help="Show the entity that holds a unique value.")
@CLASS
@FIELDS
@options(SHOW_SECRETS, AS_JSON)
@connected
def get_by_command(
    *, connection: TableAccess, target: str, fields: tuple[str, ...], show_secrets: bool, as_json: bool
) -> None:
    """Show the entity that holds a unique value.

    Example: dynaorm get-by shop.models:User email=liz@example.com
    """
    entity, shown = load_class(target), Shown(show_secrets)
    mapping = mapping_of(entity)
    values = single_values(mapping, fields)
    with connection.session([target], [entity]) as session:
        found = session.get_by(entity, **values)
    wanted = " and ".join(assigned(shown.texts(mapping, values)))
    _show(found, f"no {entity.__name__} holds {wanted}", shown, as_json=as_json)


def _show(found: Any, otherwise: str, shown: Shown, *, as_json: bool) -> None:
    """Show an entity, and end the command."""
    if found is None:
        complain(otherwise)
        click.get_current_context().exit(NOTHING)
    if as_json:
        write_line(json.dumps(shown.entity(found)))
        return
    state = inspect(found)
    assert state.key is not None
    head = [shown.name(state.key)]
    head += [] if state.version is None else [f"version {state.version}"]
    head += [] if state.revision is None else [f"revision {state.revision}"]
    write_sentences("  ".join(head))
    write_rows(shown.texts(mapping_of(type(found)), fields_of(found)).items())


# -- many entities -----------------------------------------------------------------------------------------------------


@click.command("query", short_help="Show entities by the key of a table or an index.")
@click.argument("given", nargs=-1, required=True, metavar="MODULE:CLASS[.PLACE]... FIELD=VALUE...")
@options(
    *map(_bound, _BOUNDS),
    click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only entities with this value, which is compared after reading.",
    ),
    click.option(
        "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The most entities."
    ),
    click.option("--descending", is_flag=True, help="From the end of the sort key."),
    click.option("--consistent", is_flag=True, help="Read strongly consistent, at twice the price."),
    click.option("--expired", is_flag=True, help="Include what has expired and is still stored."),
    click.option("--after", metavar="CURSOR", help="Continue after the page that ended with this cursor."),
    click.option("--explain", is_flag=True, help="Say which requests would be sent, and send none."),
    SHOW_SECRETS,
    AS_JSON,
)
@connected
def query_command(*, connection: TableAccess, given: tuple[str, ...], **chosen: Any) -> None:
    """Show entities by the key of their table, or of an index.

    A field that is given several times may have any of the values. Several classes are read together, if they share
    their partitions. A date without a time is a whole day, a month or a year.

    Example: dynaorm query shop.models:Ticket.by_status status=open --ge created=2026-01
    """
    targets = [one for one in given if "=" not in one]
    if not targets:
        raise UsageError(problem="no class is named", remedy="write: dynaorm query MODULE:CLASS FIELD=VALUE")
    sources = [load_source(one) for one in targets]
    mappings = [source_of(one).mapping for one in sources]
    read = _Fields(mappings)
    equal = read.equal([one for one in given if "=" in one])
    shown, misfits = Shown(chosen["show_secrets"]), _Misfits()
    entities = [one.entity for one in mappings]
    # A cursor holds a key. One that is encrypted for this process alone is of no use to the next.
    is_hidden = any(one.secrets.keys for one in mappings)
    key = token_bytes(32) if is_hidden else None
    with connection.session(targets, entities, on_decode_error=misfits, cursor_secret=key) as session:
        query: Query[Any] = session.query(sources[0], **equal)
        if len(sources) > 1:
            query = session.collection(*sources, **equal)
        query = _built(query, read, chosen)
        if chosen["explain"]:
            _explain(query, as_json=chosen["as_json"])
            return
        page = query.page(chosen["limit"], after=chosen["after"])
    following = None if is_hidden else page.cursor
    for one in page:
        write_line(json.dumps(shown.entity(one))) if chosen["as_json"] else write_sentences(shown.line(one))
    if chosen["as_json"]:
        end = {"entities": len(page), "requests": page.requests, "read_units": page.read_units}
        write_line(json.dumps({"kind": "page", **end, "next": following}))
    else:
        count = counted(len(page), "entity", "entities") if page.entities else "nothing was found"
        price = f"{counted(page.requests, 'request')}, {counted(page.read_units, 'read unit')}"
        more = "" if page.cursor is None else f"\nnext page: --after {following}"
        if page.cursor is not None and is_hidden:
            more = "\nmore follow; a cursor would show a secret field, so give a larger --limit"
        write_sentences(f"{count}; {price}{more}", err=True)
    click.get_current_context().exit(FAILED if misfits.count else CLEAN if page.entities else NOTHING)


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
        own = (one for one in self._mappings if first in one.fields or name in one.computed)
        return next(own, self._mappings[0])


def _built(query: Query[Any], read: _Fields, chosen: Mapping[str, Any]) -> Query[Any]:
    for name in _BOUNDS:
        for given in chosen[name]:
            operator, field, value = read.bound(name, given)
            query = getattr(query, operator)(**{field: value})
    query = query.filter(*map(read.condition, chosen["filters"]))
    for name in ("descending", "consistent", "expired"):
        if chosen[name]:
            query = getattr(query, name)()
    return query


def _explain(query: Query[Any], *, as_json: bool) -> None:
    text = query.explain()
    if as_json:
        write_line(json.dumps({"kind": "explanation", "lines": text.split("\n")}))
    else:
        write_sentences(text)


class _Misfits:
    """Complains of each item that does not fit its class, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: DecodeError) -> None:
        self.count += 1
        complain(f"left out: {error}")


# -- versions ----------------------------------------------------------------------------------------------------------


@click.command("history", short_help="Show the versions of an entity.")
@CLASS
@FIELDS
@options(
    click.option(
        "--diff", nargs=2, type=int, metavar="N M", help="The fields that differ between two versions."
    ),
    click.option(
        "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The most versions."
    ),
    SHOW_SECRETS,
    AS_JSON,
)
@connected
def history_command(
    *,
    connection: TableAccess,
    target: str,
    fields: tuple[str, ...],
    diff: tuple[int, int] | None,
    limit: int,
    show_secrets: bool,
    as_json: bool,
) -> None:
    """Show the versions of an entity, newest first, each with what it changed.

    Example: dynaorm history shop.models:Guide slug=first-steps --diff 1 3
    """
    entity, shown = load_class(target), Shown(show_secrets)
    mapping = mapping_of(entity)
    key = Key(entity, **single_values(mapping, fields))
    with connection.session([target], [entity]) as session:
        if diff is not None:
            _show_diff(session.diff(key, *diff), diff, mapping, shown, as_json=as_json)
            return
        # One more, which says what the last one changed.
        versions = list(islice(session.history(key), limit + 1))
    if not versions:
        complain(f"nothing is stored of {shown.name(key)}")
        click.get_current_context().exit(NOTHING)
    if as_json:
        for one in versions[:limit]:
            values = shown.values(mapping, one.values)
            line = {"kind": "version", "number": one.number, "at": one.at.isoformat(), "values": values}
            write_line(json.dumps(line))
        return
    for one, before in zip(versions[:limit], [*versions[1:], None], strict=False):
        write_sentences(f"version {one.number}  {time_text(one.at)}  {_changes(one, before, mapping, shown)}")
    if len(versions) > limit:
        write_sentences(f"there are older versions: --limit {2 * limit}", err=True)


def _changes(one: Version[Any], before: Version[Any] | None, mapping: EntityMapping, shown: Shown) -> str:
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
    shown: Shown,
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

"""Find the tables that a test needs: those of the modules, entity classes and tables that it names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from dynaorm.argument import all_of, check_kind
from dynaorm.description.sample_items import at_line, in_order_of_saving, seeds_in
from dynaorm.entity.base import Entity
from dynaorm.entity.classify import checked_item
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError, TableNotFound, UsageError
from dynaorm.failure import counted, shown
from dynaorm.flow.call import Call, Context, Flow, PageKeys, last_key
from dynaorm.flow.integrity.finding import Finding, FindingKind
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.flow.read import repeat
from dynaorm.item.value import Item
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.tools.line_file import path_of

Source: TypeAlias = Table | type | ModuleType | str
"""A table, an entity class, a module, or the name of one: ``"myservice.entities"``, ``"myservice.entities:User"``."""


def tables_of(*sources: Source) -> tuple[Table, ...]:
    """The tables that these name, each once, in order. A module names its tables and those of its entity classes.

    Tables in which their classes keep totals are included. Guard tables are not, because ``create_table`` creates them.

    Args:
        *sources: tables, classes, modules, or the names of any of them: ``shop:Order``.

    Raises:
        UsageError: a source names no table.
        ImportError: a module cannot be imported.

    Examples:
        >>> [table.name for table in tables_of(User, Ticket)]
        ['app']
    """
    return _reached((table for source in sources for table in _tables_in(source)), _targets)


def check_session(method: str, session: object, kind: type) -> None:
    """Raise UsageError for anything but a session of this kind."""
    check_kind(f"{method}({{}})", session, kind, "a Session", remedy=f"give a {kind.__name__}")


def related(tables: Iterable[Table]) -> tuple[Table, ...]:
    """These tables, and every table that depends on one of them: of guards, of totals, of counted entities."""
    return _reached(tables, _neighbours)


def _reached(tables: Iterable[Table], neighbours: Callable[[Table], Iterable[Table]]) -> tuple[Table, ...]:
    """The tables, and all that can be reached from them."""
    found = dict.fromkeys(tables)
    waiting = list(found)
    while waiting:
        for neighbour in neighbours(waiting.pop()):
            if neighbour not in found:
                found[neighbour] = None
                waiting.append(neighbour)
    return tuple(found)


def _tables_in(source: Source) -> Iterator[Table]:
    if isinstance(source, str):
        yield from _tables_in(_named(source))
    elif isinstance(source, Table):
        yield source
    elif isinstance(source, ModuleType):
        yield from _tables_of_module(source)
    else:
        yield mapping_of(source).table


def _named(name: str) -> Source:
    module, colon, attribute = name.partition(":")
    try:
        found: Source = import_module(module)
    except (ValueError, UnicodeError):
        raise UsageError(
            problem=f"{shown(name)} names no module", remedy='write "myservice.entities"'
        ) from None
    if colon:
        found = getattr(found, attribute, None)  # type: ignore[assignment]  # judged below
        if not isinstance(found, Table | type):
            raise UsageError(
                problem=f"{name!r} is {found!r}, no table and no entity class",
                remedy='name one, or the whole module: "myservice.entities"',
            )
    return found


def _tables_of_module(module: ModuleType) -> Iterator[Table]:
    declared = list(vars(module).values())
    found = [one for one in declared if isinstance(one, Table)]
    found += [mapping_of(one).table for one in declared if _is_mapped(one)]
    if not found:
        raise UsageError(
            problem=f"the module {module.__name__!r} has no table and no entity class",
            remedy="name the module that declares them",
        )
    # A guard table comes with the tables whose guards it holds.
    homes = {one.guard_table for one in found}
    yield from (one for one in found if one not in homes)


def _is_mapped(one: object) -> bool:
    if not (isinstance(one, type) and issubclass(one, Entity) and one is not Entity):
        return False
    try:
        mapping_of(one)
    except UsageError:  # a base class without a table, or a plain model
        return False
    return True


def _targets(table: Table) -> Iterator[Table]:
    for mapping in catalog_of(table).mappings.values():
        yield from (mapping_of(aggregate.target).table for aggregate in mapping.aggregates.values())


def _neighbours(table: Table) -> Iterator[Table]:
    catalog = catalog_of(table)
    yield table.guards
    yield from _targets(table)
    for mapping in (*catalog.guarded.values(), *catalog.counted.values()):
        yield mapping.table


# ``load_seeds``: saves the entities of a JSON-lines file, in plain JSON or in DynamoDB JSON.


def load_seeds(session: Session, path: str | Path, /, *sources: Source) -> list[Any]:
    """Save the entities of a JSON-lines file, and return them in the order of the file.

    Each line is an object with one member: a class with its fields, or ``Item`` with an item in DynamoDB JSON, as the
    lines of DynamoDB's exports have it::

        {"User": {"user_id": "bob", "email": "bob@x.com"}}
        {"Item": {"PK": {"S": "USER#liz"}, "SK": {"S": "PROFILE"}, "_type": {"S": "User"}, "user_id": {"S": "liz"}}}

    Every entity is saved as a new one, with its guard items and its first version. So items that belong to entities
    (guard items, version items, tombstones, remembered tokens) are left out, and totals are counted anew. Entities with
    totals are saved first.

    Args:
        session: a session on the tables, which exist.
        path: the file.
        *sources: the tables of the classes that the file may name, as for ``tables_of``.

    Raises:
        UsageError: a line is not valid, or its entity cannot be saved. The message names the file and the line. If a
            line is not valid, nothing is saved.

    Examples:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "users.jsonl")
        >>> written = path.write_text(json.dumps({"User": {"user_id": "9", "email": "ada@x.com"}}))
        >>> load_seeds(session, path, app)
        [User(user_id='9', email='ada@x.com', name='', visits=0)]
    """
    if not sources:
        raise UsageError(
            problem="load_seeds() got no class and no table",
            remedy="give those that the file may name: load_seeds(session, path, app)",
        )
    check_session("load_seeds", session, Session)
    file = path_of("load_seeds(path={})", path)
    # A name may have braces.
    place = f"{file}:".replace("{", "{{").replace("}", "}}") + "{}"
    seeds = list(seeds_in(_lines(file), tables_of(*sources), place=place))
    for seed in in_order_of_saving(seeds):
        try:
            session.save(seed.entity)
        except DynaormError as error:
            raise at_line(seed.place, error) from error
    return [_with_totals(session, seed.entity) for seed in seeds]


def _with_totals(session: Session, entity: Any) -> Any:
    return session.refresh(entity) if mapping_of(type(entity)).maintained else entity


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(
            problem=f"{file} cannot be read: {error.strerror}", remedy="give the path of a JSON-lines file"
        ) from error


# Assert that the raw items of tables agree with each other: the judgement of ``verify``, for tests.
#
# What has expired is absent: it needs no guard, and DynamoDB deletes it at some later time.

Inconsistency = Finding
Broken = FindingKind


def inconsistencies(items: Mapping[Table, Iterable[Item]], now: float) -> list[Inconsistency]:
    """Everything that is wrong with these items, which are all the items of their tables.

    The findings are those of ``verify``. Give tables that depend on each other together: of guards, of totals, of the
    entities that are counted in them.

    Args:
        items: every raw item of each table.
        now: seconds since the Unix epoch; what has expired by then is absent.

    Examples:
        >>> inconsistencies({app: [item_of(Ticket(project="p9", number=1))]}, now=0.0)
        []
    """
    check_kind("items={}", items, Mapping, "a mapping", remedy="give the items of each Table")
    all_of("items={}", [*items], Table, "a Table", remedy="give the items of each Table")
    check_kind("now={}", now, int | float, "a number", remedy="give seconds since the Unix epoch")
    checked = {table: [checked_item(one) for one in some] for table, some in items.items()}
    return judge_items(checked, now)


def assert_consistent(session: Session, *tables: Source) -> None:
    """Read whole tables, and raise if a stored item breaks a rule that every save keeps.

    Each guard has one live owner, and each live unique value its guard; the latest copy equals the newest version, and
    versions have no gaps; index keys are those that their templates render; totals add up; every item is of a class.

    Args:
        session: the session to read with.
        tables: tables, entity classes, modules of these, or the names of any of them. Tables that depend on them are
            read, too, if they exist.

    Raises:
        AssertionError: with every finding.
        TableNotFound: one of the tables does not exist.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.testing.moto_engine import strict_moto
        >>> class Song(Entity, table=Table("songs"), pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> with strict_moto(), Session(region="us-east-1") as session:
        ...     session.create_table(Song.__dynaorm_mapping__.table)
        ...     assert_consistent(session, Song)
    """
    check_session("assert_consistent", session, Session)
    _raise(session._run("verify", _findings(session._context, tables_of(*tables))))


async def assert_consistent_async(session: AsyncSession, *tables: Source) -> None:
    """``assert_consistent`` for an asynchronous session.

    Args:
        session: the session to read with.
        *tables: as for ``assert_consistent``.

    Raises:
        AssertionError: with every finding.
        TableNotFound: one of the tables does not exist.

    Examples:
        ```python
        await assert_consistent_async(session, app)
        ```
    """
    check_session("assert_consistent_async", session, AsyncSession)
    _raise(await session._run("verify", _findings(session._context, tables_of(*tables))))


def _raise(found: Sequence[Finding]) -> None:
    if found:
        lines = "\n  - ".join(map(str, found))
        raise AssertionError(
            f"{counted(len(found), 'inconsistency', 'inconsistencies')} in what is stored:\n  - {lines}\n"
            "Items written by hand must keep these rules, too; mark a test that breaks them on purpose "
            "@pytest.mark.dynaorm_unchecked"
        )


def _findings(context: Context, tables: Sequence[Table]) -> Flow[list[Finding]]:
    items: dict[Table, list[Item]] = {}
    for table in related(tables):
        try:
            items[table] = yield from _items(context.table_name(table.name), context)
        except TableNotFound:
            if table in tables:
                raise
            items[table] = []
    return judge_items(items, context.clock.now())


def _items(name: str, context: Context) -> Flow[list[Item]]:
    found: list[Item] = []
    request: dict[str, object] = {"TableName": name, "ConsistentRead": True}
    page_keys = PageKeys[Item]()
    while True:
        reply = yield from repeat(Call("Scan", request), context)
        found += reply["Items"]
        last = page_keys.checked("Scan", last_key(reply))
        if last is None:
            return found
        request = {**request, "ExclusiveStartKey": last}

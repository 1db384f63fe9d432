"""Assert that the raw items of tables agree with each other: the judgement of ``verify``, for tests.

What has expired is absent: it needs no guard, and DynamoDB deletes it at some later time.
"""

from collections.abc import Iterable, Mapping, Sequence

from dynaorm.argument import all_of, check_kind
from dynaorm.entity.stored_entity import checked_item
from dynaorm.entity.table import Table
from dynaorm.errors import TableNotFound
from dynaorm.failure import counted
from dynaorm.flow.call import Call, Context, Flow, PageKeys, last_key
from dynaorm.flow.integrity.finding import Finding, FindingKind
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.flow.read import repeat
from dynaorm.item.value import Item
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.testing.tables import Source, check_session, related, tables_of

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

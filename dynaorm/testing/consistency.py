"""Whether the raw items of tables agree with each other: every rule that a save keeps, checked from what is stored.

Rule 1. The check itself is pure: items go in, everything that is wrong comes out.
Rule 2. What has expired is absent to everybody, so it owes nothing; DynamoDB deletes it when it likes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dynaorm.entity.table import Table
from dynaorm.errors import TableNotFound
from dynaorm.flow.protocol.call import Call, Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import repeat
from dynaorm.item.value import Item
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.testing.census import Broken, Census, Inconsistency
from dynaorm.testing.census_guards import broken_guards, broken_index_keys
from dynaorm.testing.census_totals import broken_totals
from dynaorm.testing.census_versions import broken_versions
from dynaorm.testing.tables import Source, related, tables_of

CHECKS: Final = (broken_index_keys, broken_guards, broken_versions, broken_totals)


def inconsistencies(items: Mapping[Table, Iterable[Item]], now: float) -> list[Inconsistency]:
    """Everything that is wrong with these items, which are all of their tables.

    Tables that have to agree (of guards, of totals, of what is counted) have to be given together.

    Args:
        items: every raw item of each table.
        now: seconds since the Unix epoch; what has expired by then is absent.
    """
    census = Census(items, now)
    strangers = (
        one.breaks(Broken.UNKNOWN_ITEM, f"it has {', '.join(sorted(one.item))}") for one in census.unknown
    )
    return [
        *strangers,
        *census.unreadable.values(),
        *(one for check in CHECKS for one in check(census)),
    ]


def assert_consistent(session: Session, *tables: Source) -> None:
    """Read whole tables, and raise where what is stored breaks a rule that every save keeps.

    One live owner for each guard, and one guard for each live value; the latest copy equals the newest version, and
    versions are dense; index keys are as their templates render them; totals add up; every item is of a class.

    Args:
        session: where to read.
        tables: tables, entity classes, or modules of them, by name, too. Tables that have to agree with them are read
            with them, if they exist.

    Raises:
        AssertionError: with every inconsistency.
        TableNotFound: one of the tables does not exist.

    Example:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.testing.moto_engine import strict_moto
        >>> class Song(Entity, table=Table("songs"), pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> with strict_moto(), Session(region="us-east-1") as session:
        ...     session.create_table(Song.__dynaorm_mapping__.table)
        ...     assert_consistent(session, Song)
    """
    _raise(session._run(_found(session._context, tables_of(*tables))))


async def assert_consistent_async(session: AsyncSession, *tables: Source) -> None:
    """The same for an asynchronous session."""
    _raise(await session._run(_found(session._context, tables_of(*tables))))


def _raise(found: Sequence[Inconsistency]) -> None:
    if found:
        lines = "\n  - ".join(map(str, found))
        raise AssertionError(
            f"{len(found)} inconsistencies in what is stored:\n  - {lines}\n"
            "Items written by hand have to keep these rules, too; a test that breaks them on purpose is marked "
            "@pytest.mark.dynaorm_unchecked"
        )


def _found(context: Context, tables: Sequence[Table]) -> Flow[list[Inconsistency]]:
    items: dict[Table, list[Item]] = {}
    for table in related(tables):
        try:
            items[table] = yield from _items(context.table_name(table.name), context)
        except TableNotFound:
            if table in tables:
                raise
            items[table] = []
    return inconsistencies(items, context.clock.now())


def _items(name: str, context: Context) -> Flow[list[Item]]:
    found: list[Item] = []
    request: dict[str, object] = {"TableName": name, "ConsistentRead": True}
    while True:
        reply = yield from repeat(Call("Scan", request), context)
        found += reply["Items"]
        if not reply.get("LastEvaluatedKey"):
            return found
        request = {**request, "ExclusiveStartKey": reply["LastEvaluatedKey"]}

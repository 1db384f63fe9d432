"""The endings of a query, as flows."""

from typing import Any, Final

from dynaorm.entity.key import sought_key
from dynaorm.errors import EntityNotFound, InvalidCursor, UsageError
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.query.walk import Walk
from dynaorm.query.cursor import Position, decode_cursor, encode_cursor, fingerprint_of
from dynaorm.query.question import Question
from dynaorm.query.results import Page, Results
from dynaorm.query.strand import Strands, keys_alone, strands_of

_ONE: Final = 2  # entities that have to be read to know that there is only one


def walk_of(question: Question, context: Context) -> Walk:
    """A walk from the beginning.

    Raises:
        UsageError: no key serves the question; nothing was sent.
        InvalidValue: a value cannot be part of the key.
    """
    return Walk(question, _strands(question, context), context)


def _strands(question: Question, context: Context) -> Strands:
    return strands_of(question, context.table_name, consistent=context.consistent)


def all_of(question: Question, context: Context) -> Flow[Results[Any]]:
    """Everything that is found."""
    walk = walk_of(question, context)
    found = yield from walk.page(None)
    cost = walk.cost
    return Results(found, cost.requests, cost.read_units)


def first_of(question: Question, context: Context) -> Flow[Any | None]:
    """The first; None for none."""
    found = yield from walk_of(question.limited(1), context).page(None)
    return found[0] if found else None


def one_of(question: Question, context: Context) -> Flow[Any]:
    """The only one.

    Raises:
        EntityNotFound: there is none.
        UsageError: there are several.
    """
    found = yield from walk_of(question.limited(_ONE), context).page(None)
    if not found:
        raise EntityNotFound(key=sought_key(question.source.mapping.entity, question.equal))
    if len(found) > 1:
        raise UsageError(
            problem=f"one() found several entities of {question}",
            remedy="use first() or all(), or ask for more fields",
        )
    return found[0]


def count_of(question: Question, context: Context) -> Flow[int]:
    """How many there are; reads keys alone, which costs the same capacity and less time."""
    walk = walk_of(keys_alone(question), context)
    count = 0
    while not walk.is_over:
        count += len((yield from walk.more()))
    return count


def page_of(question: Question, context: Context, size: int, after: str | None) -> Flow[Page[Any]]:
    """The page after a cursor; the first one for None.

    Raises:
        InvalidCursor: it is damaged, or another query's; nothing was sent.
    """
    if type(size) is not int or size < 1:
        raise UsageError(
            problem=f"page({size!r}) has no size", remedy="give the number of entities, 1 or more"
        )
    strands = _strands(question, context)
    own = _fingerprint(question, strands)
    secret = context.cursor_secret
    keys = {key.name: key for key in (*question.source.table.keys, *question.source.keys)}
    start = decode_cursor(after, own, tuple(keys.values()), secret) if after is not None else None
    if start is not None and not _can_start(strands, start):
        raise InvalidCursor(problem="the cursor is damaged")
    walk = Walk(question, strands, context, start)
    found = yield from walk.page(size)
    cursor = None if walk.is_over else encode_cursor(walk.position, own, secret)
    cost = walk.cost
    return Page(found, cursor, cost.requests, cost.read_units)


def _can_start(strands: Strands, start: Position) -> bool:
    """Whether a position can be one of these strands' walk: what is not signed may have been made up."""
    if len(start.strands) != len(strands.strands):
        return False
    each = zip(strands.strands, start.strands, strict=True)
    return all(after is None or after is True or strand.passes(after) for strand, after in each)


def _fingerprint(question: Question, strands: Strands) -> str:
    """What makes two queries one: a cursor of another would skip or repeat entities."""
    extra = (str(question), question.limit, question.expired, question.keys_only, repr(strands.local_filter))
    return fingerprint_of([strand.request for strand in strands.strands], extra)


def split(question: Question, entities: list[Any]) -> tuple[list[Any], ...]:
    """One list for each class that was asked for, in that order."""
    found: tuple[list[Any], ...] = tuple([] for _ in question.sources)
    kinds = [source.mapping.entity for source in question.sources]
    for entity in entities:
        # The class itself before a base class that was named, too.
        place = kinds.index(type(entity)) if type(entity) in kinds else None
        if place is None:
            place = next(number for number, kind in enumerate(kinds) if isinstance(entity, kind))
        found[place].append(entity)
    return found

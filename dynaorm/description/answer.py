"""The answers of a table's questions among given items: what a session would return if the table held exactly these.

Rule 1. The values of a question are those of one entry: "the Tickets of *this* project".
Rule 2. What belongs to an answer is decided by the code that queries run, so that both agree.
Rule 3. Time plays no part: expired entities are among the answers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dynaorm.argument import check_kind
from dynaorm.description.classes import name_of
from dynaorm.description.description import AccessPattern
from dynaorm.description.entry import Entry, check_entries, check_entry
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import DynaormError
from dynaorm.item.condition import Condition, holds
from dynaorm.item.value import Item
from dynaorm.query.key_query import KeyQuery, key_queries_of
from dynaorm.query.key_range import comparable
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.source import Source, known_source


def values_of(question: AccessPattern, entry: Entry) -> Mapping[str, Any] | None:
    """The values of an entry for the fields of a question, with its secrets; ``repr`` masks those.

    Args:
        question: a question of the table's description.
        entry: the entry that it is asked about.

    Returns:
        None where the entry cannot ask it: it is no entity of the question's classes, is not in the index, claims no
        unique value, or cannot be read.

    Examples:
        >>> entries = samples(app)
        >>> question = next(one for one in describe(app).questions if one.kind == "get" and "User" in one.classes)
        >>> user = next(entry for entry in entries if entry.kind == "entity" and entry.cls is User)
        >>> values_of(question, user)
        {'user_id': 'user_id-1'}
    """
    check_question(question)
    check_entry("entry={}", entry)
    asking = _asking(question, entry)
    if asking is None or entry.cls is None:
        return None
    mapping = mapping_of(entry.cls)
    names = question.fields_by_class[asking]
    try:
        stored = mapping.subject(entry.item)
        values = {name: stored[name] for name in names}
        if question.constraint is not None:
            claimed = {name for name, _, _ in claims(mapping, stored)}
            return mapping.secrets.hiding(values) if question.constraint in claimed else None
    except (DynaormError, ValueError):
        return None
    return None if None in values.values() else mapping.secrets.hiding(values)


def call_of(question: AccessPattern, entry: Entry) -> str | None:
    """The Python call of a question with the values of an entry, secrets masked; None where it cannot ask it.

    Args:
        question: a question of the table's description.
        entry: the entry that it is asked about.

    Examples:
        >>> entries = samples(app)
        >>> question = next(one for one in describe(app).questions if one.kind == "get" and "User" in one.classes)
        >>> user = next(entry for entry in entries if entry.kind == "entity" and entry.cls is User)
        >>> call_of(question, user)
        "session.get(User, user_id='user_id-1')"
    """
    values = values_of(question, entry)
    return None if values is None else question.call_with(values)


def answer_of(question: AccessPattern, entry: Entry, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries that answer a question with the values of an entry, in the order of the answer.

    Args:
        question: a question of the table's description.
        entry: the entry that it is asked about.
        entries: the items of the table, ``entry`` among them. Of a history, the versions belong to the answer.

    Returns:
        Nothing where the entry cannot ask it (``values_of``).

    Examples:
        >>> entries = samples(app)
        >>> question = next(one for one in describe(app).questions if one.kind == "get" and "User" in one.classes)
        >>> user = next(entry for entry in entries if entry.kind == "entity" and entry.cls is User)
        >>> len(answer_of(question, user, entries))
        1
    """
    entries = check_entries(entries)
    values = values_of(question, entry)
    if values is None or entry.cls is None:
        return ()
    mapping = mapping_of(entry.cls)
    key = identity(mapping.key_of(entry.item))
    if question.kind in ("get", "get_by"):
        return tuple(one for one in entries if one.kind == "entity" and _key_of(mapping, one.item) == key)
    if question.kind == "history":
        own = [
            one
            for one in entries
            if one.kind == "version" and one.owner is not None and identity(one.owner) == key
        ]
        return tuple(sorted(own, key=lambda one: one.number or 0, reverse=True))
    return _found(_sources(question, mapping), values, entries)


def check_question(question: object) -> None:
    """Raise UsageError for anything but a question."""
    check_kind(
        "question={}",
        question,
        AccessPattern,
        "an AccessPattern",
        remedy="give one of describe(table).questions",
    )


def _key_of(mapping: EntityMapping, item: Item) -> object:
    return identity(mapping.key_of(item))


def _asking(question: AccessPattern, entry: Entry) -> str | None:
    """The class under whose names an entry can ask a question."""
    if entry.kind != "entity" or entry.cls is None:
        return None
    for base in entry.cls.__mro__:
        name = next((name_of(mapping) for mapping in _mappings(entry.cls) if mapping.entity is base), None)
        if name is not None and name in question.fields_by_class:
            is_there = question.index is None or entry.places.get(question.index) in question.places[name]
            return name if is_there else None
    return None


def _mappings(entity: type[Any]) -> Iterable[EntityMapping]:
    return catalog_of(mapping_of(entity).table).mappings.values()


def _sources(question: AccessPattern, mapping: EntityMapping) -> tuple[Source, ...]:
    named = {name_of(one): one for one in catalog_of(mapping.table).mappings.values()}
    return tuple(known_source(named[name].entity, place) for name, place in question.sources)


def _found(
    sources: tuple[Source, ...], values: Mapping[str, Any], entries: Iterable[Entry]
) -> tuple[Entry, ...]:
    spec = QuerySpec(sources).where(values)
    # The condition is made anew each time that a query is asked for it.
    queries = [(one, one.within) for one in key_queries_of(spec, str, consistent=False).key_queries]
    found = [entry for entry in entries if any(_reads(*query, sources, entry) for query in queries)]
    sort = [part.attribute.name for part in sources[0].sort]
    return tuple(sorted(found, key=lambda one: [comparable(one.item[name]) for name in sort]))


def _reads(query: KeyQuery, within: Condition | None, sources: tuple[Source, ...], entry: Entry) -> bool:
    """Whether a key query finds an entry, and it is of the wanted class."""
    if entry.kind != "entity" or entry.cls is None:
        return False
    is_there = all(key.kind in entry.item.get(key.name, ()) for key in sources[0].keys)
    if not is_there or not any(issubclass(entry.cls, source.mapping.entity) for source in sources):
        return False
    if within is None or not holds(within, entry.item):
        return False
    mapping = mapping_of(entry.cls)
    return query.accepts(mapping, mapping.subject(entry.item), entry.item)

"""Asks every question of a description about every stored item, and compares the answers with what it claims."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm import Key, Session, Table, inspect
from dynaorm.description import AccessPattern, Entry, answer_of, classify, describe, values_of
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.query.key_range import comparable
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport


def stored_entries(engine: Transport, table: Table) -> list[Entry]:
    """What every item of a table is."""
    return [classify(item, table) for item in engine.call(Call("Scan", {"TableName": table.name}))["Items"]]


def check_questions(session: Session, wire: FaultyTransport, table: Table) -> Counter[str]:
    """Ask everything about everything. Counts the questions asked, by kind."""
    description, entries, asked = describe(table), stored_entries(wire, table), Counter[str]()
    for question in description.questions:
        for entry in entries:
            values = values_of(question, entry)
            if values is None:
                assert answer_of(question, entry, entries) == ()
                continue
            wire.calls.clear()
            found = ask(session, table, question, values)
            check_requests(question, [call.operation for call in wire.calls])
            check_answer(table, question, found, answer_of(question, entry, entries))
            asked[question.kind] += 1
    return asked


def ask(session: Session, table: Table, question: AccessPattern, values: Mapping[str, Any]) -> list[Any]:
    """Ask a question as its ``call`` does. The entities found, or versions."""
    named = {one.name: classes_of(table)[one.name] for one in describe(table).classes}
    sources = [
        named[name] if place is None else getattr(named[name], place) for name, place in question.sources
    ]
    match question.kind:
        case "get":
            return [one for one in [session.get(sources[0], **values)] if one is not None]
        case "get_by":
            return [one for one in [session.get_by(sources[0], **values)] if one is not None]
        case "history":
            return [*session.history(Key(sources[0], **values))]
        case "query":
            return [*session.query(sources[0], **values).expired()]
        case "collection":
            return [*session.collection(*sources, **values).expired()]


def classes_of(table: Table) -> dict[str, Any]:
    """The classes of a table, by their names in its description."""
    found = {}
    for one in describe(table).classes:
        (found[one.name],) = (
            entity for entity in _entities(table) if one.stored_name == mapping_of(entity).name
        )
    return found


def _entities(table: Table) -> list[Any]:
    from dynaorm.entity.declare.catalog import catalog_of  # noqa: PLC0415 - only to find the classes

    return [one.entity for one in catalog_of(table).mappings.values()]


def check_requests(question: AccessPattern, operations: Sequence[str]) -> None:
    """The requests are those that the question names. What BatchGetItem adds to an index is not counted."""
    own = [
        one for one in operations if one in question.operations[:1] or question.kind in ("get_by", "history")
    ]
    assert len(own) == question.requests, (question, operations)
    assert {*operations} <= {*question.operations}, (question, operations)


def check_answer(
    table: Table, question: AccessPattern, found: Sequence[Any], expected: Sequence[Entry]
) -> None:
    """The entities, or the numbers of versions, are those of the entries, and in the order that is claimed."""
    if question.kind == "history":
        assert [one.number for one in found] == [one.number for one in expected], question
        return
    keys = [identity(inspect(one).key.primary_key) for one in found]  # type: ignore[union-attr]  # it was loaded
    wanted = [identity({name: one.item[name] for name in table.key_names}) for one in expected]
    assert len(keys) == len({*keys}), question
    assert {*keys} == {*wanted}, (question, keys, wanted)
    items = dict(zip(wanted, (one.item for one in expected), strict=True))
    if question.kind in ("query", "collection"):
        sort = sort_names(table, question)
        places = [[comparable(items[key][name]) for name in sort] for key in keys]
        assert places == sorted(places), (question, places)


def sort_names(table: Table, question: AccessPattern) -> list[str]:
    """The sort key attributes that a question reads along."""
    if question.index is None:
        return [*table.key_names[1:]]
    return [key.name for key in table.indexes[question.index].sk]

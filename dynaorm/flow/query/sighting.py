"""What a walk has in hand: items yet to become entities, and entities that came out of an answer as such.

Rule 1. An answer is read straight into entities where no more of an item than its keys has to be looked into before.
    So it is not where strands are merged, or fields have to hold.
Rule 2. Whoever was returned last says where the walk stands, whatever has become of it since.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.json_reader.answer import Reading, Wire, wire_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import OnPage, place_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.question import Question
from dynaorm.query.strand import Strand, Strands


class Seen(NamedTuple):
    """A visible item, with its class."""

    mapping: EntityMapping
    item: Item


Place: TypeAlias = Item | OnPage
"""Where something was found: the item, or what will give it."""


def place_in(sighted: Any) -> Place:
    """The place of something in hand."""
    return sighted.item if isinstance(sighted, Seen) else place_of(sighted)


def key_at(place: Place | None, names: tuple[str, ...]) -> dict[str, AttributeValue] | None:
    """The key attributes at a place."""
    if place is None:
        return None
    item = place if isinstance(place, Mapping) else place.item
    return {name: item[name] for name in names}


def wire_for(question: Question, strands: Strands, wanted: tuple[type, ...]) -> Wire | None:
    """What reads the answers to a question into entities; None where items have to be looked into."""
    several = len(strands.strands) > 1 and question.segments is None
    if question.keys_only or several or not question.source.is_whole or not strands.strands:
        return None
    first = strands.strands[0]
    if first.held:
        return None
    names = tuple(name for name, _ in first.checks)
    return wire_of(question.source.table, wanted, first.operation, names or None)


def admitted(reading: Reading, strand: Strand) -> list[Any]:
    """Of what was read, what was asked for."""
    if not strand.checks:
        return reading.found
    pairs = zip(reading.found, reading.heads, strict=True)
    return [found for found, head in pairs if strand.admits(head)]

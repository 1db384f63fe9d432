"""What the stream of a table tells of a write: the changes of the entities that the model knows, and no others."""

from collections.abc import Mapping

from dynaorm.streams import Deleted, Inserted, Unreadable, changes
from tests.laws.mixed_classes import TABLE, Classes, Values
from tests.laws.mixed_world import Model, Place, Raw, State
from tests.streams.events import in_lambda, written

EntitiesByPlace = Mapping[Place, tuple[str, Values]]
"""The class and the values of each entity."""


def known_of(state: State) -> EntitiesByPlace:
    """What the model knows now. A write may set the times of its values later."""
    return {place: (one.kind, dict(one.values)) for place, one in state.ones.items()}


def check_stream(
    classes: Classes, model: Model, states: tuple[EntitiesByPlace, EntitiesByPlace], raw: tuple[Raw, Raw]
) -> None:
    """The records of a write tell of every entity that differs, with its old and its new values."""
    keys = tuple(one.name for one in classes.table.keys)
    images = [
        (raw[0][TABLE].get(place), raw[1][TABLE].get(place)) for place in {**raw[0][TABLE], **raw[1][TABLE]}
    ]
    event = in_lambda(*(written(old, new, keys=keys, table=TABLE) for old, new in images if old != new))
    told = []
    for change in changes(event, classes.table):
        assert not isinstance(change, Unreadable), change.error
        if classes.total is not None and change.key.entity is classes.total:
            continue
        sides = [None if isinstance(change, Inserted) else change.old]
        sides.append(None if isinstance(change, Deleted) else change.new)
        place = model.place(vars(sides[0] or sides[1]))
        told.append(place)
        for side, known in zip(sides, states, strict=True):
            if side is not None:
                assert known[place] == (type(side).__name__, dict(vars(side)))
    places = {**states[0], **states[1]}
    expected = [place for place in places if raw[0][TABLE].get(place) != raw[1][TABLE].get(place)]
    # An entity of another class in the place of the old one is a Deleted and an Inserted.
    expected += [place for place in {*states[0]} & {*states[1]} if states[0][place][0] != states[1][place][0]]
    assert sorted(told) == sorted(expected)

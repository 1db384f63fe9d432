"""The snapshot of an entity: replaced, never changed."""

import copy
import pickle

from dynaorm import LOADING, Entity, Table
from dynaorm.entity.state import Loaded, PendingWrite, defaults_in, set_state, state_of, unsettled_of
from dynaorm.plan.plan import Effect


class Point(Entity, table=Table("app"), pk="POINT#{slug}", sk="A", frozen=True):
    slug: str


def test_the_state_can_be_set_on_a_frozen_entity_and_taken_away_again() -> None:
    point, state = Point(slug="x"), Loaded({"PK": {"S": "x"}})
    set_state(point, state)
    assert state_of(point) is state
    assert vars(point) == {"slug": "x"}
    set_state(point, None)
    assert state_of(point) is None


def test_while_a_write_is_unsettled_the_entity_has_the_state_from_before_it() -> None:
    point, before = Point(slug="x"), Loaded({"PK": {"S": "x"}})
    unsettled = PendingWrite("plan", Effect(Point(slug="y"), None), before)
    set_state(point, unsettled)
    for one in (point, copy.copy(point), pickle.loads(pickle.dumps(point))):
        assert (state_of(one), unsettled_of(one)) == (before, unsettled)


def test_an_entity_has_the_defaults_of_its_last_snapshot() -> None:
    point = Point(slug="x")
    assert defaults_in(point, {"size", "name"}) == {}
    before = Loaded({"PK": {"S": "x"}}, defaults={"size": {"N": "1"}, "mood": None})
    for state in (before, PendingWrite("plan", Effect(Point(slug="y"), None), before)):
        set_state(point, state)
        assert defaults_in(point, {"size", "name"}) == {"size": {"N": "1"}}


def test_loading_is_one_object_in_every_copy() -> None:
    assert copy.deepcopy(LOADING) is pickle.loads(pickle.dumps(LOADING)) is LOADING

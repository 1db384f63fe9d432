"""Tables in copies and pickles. What a table refuses is in ``declare/declarations/tables.txt``."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, Final

import pytest

from dynaorm.entity.mapping.mapping import mapping_of
from tests.cast.people import Guest, User
from tests.cast.tickets import Issue

COPIES: Final[dict[str, Callable[[Any], Any]]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}


@pytest.mark.parametrize("how", COPIES)
def test_a_table_is_itself_in_copies_and_pickles(how: str) -> None:
    """No class is stored in another one, so that ``verify`` would find nothing wrong in it."""
    for table in (mapping_of(User).table, *mapping_of(Guest).table.homes):
        assert COPIES[how](table) is table


@pytest.mark.parametrize("how", COPIES)
def test_a_place_in_an_index_is_the_same_in_copies_and_pickles(how: str) -> None:
    assert COPIES[how](Issue.flagged) == Issue.flagged

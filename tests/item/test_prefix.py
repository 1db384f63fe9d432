"""Attributes that begin alike, as the members of one map."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.path import (
    Placeholders,
    Prefix,
    attribute_path,
    flatten_prefixes,
    is_member,
    nest_prefixes,
    paths_in,
    prefix_of,
)
from dynaorm.item.size import item_size

P, Q = prefix_of("p."), prefix_of("q")
NAMES = st.sampled_from(["p.", "p.a", "p.*", "p", "q", "q*", "qp.", "PK", "*"]) | st.text(min_size=1)
ITEMS = st.dictionaries(NAMES, st.sampled_from([{"S": "x"}, {"M": {"p.a": {"N": "1"}}}, {"NULL": True}]))


@given(ITEMS)
def test_an_item_that_was_gathered_is_scattered_into_the_same(item: dict[str, Any]) -> None:
    found = nest_prefixes(item, (P, Q))
    assert flatten_prefixes(found) == item
    assert nest_prefixes(found, (P, Q)) == found
    assert not any(is_member(name, prefix) for name in found for prefix in (P, Q))
    assert item_size(found) == item_size(item)


def test_a_name_of_a_map_stays_one_however_it_is_copied() -> None:
    for one in (str(P), pickle.loads(pickle.dumps(P)), copy.deepcopy(P)):
        assert isinstance(one, Prefix)
        assert one.beginning == "p."


def test_a_path_leads_to_an_attribute() -> None:
    assert attribute_path((P, "a", "b", 1)) == ("p.a", "b", 1)
    assert attribute_path(("p.*", "a")) == ("p.*", "a")
    placeholders = Placeholders()
    assert (placeholders.path((P, "a", 1)), placeholders.names) == ("#n0[1]", {"#n0": "p.a"})
    with pytest.raises(ValueError, match="it is at no path"):
        placeholders.path((P,))


def test_the_paths_of_a_map_are_those_of_its_members_in_some_items() -> None:
    before, after = (
        nest_prefixes({"p.a": {"S": "x"}, "PK": {"S": "y"}}, (P,)),
        nest_prefixes({"p.b": {"S": "x"}}, (P,)),
    )
    assert paths_in(["PK", P], before, after) == [("PK",), (P, "a"), (P, "b")]

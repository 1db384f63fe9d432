"""Attribute values of every type, as requests and answers hold them."""

from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["B", "BS", "S", "M", "L", "a", "é"]) | st.text(max_size=5)
leaves = (
    st.builds(lambda value: {"S": value}, st.text(max_size=10))
    | st.builds(lambda value: {"N": str(value)}, st.integers())
    | st.builds(lambda value: {"B": value}, st.binary(max_size=20))
    | st.builds(lambda values: {"BS": values}, st.lists(st.binary(max_size=8), min_size=1, max_size=3))
    | st.builds(lambda values: {"SS": values}, st.lists(st.sampled_from(["B", "BS"]), min_size=1, max_size=2))
    | st.just({"NULL": True})
)
attribute_values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda values: (
        st.builds(lambda members: {"L": members}, st.lists(values, max_size=3))
        | st.builds(lambda members: {"M": members}, st.dictionaries(names, values, max_size=3))
    ),
    max_leaves=12,
)
items = st.dictionaries(names, attribute_values, max_size=5)

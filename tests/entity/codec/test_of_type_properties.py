"""``load(save(x)) == x`` for any declarable type: types and values are made up, pydantic does the loading."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, JsonValue, create_model

from dynaorm import AnyValue
from dynaorm.entity.codec.of_type import codec_of
from dynaorm.item.value import same
from tests.entity.kinds import DECIMALS, FLOATS, KINDS, SAMPLES, TEXTS, Kind, Sample

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@calm
@given(SAMPLES, st.booleans())
def test_what_is_saved_is_what_is_loaded(sample: Sample, strict: bool) -> None:
    annotation, value = sample
    holder = create_model("Holder", __config__=ConfigDict(strict=strict), held=(annotation, ...))
    codec = codec_of(annotation, strict=strict)
    stored = codec.encode(value)
    loaded: Any = holder.__pydantic_validator__.validate_python(
        {"held": codec.decode(stored)}, by_alias=False, by_name=True
    )
    assert loaded.held == value
    assert same(codec.encode(loaded.held), stored)
    assert stored.keys() <= codec.tags


@calm
@given(KINDS, st.data())
def test_a_changed_value_is_stored_as_one_that_loads_as_it(kind: Kind, data: st.DataObject) -> None:
    codec, before, now = codec_of(kind[0]), data.draw(kind[1]), data.draw(kind[1])
    stored, changed = codec.encode(before), codec.encode(now)
    assert codec.merge(stored, codec.encode(before), codec.encode(before)) is stored
    assert codec.restore(stored, codec.encode(before)) is stored
    for found in (codec.merge(stored, codec.encode(before), changed), codec.restore(stored, changed)):
        assert codec.decode(found) == codec.decode(changed)


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | FLOATS.filter(lambda x: abs(x) < 1e15)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)
anything = st.recursive(
    json
    | st.binary()
    | st.sets(st.text(), min_size=1)
    | st.sets(st.integers(-(10**9), 10**9), min_size=1)
    | st.sets(st.binary(), min_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(("kind", "values"), [(JsonValue, json), (AnyValue, anything)], ids=["json", "any"])
@given(data=st.data())
def test_whatever_may_be_of_any_type_is_loaded_as_it_was(
    kind: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    codec, value = codec_of(kind), data.draw(values)
    assert codec.decode(codec.encode(value)) == value


@given(st.integers() | st.floats() | DECIMALS)
def test_an_untyped_number_comes_back_equal_or_is_refused(value: float | Decimal) -> None:
    codec = codec_of(JsonValue)
    try:
        stored = codec.encode(value)
    except ValueError:
        return
    assert codec.decode(stored) == value


@given(SAMPLES, json)
def test_a_strange_attribute_value_is_a_value_error_or_decoded(sample: Sample, strange: Any) -> None:
    """A table may hold anything; never does reading it fail in a way the caller is not told of."""
    codec = codec_of(sample[0])
    try:
        codec.decode(codec_of(JsonValue).encode(strange))
    except ValueError as problem:
        assert str(problem)  # noqa: PT017 (to be decoded is right, too)


class Labels(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, int]  # type: ignore[mutable-override]  # as pydantic documents it


def test_an_error_in_an_extra_field_names_the_field() -> None:
    codec = codec_of(Labels)
    with pytest.raises(ValueError, match="at seen: is stored as S, not as N"):
        codec.decode({"M": {"seen": {"S": "often"}}})
    with pytest.raises(ValueError, match="at seen: is a str, not an int"):
        codec.encode(Labels.model_construct(seen="often"))

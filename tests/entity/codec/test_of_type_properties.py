"""``load(save(x)) == x`` for any declarable type: types and values are made up, pydantic does the loading."""

from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, JsonValue, create_model

from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.codec.value import merge, restore
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
@given(SAMPLES)
def test_equal_values_are_encoded_alike(sample: Sample) -> None:
    annotation, value = sample
    assert codec_of(annotation).encode(value) == codec_of(annotation).encode(value)


@calm
@given(KINDS, st.data())
def test_a_changed_value_is_stored_as_one_that_loads_as_it(kind: Kind, data: st.DataObject) -> None:
    codec, before, now = codec_of(kind[0]), data.draw(kind[1]), data.draw(kind[1])
    stored, changed = codec.encode(before), codec.encode(now)
    assert merge(codec, stored, codec.encode(before), codec.encode(before)) is stored
    assert restore(codec, stored, codec.encode(before)) is stored
    for found in (merge(codec, stored, codec.encode(before), changed), restore(codec, stored, changed)):
        assert codec.decode(found) == codec.decode(changed)


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | FLOATS.filter(lambda x: abs(x) < 1e15)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(json)
def test_whatever_json_can_say_is_loaded_as_it_was(value: Any) -> None:
    codec = codec_of(JsonValue)
    assert codec.decode(codec.encode(value)) == value


@given(st.integers() | st.floats() | DECIMALS)
def test_a_number_of_undeclared_type_comes_back_equal_or_is_refused(value: float | Decimal) -> None:
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

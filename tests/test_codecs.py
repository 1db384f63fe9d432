"""The ready codecs: the exact text that each stores, and what it reads."""

import json
import re
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, NaiveDatetime
from pynamodb.attributes import JSONAttribute, UTCDateTimeAttribute

from dynaorm import AnyValue, Attribute, Entity, Table, codecs
from dynaorm.entity.codec.of_type import Codec, UnsupportedType, codec_of
from dynaorm.entity.marker import StoredForm
from dynaorm.errors import DeclarationError
from tests.dynamodb_json import AttributeValue

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
TIMES = st.datetimes(timezones=st.just(UTC))
FORMS = {
    codecs.ISO_SECONDS: ({"S": "2024-05-01T12:00:00Z"}, timedelta(seconds=1)),
    codecs.ISO_MILLISECONDS: ({"S": "2024-05-01T12:00:00.123Z"}, timedelta(milliseconds=1)),
    codecs.PYNAMODB_UTC: ({"S": "2024-05-01T12:00:00.123456+0000"}, timedelta(microseconds=1)),
    codecs.PYTHON_ISO: ({"S": "2024-05-01T12:00:00.123456+00:00"}, timedelta(microseconds=1)),
    codecs.EPOCH_SECONDS: ({"N": "1714564800"}, timedelta(seconds=1)),
    codecs.EPOCH_MILLISECONDS: ({"N": "1714564800123"}, timedelta(milliseconds=1)),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def codec(form: StoredForm, kind: Any = datetime) -> Codec:
    return codec_of(kind, [Attribute(codec=form)])


def order(stored: AttributeValue) -> Any:
    return Decimal(stored["N"]) if "N" in stored else stored["S"]


@pytest.mark.parametrize(
    ("form", "stored"), [(form, stored) for form, (stored, _) in FORMS.items()], ids=repr
)
def test_a_time_is_stored_as_the_other_library_writes_it(form: StoredForm, stored: AttributeValue) -> None:
    assert codec(form).encode(NOON) == stored
    assert codec(form).encode(NOON.astimezone(timezone(timedelta(hours=9)))) == stored


@pytest.mark.parametrize("form", FORMS, ids=repr)
@given(one=TIMES, other=TIMES)
def test_times_are_cut_to_their_step_and_sort_as_stored(
    form: StoredForm, one: datetime, other: datetime
) -> None:
    step = FORMS[form][1]
    cut = one - (one - EPOCH) % step
    assert codec(form).decode(codec(form).encode(one)) == cut
    assert (order(codec(form).encode(one)) < order(codec(form).encode(other))) == (
        (one - EPOCH) // step < (other - EPOCH) // step
    )


@pytest.mark.parametrize("form", FORMS, ids=repr)
@given(stored=TIMES, bound=st.one_of(TIMES, st.integers(-3, 3)))
def test_a_bound_compares_with_what_is_stored_as_the_times_do(
    form: StoredForm, stored: datetime, bound: datetime | int
) -> None:
    made = codec(form)
    loaded = made.decode(made.encode(stored))
    value = loaded + timedelta(microseconds=bound) if isinstance(bound, int) else bound
    left = order(made.encode(loaded))
    right = order(made.encode(value) if made.bound is None else made.bound(value))
    assert (left < right, left == right) == (loaded < value, loaded == value)


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_a_time_without_a_zone_is_refused(form: StoredForm) -> None:
    with pytest.raises(ValueError, match="without a time zone; give it one"):
        codec(form).encode(NOON.replace(tzinfo=None))


@pytest.mark.parametrize(
    "text", ["2024-05-01T12:00:00+0000", "2024-05-01T14:00:00.000+02:00", "2024-05-01T12:00Z"]
)
def test_other_spellings_of_a_time_are_read_by_any_iso_alone(text: str) -> None:
    assert codec(codecs.ANY_ISO).decode({"S": text}) == NOON.replace(microsecond=0)
    with pytest.raises(ValueError, match=r"codecs\.ANY_ISO"):
        codec(codecs.ISO_MILLISECONDS).decode({"S": text})


@pytest.mark.parametrize("stored", [{"N": "x"}, {"N": "1E999"}, {"N": "NaN"}, {"S": "1"}])
def test_what_is_no_number_of_seconds_is_refused(stored: AttributeValue) -> None:
    with pytest.raises(ValueError, match="is stored as"):
        codec(codecs.EPOCH_SECONDS).decode(stored)


@given(TIMES)
def test_pynamodb_reads_and_writes_the_same_time(at: datetime) -> None:
    theirs: Any = UTCDateTimeAttribute()
    text = codec(codecs.PYNAMODB_UTC).encode(at)["S"]
    assert theirs.deserialize(text) == at
    # strftime writes years before 1000 with fewer digits on some platforms.
    if at.year >= 1000:
        assert theirs.serialize(at) == text


@given(TIMES)
def test_python_writes_the_same_text(at: datetime) -> None:
    for one in (at, at.replace(microsecond=0)):
        assert codec(codecs.PYTHON_ISO).encode(one) == {"S": one.isoformat()}


NAIVE_FORMS = {
    codecs.ISO_NAIVE_SECONDS: ("2024-05-01T12:00:00", timedelta(seconds=1)),
    codecs.ISO_NAIVE_MILLISECONDS: ("2024-05-01T12:00:00.123", timedelta(milliseconds=1)),
}


@pytest.mark.parametrize("form", NAIVE_FORMS, ids=repr)
@given(one=st.datetimes(), other=st.datetimes())
def test_wall_times_are_cut_to_their_step_and_compare_as_stored(
    form: StoredForm, one: datetime, other: datetime
) -> None:
    text, step = NAIVE_FORMS[form]
    made = codec(form, NaiveDatetime)
    assert made.encode(NOON.replace(tzinfo=None)) == {"S": text}
    loaded = made.decode(made.encode(one))
    assert loaded == one - (one - EPOCH.replace(tzinfo=None)) % step
    assert made.bound is not None
    left, right = made.encode(loaded)["S"], made.bound(other)["S"]
    assert (left < right, left == right) == (loaded < other, loaded == other)


@pytest.mark.parametrize("form", NAIVE_FORMS, ids=repr)
def test_an_instant_is_no_wall_time(form: StoredForm) -> None:
    with pytest.raises(ValueError, match="with a time zone, in a field declared NaiveDatetime"):
        codec(form, NaiveDatetime).encode(NOON)
    with pytest.raises(ValueError, match="with a time zone"):
        codec(form, NaiveDatetime).decode({"S": "2024-05-01T12:00:00Z"})
    with pytest.raises(UnsupportedType, match="is for a NaiveDatetime"):
        codec(form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), JSON))
def test_json_is_stored_and_read_as_pynamodb_does(value: dict[str, Any]) -> None:
    made = codec(codecs.PYNAMODB_JSON, dict[str, JsonValue])
    theirs: Any = JSONAttribute()
    try:
        stored = made.encode(value)
    except ValueError:
        return  # a float that DynamoDB's numbers would not give back, refused without codec= as well
    assert json.loads(stored["S"]) == theirs.deserialize(stored["S"]) == value
    assert made.decode({"S": theirs.serialize(value)}) == value


@pytest.mark.parametrize("kind", [Any, Any | None, dict[str, Any], dict[str, list[Any] | None]], ids=str)
def test_json_holds_values_of_any_type_that_it_has(kind: Any) -> None:
    made = codec(codecs.PYNAMODB_JSON, kind)
    assert made.encode({"a": [1, None, "x"]}) == {"S": '{"a": [1, null, "x"]}'}
    assert made.decode({"S": '{"a": [1, null, "x"]}'}) == {"a": [1, None, "x"]}
    with pytest.raises(ValueError, match="JSON"):
        made.encode({"a": [b"x"]})


class Point(BaseModel):
    x: Decimal
    at: Annotated[datetime, Attribute(codec=codecs.EPOCH_SECONDS)]


def test_json_holds_models_in_the_form_of_their_fields() -> None:
    made = codec(codecs.PYNAMODB_JSON, Point)
    assert made.encode(Point(x=Decimal("1.50"), at=NOON)) == {"S": '{"x": 1.5, "at": 1714564800}'}
    assert made.decode({"S": '{"x": 1.5, "at": 1714564800}'})["x"] == Decimal("1.5")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nan", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        codec(codecs.PYNAMODB_JSON, dict[str, JsonValue]).decode({"S": text})


@given(st.text())
def test_a_compressed_text_is_gzip(text: str) -> None:
    made = codec(codecs.COMPRESSED_TEXT, str)
    stored = made.encode(text)
    assert zlib.decompress(stored["B"], wbits=31).decode() == text == made.decode(stored)
    assert made.encode(text) == stored


@pytest.mark.parametrize("packed", [b"", b"text", zlib.compress(b"text"), zlib.compress(b"\xff", wbits=31)])
def test_bytes_that_are_no_compressed_text_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="not a text compressed by gzip"):
        codec(codecs.COMPRESSED_TEXT, str).decode({"B": packed})


def test_a_text_that_unpacks_to_too_much_is_refused() -> None:
    bomb = zlib.compress(b"\0" * (65 * 1024 * 1024), wbits=31)
    assert len(bomb) < 400_000
    with pytest.raises(ValueError, match="not a text compressed by gzip"):
        codec(codecs.COMPRESSED_TEXT, str).decode({"B": bomb})


@pytest.mark.parametrize(
    ("kind", "form", "problem"),
    [
        (str, codecs.ISO_SECONDS, "codecs.ISO_SECONDS is for a datetime"),
        (int, codecs.EPOCH_SECONDS, "codecs.EPOCH_SECONDS is for a datetime"),
        (bytes, codecs.PYNAMODB_JSON, "the type is stored as B"),
        (set[str], codecs.PYNAMODB_JSON, "the type is stored as L/SS"),
        (dict[str, str], codecs.COMPRESSED_TEXT, "holds S, and the type is stored as M"),
        (AnyValue, codecs.PYNAMODB_JSON, "the type is stored as"),
    ],
    ids=str,
)
def test_a_type_that_the_form_does_not_fit_is_refused(kind: Any, form: StoredForm, problem: str) -> None:
    with pytest.raises(UnsupportedType, match=re.escape(problem)):
        codec(form, kind)


@pytest.mark.parametrize(
    "kind",
    [
        datetime | None,
        Annotated[datetime, "metadata"] | None,
        Annotated[datetime, Attribute(codec=codecs.ISO_SECONDS)] | None,
    ],
    ids=["plain", "annotated", "with the form inside"],
)
def test_none_is_stored_as_ever(kind: Any) -> None:
    made = codec(codecs.ISO_SECONDS, kind)
    assert (made.encode(None), made.decode({"NULL": True})) == ({"NULL": True}, None)
    assert made.encode(NOON) == {"S": "2024-05-01T12:00:00Z"}


def test_a_form_inside_an_optional_type_is_applied_once() -> None:
    made = codec(
        codecs.PYNAMODB_JSON, Annotated[dict[str, int], Attribute(codec=codecs.PYNAMODB_JSON)] | None
    )
    assert made.encode({"a": 1}) == {"S": '{"a": 1}'}
    assert made.encode(None) == {"NULL": True}


def test_two_ways_of_storing_one_field_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"codec= beside encode= or decode=; keep one way"):

        class Twice(Entity, table=Table("two-ways"), pk="{id}", sk="S"):
            id: str
            at: Annotated[
                datetime, Attribute(codec=codecs.ISO_SECONDS, encode=lambda at: {"S": str(at)}, decode=dict)
            ]


def test_json_and_compressed_text_cannot_be_part_of_a_key() -> None:
    with pytest.raises(DeclarationError, match="a value of this field's type has no single text"):

        class Packed(Entity, table=Table("packed-keys"), pk="{id}", sk="{text}"):
            id: str
            text: Annotated[str, Attribute(codec=codecs.COMPRESSED_TEXT)]


def test_importing_the_codecs_loads_no_session() -> None:
    code = "import sys, dynaorm.codecs; print([name for name in sys.modules if 'session' in name])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"

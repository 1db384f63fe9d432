"""Law: a date format that is accepted in a sort key writes texts that sort as the times do."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template.compile import compile_template
from dynaorm.entity.template.template import KeyTemplate, TemplateError
from dynaorm.entity.text.scalar import SCALARS

DAYS, TIMES = "YmdjyGVuwUW", "HMSfI"
TIME_FIELDS = {"at": SCALARS[datetime], "on": SCALARS[date], "of": SCALARS[time]}
NEW_YEARS = st.integers(913_000_000, 980_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))
MOMENTS = NEW_YEARS | st.datetimes(timezones=st.just(UTC)).filter(lambda at: at.year > 1)


def template(text: str, *, sort: bool = True) -> KeyTemplate:
    return compile_template(text, TIME_FIELDS, kind="S", sort=sort)


def value_of(field: str, moment: datetime) -> Any:
    return {"at": moment, "on": moment.date(), "of": moment.time()}[field]


FORMATS = st.one_of(
    st.tuples(st.just("at"), st.lists(st.sampled_from(DAYS + TIMES), min_size=1, max_size=4)),
    st.tuples(st.just("on"), st.lists(st.sampled_from(DAYS), min_size=1, max_size=4)),
    st.tuples(st.just("of"), st.lists(st.sampled_from(TIMES), min_size=1, max_size=3)),
)


@given(FORMATS, MOMENTS, MOMENTS)
def test_the_texts_of_an_accepted_format_sort_as_the_times_do(
    field_and_letters: tuple[str, list[str]], one: datetime, other: datetime
) -> None:
    field, letters = field_and_letters
    spec = "-".join(f"%{letter}" for letter in letters)
    try:
        compiled = template(f"{{{field}:{spec}}}")
    except TemplateError:
        return
    first, second = sorted((value_of(field, one), value_of(field, other)))
    assert str(compiled.render({field: first})) <= str(compiled.render({field: second}))


GOOD = [
    "%Y",
    "%Y-%m",
    "%Y-%m-%d",
    "%Y%m%dT%H%M%S%f",
    "%Y-%j",
    "%G-W%V-%u",
    "%Y-%U-%w",
    "%Y-%W-%u",
    "%Y-%m-%d %j",
]
BAD = [
    "%d-%m-%Y",
    "%y",
    "%y-%m-%d",
    "%m-%d",
    "%d",
    "%H:%M",
    "%Y-%d",
    "%Y-%V",
    "%G-%m",
    "%Y-%m-%d %I",
    "%Y-%W-%w",
]


@pytest.mark.parametrize("text", GOOD)
def test_a_format_from_the_largest_unit_to_the_smallest_is_a_sort_key(text: str) -> None:
    assert template(f"{{at:{text}}}").text == f"{{at:{text}}}"


@pytest.mark.parametrize("text", BAD)
def test_any_other_format_is_refused_in_a_sort_key_and_nowhere_else(text: str) -> None:
    with pytest.raises(TemplateError, match="does not sort as the datetime does") as refused:
        template(f"E#{{at:{text}}}")
    assert f"write {{at!s:{text}}} if the order does not matter" in str(refused.value)
    template(f"E#{{at!s:{text}}}")
    template(f"E#{{at:{text}}}", sort=False)

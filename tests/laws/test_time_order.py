"""Law: a date format that is accepted in a sort key writes texts that sort as the times do."""

from datetime import UTC, date, datetime, time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
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

"""What holds for every template: different values make different keys, keys match back, and order is kept."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any, Literal, TypeAlias
from uuid import UUID

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
from dynaorm.entity.text.scalar import may_meet
from tests.entity.scalars import scalars_of

# Few characters, and those that templates are made of: what could be confused, will be.
TEXTS = st.text(st.sampled_from("a#%-2/35AFé:x.E "), max_size=4) | st.text(
    st.characters(codec="utf-8"), max_size=3
)
INTS = st.integers(-20, 120)
MOMENTS = st.datetimes(
    timezones=st.integers(-12, 12).map(lambda hours: timezone(timedelta(hours=hours)))
).filter(lambda value: 1 < value.year < 9999)

TYPES: dict[str, tuple[Any, st.SearchStrategy[Any], list[str]]] = {
    "a": (str, TEXTS, ["{a}"]),
    "b": (str, TEXTS, ["{b}"]),
    "c": (Literal["x", "#", "a-", "%"], st.sampled_from(["x", "#", "a-", "%"]), ["{c}"]),
    "n": (int, INTS, ["{n!s}"]),
    "p": (int, st.integers(0, 999), ["{p:03d}", "{p:03d:desc}", "{p!s}"]),
    "d": (Decimal, st.decimals(-5, 5, places=2), ["{d!s}"]),
    "t": (datetime, MOMENTS, ["{t}", "{t:desc}", "{t:%Y%m%d%H%M%S%f}"]),
    "y": (date, st.dates(), ["{y}", "{y:desc}", "{y:%d-%m-%Y}", "{y!s:epoch}", "{y!s:epoch_ms}"]),
    "u": (UUID, st.uuids(), ["{u}"]),
    "o": (bool, st.booleans(), ["{o}"]),
    "h": (bytes, st.binary(max_size=2), ["{h}"]),
}
SCALARS = scalars_of({name: kind for name, (kind, _, _) in TYPES.items()})
LITERALS = st.sampled_from(
    ["#", "-", "/", "--", "#x", "2", "A", "é#", "::", " ", "x-", "##", ".", "E", "]", "\\^"]
)


def compiled(text: str, *, sort: bool = True) -> KeyTemplate:
    return compile_template(text, SCALARS, kind="S", sort=sort)


@st.composite
def templates(draw: st.DrawFn) -> KeyTemplate:
    """Any template that gives all its fields back."""
    names = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4, unique=True))
    text = draw(st.sampled_from(["", "USER#", "%", "a"]))
    for position, name in enumerate(names):
        text += (draw(LITERALS | st.just("")) if position else "") + draw(st.sampled_from(TYPES[name][2]))
    text += draw(st.sampled_from(["", "", "#", "-end"]))
    try:
        template = compiled(text)
    except TemplateError:
        reject()  # a literal could be part of the text before it
    assert template.lossless == set(names)
    return template


def values_of(template: KeyTemplate) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: TYPES[name][1] for name in template.fields})


Case: TypeAlias = tuple[KeyTemplate, dict[str, Any], dict[str, Any]]
"""A template, and two sets of field values."""

PAIRS = templates().flatmap(
    lambda template: st.tuples(st.just(template), values_of(template), values_of(template))
)


@given(PAIRS)
def test_different_values_make_different_keys(
    case: Case,
) -> None:
    template, one, other = case
    assert (template.render(one) == template.render(other)) == (one == other)


@given(PAIRS)
def test_a_key_matches_back_to_its_values(case: Case) -> None:
    template, values, _ = case
    key = template.render(values)
    assert key is not None
    assert template.match(key) == values


@given(templates(), st.text(st.sampled_from("a#%-2/35AFé:x.E0 "), max_size=12))
def test_whatever_matches_is_what_would_be_rendered(template: KeyTemplate, key: str) -> None:
    values = template.match(key)
    if values is not None:
        assert template.render(values) == key


@given(PAIRS)
def test_a_key_is_of_its_templates_shape(case: Case) -> None:
    template, values, _ = case
    key = template.render(values)
    assert isinstance(key, str)
    assert may_meet(template.shape, (key,) if key else ())


@given(PAIRS, templates())
def test_templates_that_render_one_key_may_meet(case: Case, other: KeyTemplate) -> None:
    template, values, _ = case
    key = template.render(values)
    assert isinstance(key, str)
    if other.pattern.fullmatch(key):
        assert may_meet(template.shape, other.shape)


@pytest.mark.parametrize("literal", ["#", "-", "2", "3", "A", "##", "#2", "2#", "-%", "é"])
def test_short_values_never_make_one_key(literal: str) -> None:
    """All pairs of values of up to three characters, from those that escapes and this literal are made of."""
    alphabet = sorted({"#", "%", "2", "3", literal[0]})
    texts = ["".join(one) for size in range(4) for one in product(alphabet, repeat=size)]
    template = compiled(f"{{a}}{literal}{{b}}")
    keys = {template.render({"a": a, "b": b}) for a in texts for b in texts}
    assert len(keys) == len(texts) ** 2


@pytest.mark.parametrize("kind", ["n", "d", "o", "h", "p"])
@pytest.mark.parametrize("literal", list("#-.+E0af5t"))
def test_a_literal_is_refused_where_it_could_go_on_with_a_text(kind: str, literal: str) -> None:
    """Where it is accepted, no two of many values make one key; where it is refused, it says what to write."""
    cases: dict[str, list[Any]] = {
        "n": [-1, 1, 10, 15, 0, 100],
        "d": [Decimal(one) for one in ("1", "10", "1.5", "1E+90", "-1", "1.05", "0")],
        "o": [True, False],
        "h": [b"", b"\x0a", b"\x0a\xfa", b"\x0f"],
        "p": [1, 10, 15, 150],
    }
    values = cases[kind]
    rest = {"", "0", "5", "#", literal, f"5{literal}5", f"0{literal}", "f", "a", "E+9", ".5"}
    try:
        template = compiled(f"{TYPES[kind][2][-1]}{literal}{{a:raw}}")
    except TemplateError as error:
        (problem,) = error.problems
    else:
        keys = {template.render({kind: value, "a": one}) for value in values for one in rest}
        assert len(keys) == len(values) * len(rest)
        return
    assert problem.endswith("begin it with another character, such as '#'")
    assert literal in SCALARS[kind].grows


@given(st.data())
@pytest.mark.parametrize(
    "text",
    [
        *("{t}", "{t}#{a}", "{y}", "LOG#{y}#", "{p:03d}", "{p:03d}-{a}"),
        *("{t:desc}", "{t:desc}#{a}", "{y:desc}", "{p:03d:desc}#"),
    ],
)
def test_keys_sort_as_their_values_and_with_desc_the_other_way(text: str, data: st.DataObject) -> None:
    template = compiled(text)
    name = template.fields[0]
    one, other = data.draw(TYPES[name][1]), data.draw(TYPES[name][1])
    keys = [str(template.render({name: value, "a": data.draw(TEXTS)})) for value in (one, other)]
    earlier, later = reversed(keys) if "desc" in text else keys
    assert one == other or (one < other) == (earlier < later)

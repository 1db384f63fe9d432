"""Templates of a table with ``escape=False``: keys have the values as they are, and still say which they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template import KeyTemplate, KeyValueError, compile_template
from dynaorm.entity.text.scalar import STR, Scalar, scalar_of

NUMBER = scalar_of(int)
assert NUMBER is not None
SCALARS: dict[str, Scalar] = {"a": STR, "b": STR, "c": STR, "n": NUMBER}


def compiled(text: str) -> KeyTemplate:
    return compile_template(text, SCALARS, kind="S", sort=True, escape=False)


TEMPLATES = ["{a}#{b}", "{a}##{b}#{c}", "P{a}--{b}-", "{a:upper}#{b:lower}/{c}", "{n:03d}#{a}#", "{a}aba{b}"]
TEXTS = st.text("abAB#-/%", max_size=5)


@pytest.mark.parametrize("text", TEMPLATES)
@given(values=st.fixed_dictionaries({"a": TEXTS, "b": TEXTS, "c": TEXTS, "n": st.integers(0, 999)}))
def test_a_key_that_is_rendered_is_matched_back(text: str, values: dict[str, Any]) -> None:
    template = compiled(text)
    try:
        key = template.render(values)
    except KeyValueError:
        return
    assert key is not None
    found = template.match(key)
    assert found == {name: values[name] for name in template.lossless}


@given(one=st.tuples(TEXTS, TEXTS), other=st.tuples(TEXTS, TEXTS), end=st.text("#-a", min_size=1, max_size=3))
def test_different_values_never_have_one_key(one: tuple[str, str], other: tuple[str, str], end: str) -> None:
    template = compiled(f"{{a}}{end}{{b}}")
    try:
        keys = [template.render({"a": a, "b": b}) for a, b in (one, other)]
    except KeyValueError:
        return
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize(("text", "value"), [("{a}#{b}", "x#y"), ("{a}##{b}", "x#"), ("{a}aba{b}", "xab")])
def test_a_value_that_hides_its_own_end_is_refused(text: str, value: str) -> None:
    with pytest.raises(KeyValueError) as caught:
        compiled(text).render({"a": value, "b": "b"})
    assert caught.value.problem.startswith("contains '")
    assert caught.value.problem.endswith("escape=False; use another value, or {a:raw}")


# -- in classes --------------------------------------------------------------------------------------------------------

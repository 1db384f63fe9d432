"""The grammar of key templates: literal text, and placeholders in braces.

A placeholder is ``{field}``, ``{field:spec}``, ``{field.inner}`` for a field of a nested record, or ``{field!s}`` for a
number whose order does not matter. Literal text cannot contain braces, so a misspelled placeholder is an error and
never becomes literal text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from dynaorm.entity.template.spec import Placeholder, SpecError, placeholder_of
from dynaorm.entity.text.scalar import Scalar
from dynaorm.failure import nearest
from dynaorm.record import replace

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
_BRACES: Final = re.compile(r"\{[^{}]*\}|[{}]")
_PLACEHOLDER: Final = re.compile(
    r"\{(?P<field>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<text>!s)?(?::(?P<spec>[^{}]+))?\}"
)


def is_template(given: object) -> bool:
    """Whether it is a text that a request can hold: half a surrogate pair cannot be sent."""
    return isinstance(given, str) and _HALF_PAIR.search(given) is None


def parse(
    text: str, scalars: Mapping[str, Scalar], known: Collection[str], problems: list[str]
) -> tuple[list[str], list[Placeholder]]:
    """Literals and placeholders. Between two literals, which may be empty, there is one placeholder.

    Args:
        text: the template.
        scalars: the fields of the class whose values have one text.
        known: the names of all fields of the class.
        problems: receives a sentence for every problem.
    """
    literals, placeholders = [""], list[Placeholder]()
    position = 0
    for braces in _BRACES.finditer(text):
        literals[-1] += text[position : braces.start()]
        position = braces.end()
        placeholder = _placeholder(braces[0], scalars, known, problems)
        if placeholder is None:
            # Keep it as a literal, so that the fields around it are not reported as adjacent.
            literals[-1] += braces[0]
        else:
            placeholders.append(placeholder)
            literals.append("")
    literals[-1] += text[position:]
    if not text:
        problems.append("it is empty, and a key cannot be; write literal text, a {field}, or both")
    elif not placeholders and (text in scalars or text in known):
        problems.append(
            f"it is the constant {text!r}, which is also the name of a field; write {{{text}}} for its value"
        )
    return literals, placeholders


def _placeholder(
    source: str, scalars: Mapping[str, Scalar], known: Collection[str], problems: list[str]
) -> Placeholder | None:
    found = _PLACEHOLDER.fullmatch(source)
    if found is None:
        problems.append(_not_understood(source, scalars))
        return None
    field, spec = found["field"], found["spec"] or ""
    scalar = scalars.get(field)
    if scalar is None:
        problems.append(_no_text(source, field, scalars, known))
        return None
    try:
        placeholder = placeholder_of(field, scalar, spec, source)
    except SpecError as problem:
        problems.append(str(problem))
        return None
    return replace(placeholder, ordered=True) if found["text"] else placeholder


def _not_understood(source: str, scalars: Mapping[str, Scalar]) -> str:
    if source in ("{", "}"):
        return (
            f"a {source!r} is not part of a placeholder, and literal text cannot contain it; write {{field}}"
        )
    names = re.findall(r"[^\W\d]\w*", source)
    close = next((found for name in names if (found := nearest(name, scalars))), None)
    remedy = f"did you mean {{{close}}}?" if close else "write {field} or {field:spec}"
    return f"{source} is not understood; {remedy}"


def _no_text(source: str, field: str, scalars: Mapping[str, Scalar], known: Collection[str]) -> str:
    if field in known:
        return (
            f"{source}: a value of this field's type has no single text; "
            f"use a field of type str, int, bool, datetime, date, UUID, Ksuid, Enum or the like"
        )
    close = nearest(field, scalars)
    remedy = f"did you mean {{{close}}}?" if close else f"use one of {', '.join(scalars) or 'its fields'}"
    unless = "" if known else " with a single text"
    return f"{source} names no field{unless}; {remedy}"

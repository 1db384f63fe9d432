"""The templates that are refused: ambiguous, not in the order of the values, or unfit for the type of the key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal

from dynaorm.entity.table import KeyKind
from dynaorm.entity.template.spec import Placeholder, sorts
from dynaorm.entity.text.scalar import is_fixed


def not_one_field(
    kind: KeyKind, text: str, placeholders: Sequence[Placeholder], before: Sequence[str]
) -> list[str]:
    """The problems of a number or binary key, which must be one field and nothing else.

    ``before`` are earlier problems: a template with one of those is not reported again for having no field.
    """
    what, example = ("a number key", "{created_at:epoch}") if kind == "N" else ("a binary key", "{digest}")
    if len(placeholders) != 1 or placeholders[0].source != text:
        return [] if before else [f"{what} is one field and nothing else; write one, such as {example}"]
    placeholder = placeholders[0]
    if kind == "B":
        if placeholder.scalar.packing is not None and (placeholder.plain or placeholder.raw):
            return []
        return [
            (
                f"{placeholder.source} is not binary, as the key is; "
                "use a field of type bytes, UUID, Ksuid or str, without spec"
            )
        ]
    if placeholder.number:
        return []
    if placeholder.scalar.tag == "N":
        return [f"{placeholder.source} is text, and the key is a number; write {{{placeholder.field}}}"]
    if placeholder.scalar.python in (datetime, date):
        return [f"{placeholder.source} is text, and the key is a number; write {{{placeholder.field}:epoch}}"]
    return [
        f"{placeholder.source} is text, and the key is a number; use an int, Decimal, date or datetime field"
    ]


def unordered(placeholders: Sequence[Placeholder]) -> Iterator[str]:
    """The problems of a string sort key: numbers and dates whose texts do not sort as they do."""
    written: dict[str, str] = {}
    for placeholder in placeholders:
        # {at:%Y}#{at:%m} sorts, as {at:%Y-%m} does.
        letters = written[placeholder.field] = written.get(placeholder.field, "") + placeholder.directives
        if placeholder.ordered or (placeholder.directives and sorts(placeholder.scalar.python, letters)):
            continue
        sorted_ones = {
            "int": f"{{{placeholder.field}:06d}}",
            "datetime": f"{{{placeholder.field}}}",
            "date": f"{{{placeholder.field}}}",
        }
        better = sorted_ones.get(placeholder.scalar.python.__name__)
        loose = placeholder.source.replace(placeholder.field, f"{placeholder.field}!s", 1)
        if placeholder.directives:
            kind = placeholder.scalar.python.__name__
            yield (
                f"{placeholder.source} does not sort as the {kind} does; begin with the largest unit (%Y-%m-%d, %H:%M)"
                f", or write {loose} if the order does not matter"
            )
            continue
        is_number = placeholder.scalar.python in (int, float, Decimal)
        yield (
            f"{placeholder.source} sorts as text in a string key, 10 before 9; "
            f"write {f'{better}, or ' if better else ''}{loose} if the order does not matter"
            + f"; any number sorts in an index with sk=NumberKey({placeholder.field!r})"
            * is_number
        )


def ambiguous(placeholders: Sequence[Placeholder], literals: Sequence[str]) -> list[str]:
    """The problems of a template that renders one key for different values."""
    problems = []
    for number, (placeholder, literal) in enumerate(zip(placeholders, literals[1:], strict=True), start=1):
        if not literal:
            if number < len(placeholders) and not is_fixed(placeholder.shape):
                both = f"{placeholder.source}{placeholders[number].source}"
                problems.append(
                    f"{both}: different values would have the same key, because nothing separates the fields; "
                    f"write {placeholder.source}#{placeholders[number].source}"
                )
        elif not placeholder.raw and (
            literal[0] == "%" if placeholder.open else literal[0] in placeholder.grows
        ):
            problems.append(
                f"{literal!r} after {placeholder.source} could be part of its text, "
                f"so different values would have the same key; "
                f"begin it with another character, such as '#'"
            )
    return problems

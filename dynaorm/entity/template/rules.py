"""What a template must not be, once its slots are known: ambiguous, out of order, or of the wrong type of key."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Literal, TypeAlias

from dynaorm.entity.template.packing import PACKINGS
from dynaorm.entity.template.spec import Slot

Kind: TypeAlias = Literal["S", "N", "B"]


def not_one_field(kind: Kind, text: str, slots: Sequence[Slot], before: Sequence[str]) -> list[str]:
    what, example = ("a number key", "{created_at:epoch}") if kind == "N" else ("a binary key", "{digest}")
    if len(slots) != 1 or slots[0].source != text:
        return [] if before else [f"{what} is one field and nothing else; write one, such as {example}"]
    slot = slots[0]
    if kind == "B":
        if slot.scalar.python in PACKINGS and (slot.plain or slot.raw):
            return []
        return [
            f"{slot.source} is not binary, as the key is; use a field of type bytes, UUID, Ksuid or str, without spec"
        ]
    if slot.number:
        return []
    if slot.scalar.tag == "N":
        return [f"{slot.source} is a text, and the key is a number; write {{{slot.field}}}"]
    if slot.scalar.python in (datetime, date):
        return [f"{slot.source} is a text, and the key is a number; write {{{slot.field}:epoch}}"]
    return [f"{slot.source} is a text, and the key is a number; use an int, Decimal, date or datetime field"]


def unordered(slots: Sequence[Slot]) -> Iterator[str]:
    for slot in slots:
        if slot.ordered:
            continue
        sorted_ones = {
            "int": f"{{{slot.field}:06d}}",
            "datetime": f"{{{slot.field}}}",
            "date": f"{{{slot.field}}}",
        }
        better = sorted_ones.get(slot.scalar.python.__name__)
        loose = slot.source.replace(slot.field, f"{slot.field}!s", 1)
        yield (
            f"{slot.source} sorts as text in a string key, 10 before 9; "
            f"write {f'{better}, or ' if better else ''}{loose} if the order does not matter"
        )


def ambiguous(slots: Sequence[Slot], literals: Sequence[str]) -> list[str]:
    problems = []
    for number, (slot, literal) in enumerate(zip(slots, literals[1:], strict=True), start=1):
        if not literal:
            if number < len(slots):
                both = f"{slot.source}{slots[number].source}"
                problems.append(
                    f"{both}: with nothing between them, different values make one key; "
                    f"write {slot.source}#{slots[number].source}"
                )
        elif not slot.raw and (literal[0] == "%" if slot.open else literal[0] in slot.grows):
            problems.append(
                f"{literal!r} after {slot.source} could be part of its text, so different values would make one key; "
                f"begin it with another character, such as '#'"
            )
    return problems

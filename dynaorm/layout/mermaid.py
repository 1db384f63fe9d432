"""The classes of a table as a Mermaid entity-relationship diagram.

Totals are lines from the target to what it counts. Classes that are read together have a dotted line.
"""

import re
from collections.abc import Iterator
from typing import Final

from dynaorm.description.description import (
    ClassDescription,
    FieldDescription,
    TableDescription,
    check_description,
)
from dynaorm.item.printable import printable
from dynaorm.layout.keys import read_together

# What a name of an entity, an attribute or a type may have in Mermaid.
_WORD: Final = re.compile(r"[^0-9A-Za-z_]+")
_TYPE: Final = re.compile(r"[^0-9A-Za-z_\[\]]+")
# Quotes end a text, "#" begins an entity, "%%" a comment, and pages may take "<" for a tag.
_INSTEAD: Final = {'"': "'", "#": "no. ", "%": "percent ", "<": "(", ">": ")", "\\": "/", "`": "'"}
_NO_TEXT: Final = re.compile(r"[\"#%<>\\`]")


def mermaid_of(description: TableDescription) -> str:
    """The description of a table as an ``erDiagram`` of Mermaid, without fences.

    Args:
        description: of the table.

    Examples:
        >>> print(mermaid_of(describe(app)).splitlines()[0])
        erDiagram
    """
    check_description(description)
    return "".join(f"{line}\n" for line in ("erDiagram", *_lines(description)))


def _lines(description: TableDescription) -> Iterator[str]:
    names = {one.name: f"c{at}" for at, one in enumerate(description.classes)}
    for cls in description.classes:
        yield f"    {names[cls.name]}[{_quoted(cls.name)}] {{"
        yield from (f"        {_type(one.type)} {_word(one.name)}{_marks(cls, one)}" for one in cls.fields)
        yield "    }"
    for cls in description.classes:
        counted = (one for one in cls.totals if one.target in names)
        for total in counted:
            yield f"    {names[total.target]} ||--o{{ {names[cls.name]} : {_quoted(total.name)}"
    for question in read_together(description):
        where = question.index or description.name
        first, *others = (names[name] for name in question.classes)
        yield from (f"    {first} }}o..o{{ {other} : {_quoted(where)}" for other in others)


def _marks(cls: ClassDescription, field: FieldDescription) -> str:
    is_unique = any(field.name in one.fields for one in cls.unique)
    keys = [mark for mark, is_it in (("PK", field.name in cls.key_fields), ("UK", is_unique)) if is_it]
    told = [one for one in field.marks if one != "unique"]
    comment = f" {_quoted(', '.join(told))}" if told else ""
    return f"{' ' if keys else ''}{', '.join(keys)}{comment}"


def _type(text: str) -> str:
    """A Python type as one word of Mermaid."""
    return _word(text.replace(" | None", ""), _TYPE)


def _word(text: str, others: re.Pattern[str] = _WORD) -> str:
    """A text as one word of Mermaid, which begins with a letter."""
    found = others.sub("_", text).strip("_") or "x"
    return found if found[0].isalpha() else f"x{found}"


def _quoted(text: str) -> str:
    """A text in quotes, without what Mermaid or a page would read as something else than text."""
    return f'"{_NO_TEXT.sub(lambda found: _INSTEAD[found[0]], printable(text)) or " "}"'

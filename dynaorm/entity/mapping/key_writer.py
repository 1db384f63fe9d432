"""The writer of the primary keys of a class: a function, compiled once from generated Python.

Every save and every ``Key`` calls it. It writes the keys that most entities have, and leaves all others, and all
errors, to the templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.table import Table
from dynaorm.entity.template import finder
from dynaorm.item.value import AttributeValue

KeyWriter: TypeAlias = Callable[[Mapping[str, Any]], dict[str, AttributeValue] | None]
"""Turns field values into the primary key; None if the templates have to render it, or say what is wrong."""


def write_no_key(_: Mapping[str, Any]) -> None:
    """The writer of a class whose keys are all left to the templates."""


def key_writer_of(parts: Sequence[KeyPart], table: Table) -> KeyWriter:
    """The writer of these keys.

    Examples:
        ``pk="USER#{user_id}", sk="{at}"`` become ::

            def write(values):
                try:
                    if (user_id := values['user_id']) is None: return None
                    key_0 = 'USER#' + (user_id if type(user_id) is str and user_id.isascii() and not find_0_0(user_id)
                                       else text_0_0(user_id))
                    if not (0 < len(key_0) <= 2048 and key_0.isascii()): return None
                    if (at := values['at']) is None: return None
                    key_1 = text_1_0(at)
                    if not (0 < len(key_1) <= 1024 and key_1.isascii()): return None
                    if 'SK' in (rules := table.rules).reserved_in and rules.reserved_for(attribute_1, key_1):
                        return None
                    return {'PK': {"S": key_0}, 'SK': {"S": key_1}}
                except (KeyError, ValueError):
                    return None
    """
    known: dict[str, Any] = {"table": table}
    lines: list[str] = []
    members: list[str] = []
    for number, part in enumerate(parts):
        if part.constant is not None:
            members.append(f'{part.attribute.name!r}: {{"S": {part.constant!r}}}')
            continue
        if part.attribute.kind != "S" or part.template is None:
            return write_no_key
        key = f"key_{number}"
        texts: list[str] = [] if part.version is None else [repr(part.version.latest_ends[0])]
        for place, piece in enumerate(part.template.pieces):
            value, text, find = (f"{name}_{number}_{place}" for name in ("value", "text", "find"))
            known[text] = piece.write
            lines.append(f"if ({value} := values[{piece.field!r}]) is None: return None")
            texts += [repr(piece.before)] if piece.before else []
            written = f"{text}({value})"
            if piece.escaped is not None:  # a text of ASCII is spared a call
                test = f"type({value}) is str and {value}.isascii()"
                if piece.escaped:
                    known[find] = finder(piece.escaped)
                    test += f" and not {find}({value})"
                written = f"({value} if {test} else {written})"
            texts.append(written)
        texts += [
            repr(end) for end in (part.template.after, part.version and part.version.latest_ends[1]) if end
        ]
        lines.append(f"{key} = {' + '.join(texts)}")
        # In ASCII, every character is one byte.
        lines.append(f"if not (0 < len({key}) <= {part.limit} and {key}.isascii()): return None")
        if part.is_single_field:
            known[f"attribute_{number}"] = part.attribute
            asked = f"{part.attribute.name!r} in (rules := table.rules).reserved_in"
            lines.append(f"if {asked} and rules.reserved_for(attribute_{number}, {key}): return None")
        members.append(f'{part.attribute.name!r}: {{"S": {key}}}')
    body = "\n  ".join([*lines, f"return {{{', '.join(members)}}}"])
    source = f"def write(values):\n try:\n  {body}\n except (KeyError, ValueError): return None"
    exec(source, known)  # noqa: S102 - of names and literals alone, each as its repr
    writer: KeyWriter = known["write"]
    return writer

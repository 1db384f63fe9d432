"""Renders the primary key of an entity from its field values, or says why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.field import ComputedValue, with_computed
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.entity.table import Table
from dynaorm.entity.template import KeyValueError, finder
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue
from dynaorm.record import record

# The writer of the primary keys of a class: a function, compiled once from generated Python.
#
# Every save and every ``Key`` calls it. It writes the keys that most entities have, and leaves all others, and all
# errors, to the templates.

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


@record(eq=False)
class PrimaryKey:
    """The primary key of a class.

    Attributes:
        table: the table.
        parts: the partition key, then the sort key if there is one.
        fields: the fields in it, computed and nested ones too.
        computed: all computed and nested fields that templates of the class name.
        errors: makes the errors of the class.
    """

    table: Table
    parts: tuple[KeyPart, ...]
    fields: tuple[str, ...]
    computed: Mapping[str, ComputedValue]
    errors: ClassErrors

    def of(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The key of an entity with these field values. Raises InvalidValue as ``rendered`` does."""
        if self.computed:
            values = self.with_computed(values, self.fields)
        return self._write(values) or self._templated(values)

    def rendered(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The key with these parts. Raises InvalidValue if a part is None or cannot be part of a key."""
        return self._write(values) or self._templated(values)

    def with_computed(self, values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
        """Field values with those of the computed ones among some names. Raises InvalidValue."""
        try:
            return with_computed(self.computed, values, names, self.errors.secrets.fields)
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)

    @cached_property
    def _write(self) -> KeyWriter:
        return write_no_key if self.errors.secrets.keys else key_writer_of(self.parts, self.table)

    def _templated(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        key: dict[str, AttributeValue] = {}
        try:
            for part in self.parts:
                value = part.value(values)
                if value is None:
                    raise self._missing(part, values)
                self._refuse_reserved(part, value)
                key[part.attribute.name] = value
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)
        return self.errors.secrets.hiding_key(key)

    def _missing(self, part: KeyPart, values: Mapping[str, Any]) -> InvalidValue:
        name = next(name for name in part.fields if values.get(name) is None)
        is_field = name in self.errors.entity.model_fields
        remedy = "give it a value" if is_field else "set the fields that it is made of"
        return self.errors.invalid(name, None, f"is part of the primary key {part.text!r}", remedy)

    def _refuse_reserved(self, part: KeyPart, value: AttributeValue) -> None:
        """Raises InvalidValue for a bare value, which is not escaped, that is the key of a guard, version or token."""
        if not part.is_single_field or part.attribute.kind != "S":
            return
        name, text = part.fields[0], str(value["S"])
        if (reserved := self.table.rules.reserved_for(part.attribute, text)) is not None:
            remedy = f"use a template with literal text, or {{{name}:raw}}"
            raise self.errors.invalid(name, text, f"would be the key of {reserved}", remedy)

"""Encodes the values of an entity that are valid as they are: validation by the types alone.

Rule 1. A value is exact if it is of the very type of its field, not of a subclass, and so is every part of it. Where a
        field has no rule besides its type, pydantic gives an equal value for an exact one. So a write need not ask it.
Rule 2. What is not known to be so counts as a rule. A class with one such field has no exact encoder.
Rule 3. Any value that is not exact, or cannot be encoded, ends the encoder. Validation then judges all values, changes
        them, or finds the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeAlias

from dynaorm.entity.codec.value import LEVELS, NULL, Codec, StoredField
from dynaorm.entity.core_schema import Node, has_own_code, path_to_fields
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.validation_rules import ClassRules, has_rules_of_texts
from dynaorm.entity.text.scalar import NODES, STR
from dynaorm.item.value import AttributeValue, decimal_text, number_text
from dynaorm.record import record, replace

StrictEncoder: TypeAlias = Callable[[Mapping[str, Any]], dict[str, AttributeValue]]
"""Turns exact field values into attribute values. Raises KeyError or ValueError for others."""

# What a node may say without adding a rule. Of a datetime that is given as such, no digit is cut off, and its codec
# refuses one that has no time zone, or one too many.
_SAYS_NOTHING: Final = frozenset({"type", "metadata", "ref", "serialization", "strict"})
_OF_TIMES: Final = _SAYS_NOTHING | {"microseconds_precision"}
_BOUNDS: Final[Mapping[str, str]] = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_LENGTHS: Final[Mapping[str, str]] = {"min_length": ">=", "max_length": "<="}
_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("bool", "float", "bytes", "date", "uuid"), _SAYS_NOTHING),
    **dict.fromkeys(("time", "timedelta"), _OF_TIMES),
    "datetime": _OF_TIMES | {"tz_constraint"},
    "str": _SAYS_NOTHING | _LENGTHS.keys(),
    "int": _SAYS_NOTHING | _BOUNDS.keys(),
    "decimal": _SAYS_NOTHING | _BOUNDS.keys(),
    "nullable": _SAYS_NOTHING | {"schema"},
    "default": _SAYS_NOTHING
    | {
        "schema",
        "default",
        "default_factory",
        "default_factory_takes_data",
        "validate_default",
        "copy_default",
    },
    "enum": _SAYS_NOTHING | {"cls", "members", "sub_type", "missing"},
    "literal": _SAYS_NOTHING | {"expected"},
    "list": _SAYS_NOTHING | {"items_schema"},
    "set": _SAYS_NOTHING | {"items_schema"},
    "frozenset": _SAYS_NOTHING | {"items_schema"},
    "tuple": _SAYS_NOTHING | {"items_schema", "variadic_item_index"},
    "dict": _SAYS_NOTHING | {"keys_schema", "values_schema"},
    "model": _SAYS_NOTHING
    | {"cls", "schema", "config", "custom_init", "root_model", "post_init", "frozen", "generic_origin"},
}
_NOTHING: Final[frozenset[str]] = frozenset()
_NOTHING_KNOWN: Final[Node] = {"type": ""}
_SHORT: Final = 10**38


class NeedsValidation(ValueError):
    """A value is not exact."""


class _HasRules(Exception):
    """A type may have rules that its exact values break."""


def exact_encoder_of(
    fields: Mapping[str, FieldMapping], rules: ClassRules, schema: Node
) -> StrictEncoder | None:
    """The exact encoder of a class with this core schema; None if a value may break a rule besides its type.

    Examples:
        A ``str``, a ``Decimal``, a ``list[str]`` and an ``int | None`` that is None by default become ::

            def encode(values):
                if len(values) != 4: refuse()
                found = {
                    'name': {"S": one} if type(one := values['name']) is str and one.isascii() else text(one),
                    'price': encode_1(one) if type(one := values['price']) is kind_1 else refuse(),
                    'tags': {"L": [{"S": one2} if type(one2) is str and one2.isascii() else text(one2) for one2 in one]}
                            if type(one := values['tags']) is kind_2 else refuse(),
                }
                if (made := None if (one := values['age']) is None else ...) is not None: found['age'] = made
                return found
    """
    *_, model, record = path_to_fields(schema)
    if not rules.is_separate or rules.untouched or _has_rules(model, record):
        return None
    writer = _SourceWriter()
    try:
        checks = [
            writer.line(field, record["fields"][name]["schema"])
            for name, field in fields.items()
            if field.in_key
        ]
        stored = [field for field in fields.values() if not field.in_key]
        body = [f"if len(values) != {len(fields)}: refuse()", *checks, *writer.map_of(stored, record)]
    except _HasRules:
        return None
    return writer.compiled(body)


@record(quick=True)
class _Value:
    """A value in the source, which is not None.

    Attributes:
        codec: its codec.
        node: the node of its type.
        name: the variable that it is in.
        given: the expression in which it is first named, which may put it there.
        depth: how many containers it is in.
    """

    codec: Codec
    node: Node
    name: str
    given: str
    depth: int = 0

    @property
    def kind(self) -> str:
        """The type of its node. Raises _HasRules if that is not known, or says what is not known."""
        kind: str = self.node["type"]
        if not self.node.keys() <= _KNOWN.get(kind, _NOTHING):
            raise _HasRules
        return kind

    def part(self, codec: Codec | None, node: Node | None) -> _Value:
        """An element of it, in a variable of its own."""
        if codec is None or node is None:
            raise _HasRules
        name = f"one{self.depth + 1}"
        return _Value(codec, node, name, name, self.depth + 1)


class _SourceWriter:
    """Writes the source of an exact encoder. ``known`` are the objects that it names."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {
            "refuse": _refuse, "text": _text, "text_of": _text_of, "NULL": NULL, "Decimal": Decimal,
            "number_text": number_text, "decimal_text": decimal_text,
        }  # fmt: skip
        self._functions: list[str] = []

    def compiled(self, body: list[str]) -> StrictEncoder:
        self._function("encode", "values", body)
        exec("\n".join(self._functions), self.known)  # noqa: S102 - of names alone, each as its repr
        encoder: StrictEncoder = self.known["encode"]
        return encoder

    def map_of(self, fields: Iterable[StoredField], record: Node) -> list[str]:
        """The statements that return the attribute values of fields, without the absent ones."""
        always, perhaps = list[str](), list[str]()
        for field in fields:
            line = self.line(field, record["fields"][field.name]["schema"])
            if field.can_be_absent:
                perhaps.append(f"if (made := {line}) is not None: found[{field.attribute!r}] = made")
            else:
                always.append(f"{field.attribute!r}: {line},")
        return ["found = {", *always, "}", *perhaps, "return found"]

    def line(self, field: StoredField, node: Node) -> str:
        """The expression of a field's attribute value, None for an absent one."""
        codec, given = field.codec, f"(one := values[{field.name!r}])"
        if codec.levels >= LEVELS:  # its depth is to be checked
            raise _HasRules
        if codec.is_set:
            return self._set(field, node, given)
        node, none = _without_default(node), "None" if field.none_is_absent else "NULL"
        if node["type"] != "nullable":
            return self.of(_Value(codec, node, "one", given))
        return f"{none} if {given} is None else {self.of(_Value(codec, node['schema'], 'one', 'one'))}"

    def of(self, value: _Value) -> str:
        """The expression of a value's attribute value."""
        kind, write = value.kind, _CONTAINERS.get(value.kind)
        if write is not None:
            return write(self, value)
        if kind == "str" and value.codec.is_text:
            return self._text(value)
        if kind in ("int", "decimal") and _is_stored_as("N", value.codec):
            return self._number(value)
        if kind == "bool" and _is_stored_as("BOOL", value.codec):
            return f'({{"BOOL": {value.name}}} if type({value.given}) is bool else refuse())'
        return self._leaf(value)

    # -- single values -------------------------------------------------------------------------------------------------

    def _text(self, value: _Value) -> str:
        name = value.name
        if limits := self._limits(value, f"len({name})", _LENGTHS):
            return f"(text({name}) if type({value.given}) is str{limits} else refuse())"
        return f'({{"S": {name}}} if type({value.given}) is str and {name}.isascii() else text({name}))'

    def _number(self, value: _Value) -> str:
        name, limits = value.name, self._limits(value, value.name, _BOUNDS)
        if value.kind == "decimal":
            return f'({{"N": decimal_text({name})}} if type({value.given}) is Decimal{limits} else refuse())'
        text = f'f"{{{name}}}" if -{_SHORT} < {name} < {_SHORT} else number_text({name})'
        return f'({{"N": {text}}} if type({value.given}) is int{limits} else refuse())'

    def _leaf(self, value: _Value) -> str:
        kind, node, test = value.kind, value.node, ""
        if kind == "literal":
            kinds = {*map(type, node["expected"])}
            if len(kinds) != 1 or not kinds <= {str, int}:
                raise _HasRules
            (python,) = kinds
            test = f" and {value.name} in {self._named(frozenset(node['expected']))}"
        elif kind in NODES:
            python = NODES[kind].python
        elif kind == "enum":
            python = node["cls"]
        else:
            raise _HasRules
        made = f"{self._named(value.codec.encode)}({value.name})"
        return f"({made} if type({value.given}) is {self._named(python)}{test} else refuse())"

    def _limits(self, value: _Value, measured: str, limits: Mapping[str, str]) -> str:
        """The tests that a value is within the limits of its node."""
        given = [
            (sign, value.node[name]) for name, sign in limits.items() if value.node.get(name) is not None
        ]
        return "".join(f" and {measured} {sign} {self._named(limit)}" for sign, limit in given)

    # -- containers ----------------------------------------------------------------------------------------------------

    def sequence(self, value: _Value) -> str:
        items: Any = value.node.get("items_schema")
        if value.kind == "tuple":
            if value.node.get("variadic_item_index") != 0 or len(items or ()) != 1:
                raise _HasRules
            (items,) = items
        if not _is_stored_as("L", value.codec):
            raise _HasRules
        part = value.part(value.codec.element, items)
        made = f'{{"L": [{self._element(part)} for {part.name} in {value.name}]}}'
        return f"({made} if type({value.given}) is {value.kind} else refuse())"

    def dictionary(self, value: _Value) -> str:
        keys: Any = value.node.get("keys_schema") or _NOTHING_KNOWN
        if keys["type"] != "str" or not keys.keys() <= _SAYS_NOTHING:
            raise _HasRules
        if not _is_stored_as("M", value.codec) or value.codec.key is not None:
            raise _HasRules
        part = value.part(value.codec.element, value.node.get("values_schema"))
        key = f"key_of_{part.name}"
        members = f"text_of({key}): {self._element(part)} for {key}, {part.name} in {value.name}.items()"
        return f'({{"M": {{{members}}}}} if type({value.given}) is dict else refuse())'

    def _element(self, part: _Value) -> str:
        if part.node["type"] != "nullable":
            return self.of(part)
        inner = replace(part, node=_without_default(part.node)["schema"])
        return f"(NULL if {part.name} is None else {self.of(inner)})"

    def model(self, value: _Value) -> str:
        """A call of a function that makes the map of a model."""
        node, members, function = value.node, value.codec.members, f"map_{len(self._functions)}"
        fields = node["schema"]
        if _has_rules(node, fields) or not _is_stored_as("M", value.codec) or members is None:
            raise _HasRules
        if fields["fields"].keys() != members.keys():
            raise _HasRules
        self._functions.append("")  # its place
        stored = [member for member in members.values() if isinstance(member, StoredField)]
        body = [
            f"if type(model) is not {self._named(node['cls'])}: refuse()",
            "values = model.__dict__",
            f"if len(values) != {len(stored)}: refuse()",
            *self.map_of(stored, fields),
        ]
        self._function(function, "model", body)
        return f'{{"M": {function}({value.given})}}'

    def _set(self, field: StoredField, node: Node, given: str) -> str:
        """The expression of a set, which is absent if it is empty or None."""
        node = _without_default(node)
        is_nullable = node["type"] == "nullable"
        value = _Value(field.codec, node["schema"] if is_nullable else node, "one", given)
        part = value.part(field.codec.element, value.node.get("items_schema"))
        if value.kind not in ("set", "frozenset") or part.kind not in NODES:
            raise _HasRules
        if not part.node.keys() <= _SAYS_NOTHING:
            raise _HasRules
        of = self._named(frozenset({NODES[part.kind].python}))
        test = f"type({given}) is {value.kind} and {{*map(type, one)}} <= {of}"
        test = f"{given} is None or {test}" if is_nullable else test
        return f"({self._named(field.encode)}(one) if {test} else refuse())"

    # -- names ---------------------------------------------------------------------------------------------------------

    def _named(self, one: object) -> str:
        name = f"known_{len(self.known)}"
        self.known[name] = one
        return name

    def _function(self, name: str, argument: str, body: list[str]) -> None:
        self._functions.append("\n ".join([f"def {name}({argument}):", *body]))


_CONTAINERS: Final[Mapping[str, Callable[[_SourceWriter, _Value], str]]] = {
    "list": _SourceWriter.sequence,
    "tuple": _SourceWriter.sequence,
    "dict": _SourceWriter.dictionary,
    "model": _SourceWriter.model,
}


def _has_rules(model: Node, fields: Node) -> bool:
    """Whether a model has rules besides those of its fields."""
    config = model.get("config") or {}
    return (
        model["type"] != "model"
        or fields["type"] != "model-fields"
        or bool(model.get("root_model"))
        or has_own_code(model)
        or "allow" in (config.get("extra_fields_behavior"), fields.get("extra_behavior"))
        or has_rules_of_texts(config)
    )


def _without_default(node: Node) -> Node:
    while node["type"] == "default":
        if not node.keys() <= _KNOWN["default"]:
            raise _HasRules
        node = node["schema"]
    if node["type"] == "nullable" and not node.keys() <= _KNOWN["nullable"]:
        raise _HasRules
    return node


def _is_stored_as(tag: str, codec: Codec) -> bool:
    """Whether a value is stored under this tag, in no form of another library."""
    return codec.tags - {"NULL"} == {tag} and not codec.form and not codec.opaque


def _refuse() -> NoReturn:
    raise NeedsValidation


def _text(value: Any) -> AttributeValue:
    return {"S": _text_of(value)}


def _text_of(value: Any) -> str:
    if type(value) is not str:
        raise NeedsValidation
    return value if value.isascii() else STR.to_text(value)

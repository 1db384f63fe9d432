"""What the core schema of a class says about validation: its validators, and which rules a write must consider.

Rule 1. Pydantic does not validate an instance of a nested model again, although its fields may have been assigned
        since. Writes do, because loading does.
Rule 2. What is not known to be harmless counts as a rule: a write then reads first, or validates twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from operator import is_
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic_core import CoreConfig, SchemaValidator

from dynaorm.entity.core_schema import (
    BUILDS_AS_GIVEN,
    INSTANCES,
    RECORDS,
    Node,
    definitions_of,
    elements_at,
    fields_in,
    has_own_code,
    is_function,
    is_trusted,
    looks_beside,
    makes_of_others,
    nodes_of,
    path_to_fields,
    referred,
    revalidating,
    same_values,
    takes_info,
    unwrapped,
    validates_default,
    validator_of,
    with_definitions,
)
from dynaorm.entity.text.scalar import NODES
from dynaorm.item.path import Path
from dynaorm.record import record, replace

# Equality of values and their types, at every depth.

# Every save compares values, and `list | tuple` would be built for each.
_SEQUENCES: Final = (list, tuple)
_SETS: Final = (set, frozenset)


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types, at every depth."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, _SEQUENCES):
        return len(one) == len(other) and (all(map(is_, one, other)) or all(map(is_equal, one, other)))
    if isinstance(one, dict):
        # The key 1 equals the key True.
        return _typed(one) == _typed(other) and _have_equal(one, other)
    if isinstance(one, BaseModel):
        before, now = vars(one), vars(other)
        return before.keys() == now.keys() and _have_equal(before, now)
    if is_dataclass(one):
        return all(is_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    # The set of 1 equals the set of True.
    return bool(one == other) and (not isinstance(one, _SETS) or _typed(one) == _typed(other))


def _have_equal(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Whether two dicts of equal keys have equal values."""
    # By key, because equal dicts may have their keys in another order.
    return all(map(is_equal, one.values(), map(other.__getitem__, one)))


def _typed(members: Any) -> set[Any]:
    return {(type(member), member) for member in members}


# The places inside of the values of fields: the members of models, dicts, lists and sets, and what pydantic says of
# them.
#
# Rule 1. A value is judged by the schema of the place it goes to, under the configuration of the class around it:
#         just as if the whole field had been given.
# Rule 2. A place in a union has the schemas of all members of the union that have such a place.


@record(eq=False)
class NestedPlace:
    """A place in the values of a field.

    Attributes:
        name: the field that has the place, of the entity or of a nested class.
        depth: how many steps of the path lead to the values of that class; 0 for those of the entity.
        validator: validates a value for the place, as one of the field ``name``, by ``validate_assignment``.
        looks_beside: a validator of the place is shown the fields beside it.
        holds_instances: a value may be or contain an instance of a model or dataclass.
    """

    name: str
    depth: int
    validator: SchemaValidator
    looks_beside: bool
    holds_instances: bool


@record(quick=True)
class _Around:
    """A node, and what is around it: the configuration, the field, and how many steps lead to its class."""

    node: Node
    config: Mapping[str, Any]
    name: str
    depth: int


class NestedPlaces:
    """The places in the values of the fields of a class."""

    __slots__ = ("_definitions", "_fields", "_known", "_schema")

    def __init__(self, schema: Node) -> None:
        path = path_to_fields(schema)
        config = next(one for one in path if one["type"] == "model").get("config") or {}
        self._schema, self._definitions = schema, definitions_of(schema)
        self._fields = {
            name: _Around(one["schema"], config, name, 0) for name, one in path[-1]["fields"].items()
        }
        self._known: dict[tuple[object, ...], NestedPlace] = {}

    def at(self, path: Path) -> NestedPlace | None:
        """The place at a path of field names; None if the schema does not say what is there.

        Any index leads to the members of a list or set.
        """
        start = self._fields.get(str(path[0]))
        found = [start] if start is not None else []
        for depth, step in enumerate(path[1:], start=1):
            found = [inner for one in found for inner in self._inside(one, step, depth)]
        if not found or any(one.name != found[0].name for one in found):
            return None
        # Dicts have any number of names, and lists of indexes, which all lead to the same nodes.
        known = (found[0].name, found[0].depth, *(id(one.node) for one in found))
        if known not in self._known:
            self._known[known] = self._place(found)
        return self._known[known]

    def _place(self, found: list[_Around]) -> NestedPlace:
        first, nodes = found[0], [one.node for one in found]
        node = nodes[0] if len(nodes) == 1 else {"type": "union", "choices": nodes}
        fields = {first.name: {"type": "model-field", "schema": node}}
        schema = with_definitions({"type": "model-fields", "fields": fields}, self._schema)
        config: Any = first.config
        within = [*referred(node, self._definitions)]
        return NestedPlace(
            first.name,
            first.depth,
            _validator(schema, config),
            looks_beside(node, self._definitions),
            any(one["type"] in INSTANCES for one in within),
        )

    def _inside(self, one: _Around, step: str | int, depth: int) -> Iterator[_Around]:
        """The nodes that a step leads to."""
        for whole in self._members_of(one):
            node = whole.node
            if node["type"] in RECORDS:
                config = node.get("config") or whole.config
                for name, schema in fields_in(node):
                    if name == step:
                        yield _Around(schema, config, name, depth)
            else:
                yield from (replace(whole, node=element) for element in elements_at(node, step))

    def _members_of(self, one: _Around) -> Iterator[_Around]:
        """The nodes of the values of a node: those of all members of a union, and of the fields of a class."""
        inner = [*same_values(one.node, self._definitions)]
        config = one.node.get("config") or {} if one.node["type"] in INSTANCES else one.config
        for node in inner:
            yield from self._members_of(replace(one, node=node, config=config))
        if not inner:
            yield one


def _validator(schema: Node, config: CoreConfig) -> SchemaValidator:
    return validator_of(revalidating(schema), config)


_BOUNDS: Final = frozenset({"ge", "gt", "le", "lt"})
_LIMITS: Final = _BOUNDS | {
    "multiple_of", "max_digits", "decimal_places", "min_length", "max_length", "pattern", "to_lower", "to_upper",
    "strip_whitespace", "now_op", "tz_constraint",
}  # fmt: skip
_CHANGES_TEXT: Final = ("to_lower", "to_upper", "strip_whitespace")
_LIMITS_TEXT: Final = ("min_length", "max_length")
_NUMBERS: Final = frozenset(node for node, scalar in NODES.items() if scalar.tag == "N")
_CHOICES: Final = frozenset({"enum", "literal"})
_HOLDS_INSTANCES: Final = INSTANCES | {"definition-ref"}
# Values of other types may be stored as these are.
_ALIKE: Final[Mapping[str, type | None]] = {
    **{node: scalar.python for node, scalar in NODES.items() if scalar.takes_ints},
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict, "enum": None, "literal": None,
}  # fmt: skip
_HARMLESS: Final = NODES.keys() | _CHOICES | {
    "any", "none", "complex", "is-instance", "default", "definition-ref",
    "nullable", "union", "list", "set", "frozenset", "dict", "model", "model-fields", "model-field", "typed-dict",
    "typed-dict-field", "dataclass", "dataclass-args", "dataclass-field", "json-or-python", "lax-or-strict",
}  # fmt: skip


@record
class FieldRules:
    """The rules of one field.

    Attributes:
        is_plain: there are none: every value that can be encoded is valid.
        takes_info: a validator may look at other fields, or at the context.
        has_choices: not every number or text of its type is valid.
        holds_instances: a value may be or contain an instance of a model or dataclass.
        bounds: of a number, the bounds that alone decide about the result of an addition, such as ``{"ge": 0}``; None
            if they do not.
        lengths: of a collection, its least and greatest length, which alone decide about adding elements; None if
            they do not.
    """

    is_plain: bool
    takes_info: bool
    has_choices: bool
    holds_instances: bool
    bounds: Mapping[str, Any] | None
    lengths: tuple[int, int | None] | None


@record(eq=False)
class ClassRules:
    """The rules of a class.

    Attributes:
        whole: makes an entity of ``{field: value}``; to be called with ``by_alias=False, by_name=True``.
        single: validates one field by ``validate_assignment``, without model validators.
        is_stable: validating a valid value again cannot change it.
        takes_info: a validator may look at the context.
        of_class: there are rules about several fields: model validators, or an ``__init__`` of the class's own.
        is_separate: every value is valid or not on its own, and stays as it is.
        fields: the rules of each field.
        nested: the places inside of the values of its fields.
        untouched: the static defaults that pydantic does not validate, where validation may refuse or change them.
        alike: the fields of which values of several types may be stored alike, as 1 and ``Decimal(1)``. Each comes with
            the type of which every value is right; None if there is no such type.
    """

    whole: SchemaValidator
    single: SchemaValidator
    is_stable: bool
    takes_info: bool
    of_class: bool
    is_separate: bool
    fields: Mapping[str, FieldRules]
    nested: NestedPlaces
    untouched: Mapping[str, Any]
    alike: Mapping[str, type | None]


def rules_of(entity: type[BaseModel]) -> ClassRules:
    """The rules of a class whose fields are complete."""
    schema: Any = entity.__pydantic_core_schema__
    nodes = [*nodes_of(schema)]
    path = path_to_fields(schema)
    model, fields = next(one for one in path if one["type"] == "model"), path[-1]
    config: Any = model.get("config") or {}
    is_nested = sum(one["type"] in INSTANCES for one in nodes) > 1
    renewed = revalidating(schema) if is_nested else schema
    whole = validator_of(renewed) if is_nested else entity.__pydantic_validator__
    is_limited = has_rules_of_texts(config)
    is_stable = not any(_may_change(one) for one in nodes) and (BUILDS_AS_GIVEN or not is_nested)
    depends_on_other_fields = any(takes_info(one) for one in nodes)
    of_class = any(is_function(one) or has_own_code(one) for one in path)
    definitions = definitions_of(schema)
    rules = {
        name: _field_rules(one["schema"], is_limited, definitions) for name, one in fields["fields"].items()
    }
    single = _single(renewed, config)
    return ClassRules(
        whole=cast(SchemaValidator, whole),
        single=single,
        is_stable=is_stable,
        takes_info=depends_on_other_fields,
        of_class=of_class,
        is_separate=is_stable
        and not depends_on_other_fields
        and not of_class
        and not any(map(makes_of_others, nodes)),
        fields=rules,
        nested=NestedPlaces(schema),
        untouched=_spared(entity, single, rules),
        alike={
            name: kind
            for name, one in fields["fields"].items()
            if not rules[name].takes_info
            for kind in _stored_alike(one["schema"])
        },
    )


def _spared(
    entity: type[BaseModel], single: SchemaValidator, rules: Mapping[str, FieldRules]
) -> Mapping[str, Any]:
    """The member ``untouched`` of ``ClassRules``."""
    found = {}
    for name, info in entity.model_fields.items():
        if info.is_required() or info.default_factory is not None or validates_default(entity, name):
            continue
        if rules[name].takes_info or not _stays(single, name, info.default):
            found[name] = info.default
    return found


def _stays(single: SchemaValidator, name: str, default: Any) -> bool:
    """Whether validation accepts a default as it is."""
    try:
        found: Any = single.validate_assignment({}, name, default, by_alias=False, by_name=True)
    except Exception:  # noqa: BLE001 - a validator may fail in any way on a value that it was not written for
        return False
    return is_equal(found[0][name], default)


# -- validators --------------------------------------------------------------------------------------------------------


def _single(schema: Node, config: CoreConfig) -> SchemaValidator:
    node = path_to_fields(schema)[-1]
    # A copy of an entity may have another value in a frozen field, which must be validated, too.
    fields = {
        name: {key: part for key, part in one.items() if key != "frozen"}
        for name, one in node["fields"].items()
    }
    return validator_of(with_definitions({**node, "fields": fields}, schema), config)


# -- rules -------------------------------------------------------------------------------------------------------------


def _may_change(node: Node) -> bool:
    """Whether a node may turn a valid value into another one."""
    if is_function(node):
        return not is_trusted(node["function"]["function"])
    config = node.get("config") or {}
    return (
        has_own_code(node)
        or any(node.get(name) for name in _CHANGES_TEXT)
        or any(config.get(f"str_{name}") for name in _CHANGES_TEXT)
    )


def _is_harmless(node: Node) -> bool:
    config = node.get("config") or {}
    return (
        node["type"] in _HARMLESS
        and _LIMITS.isdisjoint(node)
        and not has_own_code(node)
        and not has_rules_of_texts(config)
    )


def has_rules_of_texts(config: Mapping[str, Any]) -> bool:
    """Whether the configuration of a model changes or limits texts."""
    return any(config.get(f"str_{name}") for name in (*_CHANGES_TEXT, *_LIMITS_TEXT))


def _field_rules(schema: Node, is_limited: bool, definitions: Mapping[str, Node]) -> FieldRules:
    nodes = [*referred(schema, definitions)]
    is_plain = not is_limited and all(map(_is_harmless, nodes))
    schema = unwrapped(schema)
    return FieldRules(
        is_plain=is_plain,
        takes_info=any(map(takes_info, nodes)),
        has_choices=any(one["type"] in _CHOICES for one in nodes),
        holds_instances=any(one["type"] in _HOLDS_INSTANCES for one in nodes),
        bounds=_bounds(schema),
        lengths=None if is_limited else _lengths(schema, definitions),
    )


def _stored_alike(schema: Node) -> tuple[type | None, ...]:
    """The member of ``ClassRules.alike``, if there is one."""
    schema = unwrapped(schema)
    kinds = [one["type"] for one in nodes_of(schema) if one["type"] in _ALIKE]
    if not kinds:
        return ()
    return (_ALIKE[kinds[0]] if kinds == [schema["type"]] else None,)


def _bounds(node: Node) -> Mapping[str, Any] | None:
    if node["type"] == "union":
        return {} if all(_bounds(one) == {} for one in node["choices"] if isinstance(one, dict)) else None
    if node["type"] not in _NUMBERS:
        return None
    limits = {name: node[name] for name in sorted(_LIMITS & node.keys())}
    # A sum of floats is rounded when it is loaded, and may then be equal to the bound; a timedelta is no number.
    known = {"int": _BOUNDS, "decimal": _BOUNDS, "float": {"ge", "le"}}.get(node["type"], frozenset())
    return limits if limits.keys() <= known else None


def _lengths(node: Node, definitions: Mapping[str, Node]) -> tuple[int, int | None] | None:
    if node["type"] not in ("list", "set", "frozenset"):
        return None
    if not all(map(_is_harmless, referred(node.get("items_schema") or {"type": "any"}, definitions))):
        return None
    return node.get("min_length") or 0, node.get("max_length")

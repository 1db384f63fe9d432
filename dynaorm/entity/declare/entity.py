"""Turns a class into a mapping, or refuses it with every problem of its declaration and the remedy for each.

Rule 1. A declaration is judged by rules, one after the other. A rule yields what is wrong, and adds what it has
        compiled to the draft.
Rule 2. The class joins its table if no rule finds a problem, and no other class of the table is in its way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import BaseModel

from dynaorm.entity.core_schema import is_model_of_fields
from dynaorm.entity.declare.aggregates import aggregate_conflicts, aggregates
from dynaorm.entity.declare.constraints import constraints
from dynaorm.entity.declare.draft import ClassOptions, Draft, misnamed_fields
from dynaorm.entity.declare.fields import (
    attributes,
    expiry,
    fields,
    item_type,
    kept_times,
    stored_places,
    type_names_of,
)
from dynaorm.entity.declare.keys import (
    choices,
    indexes,
    places,
    primary_key,
    shards,
    undeclared_keys,
    vectors,
)
from dynaorm.entity.declare.registry import conflicts, register
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.key_part import BOOKKEEPING, Versioning
from dynaorm.entity.mapping.index_places import When
from dynaorm.entity.mapping.mapping import MAPPING, EntityMapping
from dynaorm.entity.marker import (
    Computed,
    CreatedAt,
    ExpiresAt,
    OneOf,
    Stored,
    Unique,
    UpdatedAt,
    Versioned,
    parse_markers,
)
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.failure import shown, suggestion
from dynaorm.late import late
from dynaorm.record import replace

if TYPE_CHECKING:
    from dynaorm.entity import resolve
    from dynaorm.item import condition
else:
    late(globals(), condition="dynaorm.item.condition", resolve="dynaorm.entity.resolve")

# Modules may be imported in several threads. A class that joins a table is compared with every class that has joined.
_JOINING: Final = threading.RLock()


def declare(entity: type[BaseModel], options: ClassOptions) -> None:
    """Map a class whose fields are complete. The class joins its table.

    Raises:
        DeclarationError: with every problem of the class. The table is unchanged.
    """
    draft = Draft(entity, options)
    problems = draft.problems
    problems += options.problems
    for rule in RULES if options.table is not None else RULES_OF_MODELS:
        for problem in rule(draft):
            problems.append(problem)  # at once, because a rule adds some itself
    with _JOINING:
        mapping = None if options.table is None else _mapping(draft)
        if mapping is not None:
            mapping = _with_conditions(mapping, problems)
            problems += [*_family_problems(mapping), *conflicts(mapping), *aggregate_conflicts(mapping)]
        if problems or mapping is None:
            raise DeclarationError(entity=entity.__name__, problems=tuple(dict.fromkeys(problems)))
        # First, because other threads may meet the class as soon as it has joined.
        setattr(entity, MAPPING, mapping)
        register(mapping)


def _mapping(draft: Draft) -> EntityMapping | None:
    """The mapping, complete unless there are problems; None without a complete primary key."""
    if draft.partition is None or len(draft.primary) != len(draft.table.keys):
        return None
    template, versioned = draft.version_template, frozenset(_marked(draft, Versioned))
    expires = next((draft.fields[name] for name in _marked(draft, ExpiresAt)), None)
    stored_expiry = None
    if expires is not None:
        stored_expiry = Expiry(expires.attribute, draft.marks[expires.name].find(ExpiresAt)[0].unit)
    return EntityMapping(
        entity=draft.entity,
        name=draft.options.name,
        table=draft.table,
        root=draft.options.root or draft.entity,
        fields=draft.fields,
        partition=draft.partition,
        sort=draft.sort,
        indexes=draft.indexes,
        constraints=draft.constraints,
        versioning=None if template is None else Versioning(template, versioned or None),
        expires=expires,
        expiry=stored_expiry,
        aggregates=draft.aggregates,
        created=tuple(draft.fields[name] for name in _marked(draft, CreatedAt)),
        updated=tuple(draft.fields[name] for name in _marked(draft, UpdatedAt)),
        computed=draft.computed,
        undeclared=draft.undeclared,
        stored=draft.stored_places,
        formerly=draft.options.formerly,
        type_names=type_names_of(draft),
    )


def _marked(draft: Draft, kind: type) -> list[str]:
    """The fields with a marker."""
    return [name for name in draft.fields if draft.marks[name].find(kind)]


# -- rules -------------------------------------------------------------------------------------------------------------


def markers(draft: Draft) -> Iterator[str]:
    """Refuses markers of stored fields."""
    for name, mark in draft.marks.items():
        yield from mark.problems
        if mark.find(Computed):
            yield f"{name}: Computed() says what a computed field looks at, and this field is stored; drop it"
        if mark.find(Stored):
            yield f"{name}: Stored() keeps a computed field, and this field is stored anyway; drop it"


def names(draft: Draft) -> Iterator[str]:
    """Refuses names of fields that are Python's or pydantic's."""
    yield from misnamed_fields(draft.entity)


def computed_markers(draft: Draft) -> Iterator[str]:
    """Refuses markers of computed fields."""
    fields = draft.entity.model_fields
    for name, mark in draft.computed_marks.items():
        yield from mark.problems
        for marker in mark.markers:
            if isinstance(marker, Computed):
                for one in marker.of:
                    if one not in fields:
                        yield f"{name}: Computed(of=...) names {one!r}; {suggestion(one, fields)}"
            elif not isinstance(marker, Unique | OneOf | Stored):
                kind = type(marker).__name__
                yield f"{name}: {kind}() says how a field is stored, and a computed field is not stored; drop it"


def dropped_markers(draft: Draft) -> Iterator[str]:
    """Refuses annotations that drop a marker of a base."""
    marks = draft.marks
    declared: dict[tuple[str, str], str] = {}
    for base in draft.entity.__mro__[1:]:
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        for name in base.model_fields.keys() & marks.keys():
            present = {type(marker) for marker in marks[name].markers}
            for marker in parse_markers(name, base.model_fields[name]).markers:
                if type(marker) not in present:
                    # The last base with a marker is the one that declared it.
                    declared[name, type(marker).__name__] = base.__name__
    for (name, kind), base_name in sorted(declared.items()):
        yield (
            f"{name}: its annotation drops the {kind}() that {base_name} declared; "
            f"repeat the marker, or drop the annotation"
        )


def model(draft: Draft) -> Iterator[str]:
    """Refuses configurations under which an entity could not be stored."""
    if draft.entity.model_config.get("extra") == "allow":
        yield "extra='allow' takes fields without a type, which cannot be stored; declare a dict field"
    frozen: object = draft.entity.model_config.get("frozen")
    if not isinstance(frozen, bool | None):
        # pydantic looks at it last, when the class has joined its table.
        yield f"frozen={shown(frozen)} is neither True nor False; write one of them"
    if not is_model_of_fields(draft.entity):
        yield (
            "its __get_pydantic_core_schema__() gives another schema than that of its fields; let it return what "
            "handler(source) gives, or write validators"
        )


def versions(draft: Draft) -> Iterator[str]:
    """Refuses versions without a place."""
    if not draft.options.versioned:
        for name in sorted(name for name, mark in draft.marks.items() if mark.find(Versioned)):
            yield f"{name}: Versioned() in a class without versions; add versioned=True"
        return
    for reserved, what in BOOKKEEPING.items():
        if reserved in draft.table.kinds:
            yield (
                f"{reserved!r} is a key attribute of {draft.table}, and a versioned class stores {what} there; "
                f"rename the key, or drop versioned="
            )


Rule: TypeAlias = Callable[[Draft], Iterable[str]]

RULES_OF_MODELS: Final[tuple[Rule, ...]] = (markers, names, computed_markers, dropped_markers, model)
"""The rules for a class without a table, too."""

RULES: Final[tuple[Rule, ...]] = (
    *RULES_OF_MODELS,
    primary_key,
    shards,
    indexes,
    places,
    undeclared_keys,
    vectors,
    choices,
    aggregates,
    fields,
    constraints,
    versions,
    expiry,
    attributes,
    stored_places,
    kept_times,
    item_type,
)


def _family_problems(mapping: EntityMapping) -> Iterator[str]:
    if mapping.root is not mapping.entity and mapping.table.type_attribute is None:
        yield (
            f"{mapping.table} has no type attribute, so {mapping.entity.__name__} could not be told from "
            f"{mapping.root.__name__}; give the table one, or the class a table= and keys of its own"
        )


# -- conditions --------------------------------------------------------------------------------------------------------


def _with_conditions(mapping: EntityMapping, problems: list[str]) -> EntityMapping:
    """The mapping with its conditions translated; ``problems`` receives a sentence for each that cannot be."""
    return replace(
        mapping,
        indexes=dict(_translated(mapping, mapping.indexes, problems)),
        constraints=dict(_translated(mapping, mapping.constraints, problems)),
        aggregates=dict(_translated(mapping, mapping.aggregates, problems)),
    )


def _translated(mapping: EntityMapping, declared: Any, problems: list[str]) -> Iterator[tuple[str, Any]]:
    for name, one in declared.items():
        if one.when is None:
            yield name, one
            continue
        try:
            yield name, replace(one, when=_when(mapping, one.when))
        except UsageError as problem:
            problems.append(f"when= of {one.when.owner}: {problem}")


def _when(mapping: EntityMapping, when: When) -> When:
    """Raises UsageError."""
    given: Any = when.given
    if not isinstance(given, condition.Condition):
        if not callable(given):
            raise UsageError(
                problem=f"{shown(given)} is neither a condition nor a function",
                remedy='write a condition, such as F.status == "open", or a function of the entity',
            )
        return when
    fields = frozenset(str(path[0]) for path in condition.paths_of(given))
    return When(when.owner, given, fields, resolve.resolve_condition(mapping, given, revision=False))

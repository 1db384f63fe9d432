"""Turns the ``Aggregate`` declarations of a class into mappings, and refuses totals that an increment cannot maintain.

Rule 1. A total is incremented in place, without being read. So it must be a number whose absence means 0, and nothing
        may be derived from it except an index key that is the total itself. Nor may any code of its class look at it,
        which could refuse the total or make another value of it.
Rule 2. Source and target may be declared in any order. Each checks the other when it is declared.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.draft import Draft
from dynaorm.entity.declare.registry import is_of, maintained_fields, replaces
from dynaorm.entity.mapping.aggregate import Aggregate, AggregateMapping
from dynaorm.entity.mapping.index_places import declared_when
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.marker import declarations_of, tree_of_field
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.failure import shown, suggestion

_NUMBERS: Final = ("int", "Decimal", "float")
_COMPARED: Final = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}


def aggregates(draft: Draft) -> Iterator[str]:
    """Compiles the totals over the class."""
    computed = draft.computed
    for name, declared in declarations_of(draft.entity, Aggregate):
        if problems := [f"{name}: {problem}" for problem in _problems(declared, draft)]:
            yield from problems
            continue
        key = {one: declared.key.get(one, one) for one in mapping_of(declared.target).key_fields}
        sources = (*key.values(), *declared.sums)
        named = draft.stored(one for one in sources if one not in computed or computed[one].is_told)
        draft.aggregates[name] = AggregateMapping(
            name,
            declared.target,
            key,
            declared.count,
            dict(declared.sums),
            draft.stored(sources),
            named,
            declared_when(f"{draft.entity.__name__}.{name}", declared.when, frozenset(draft.attributes)),
            declared.restrict,
        )


def _problems(declared: Aggregate, draft: Draft) -> Iterator[str]:
    target = _target(declared.target)
    if target is None:
        name = getattr(declared.target, "__name__", shown(declared.target))
        yield f"{name} is not mapped to a table; name an entity class that has table= and pk="
        return
    count: object = declared.count
    if count is not None and not isinstance(count, str):
        yield f'count={shown(count)} is not the name of a field; write count="field"'
        return
    restrict: object = declared.restrict
    if not isinstance(restrict, bool):
        yield f"restrict={shown(restrict)} is neither True nor False; give one of them"
    malformed = [one for one in ("key", "sums") if not _is_names(getattr(declared, one))]
    for one in malformed:
        keyword, value = one.removesuffix("s"), getattr(declared, one)
        yield f'{keyword}={shown(value)} is not a mapping of names; write {keyword}={{"field": "field"}}'
    if not malformed and (swapped := _swapped(declared, target, draft)):
        given = ", ".join(f"{total!r}: {own!r}" for own, total in swapped.items())
        wanted = ", ".join(f"{own!r}: {total!r}" for own, total in swapped.items())
        yield f"sum={{{given}}} has the field of {target.entity.__name__} first; write sum={{{wanted}}}"
    elif not malformed:
        yield from _total_problems(declared, target)
        yield from _sum_problems(declared, target, draft)
        yield from _key_problems(declared, target, draft)


def _target(given: Any) -> EntityMapping | None:
    try:
        return mapping_of(given) if isinstance(given, type) else None
    except (DeclarationError, UsageError):
        return None


def _is_names(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(one, str) for pair in given.items() for one in pair)


def _swapped(declared: Aggregate, target: EntityMapping, draft: Draft) -> dict[str, str]:
    """The sums the right way round, if they are the wrong way round."""
    wrong = {own: total for own, total in declared.sums.items() if not draft.has(own)}
    is_swapped = all(own in target.fields and draft.has(total) for own, total in wrong.items())
    return {total: own for own, total in wrong.items()} if is_swapped else {}


def _total_problems(declared: Aggregate, target: EntityMapping) -> Iterator[str]:
    totals = [*([declared.count] if declared.count is not None else []), *declared.sums.values()]
    if not totals:
        yield 'it declares neither a count nor a sum; write count="field" or sum={"field": "field"}'
    for name in dict.fromkeys(totals):
        if name not in target.fields:
            yield f"{target.entity.__name__} has no field {name!r}; {suggestion(name, target.fields)}"
        if totals.count(name) > 1:
            yield f"{target.entity.__name__}.{name} would hold two totals; give each a field of its own"


def _sum_problems(declared: Aggregate, target: EntityMapping, draft: Draft) -> Iterator[str]:
    for name, total in declared.sums.items():
        if not draft.has(name):
            yield f"{name!r} is not a field; {suggestion(name, (*draft.attributes, *draft.computed))}"
        elif not _is_number(scalar := draft.scalars.get(name)):
            yield f"{name} is not a number; sum an int, Decimal or float"
        elif scalar is not None and scalar.name != "int" and _type_of(target, total) == "int":
            yield f"{name} is a {scalar.name}, and {target.entity.__name__}.{total} an int; make that a Decimal"


def _is_number(scalar: Scalar | None) -> bool:
    return scalar is not None and scalar.tag == "N" and scalar.python is not timedelta


def _type_of(target: EntityMapping, name: str) -> str | None:
    """The name of a field's one type; None for an unknown field or a type without a text."""
    if name in target.computed:
        return target.computed[name].scalar.name
    info = target.entity.model_fields.get(name)
    scalar = scalar_of(tree_of_field(info)) if info is not None else None
    return scalar.name if scalar is not None else None


def _key_problems(declared: Aggregate, target: EntityMapping, draft: Draft) -> Iterator[str]:
    label = target.entity.__name__
    for name in declared.key:
        if name not in target.key_fields:
            yield (
                f"key=: {name!r} is not in the primary key of {label}, which is made of "
                f"{', '.join(target.key_fields)}; name these"
            )
    for name in target.key_fields:
        own = declared.key.get(name, name)
        if not draft.has(own):
            yield (
                f"{own!r} is not a field; {suggestion(own, (*draft.attributes, *draft.computed))}"
                if name in declared.key
                else f"{label} has {name} in its key, which is not a field here; write key={{{name!r}: ...}} with one"
            )
            continue
        theirs, ours = _type_of(target, name), draft.scalars.get(own)
        if ours is None or ours.name != theirs:
            yield (
                f"{own} is {ours.name if ours else 'of another type'}, and {label}.{name} is {theirs}; "
                f"give both one type"
            )


# -- rules between classes ---------------------------------------------------------------------------------------------


def aggregate_conflicts(mapping: EntityMapping) -> Iterator[str]:
    """Why the totals over a class cannot be maintained, or the totals in it over others; one sentence each."""
    for one in mapping.aggregates.values():
        target = mapping_of(one.target)
        for each in [
            target,
            *(other for other in catalog_of(target.table).mappings.values() if other is not target),
        ]:
            if is_of(each, target):
                yield from _target_problems(each, one, one.name)
                yield from _passed_on(each, one)
        yield from _taken(mapping, one, target)
        yield from _chained(mapping, one, _maintained_in(mapping))
    if mapping.aggregates and mapping.expires is not None:
        name = next(iter(mapping.aggregates))
        yield (
            f"{name}: DynamoDB deletes expired items without updating totals; drop ExpiresAt(), and delete "
            f"expired entities through a session"
        )
    for source in catalog_of(mapping.table).counted.values():
        for one in source.aggregates.values():
            if not replaces(mapping, source) and is_of(mapping, mapping_of(one.target)):
                yield from _target_problems(mapping, one, f"{source.entity.__name__}.{one.name}")


def _maintained_in(mapping: EntityMapping) -> dict[str, str]:
    own = (
        (name, f"{mapping.entity.__name__}.{aggregate.name}")
        for aggregate in mapping.aggregates.values()
        if is_of(mapping, mapping_of(aggregate.target))
        for name in aggregate.maintained
    )
    return {**dict(own), **maintained_fields(mapping)}


def _passed_on(target: EntityMapping, one: AggregateMapping) -> Iterator[str]:
    for other in target.aggregates.values():
        for name in sorted(other.named_fields.intersection(one.maintained)):
            yield (
                f"{one.name}: {target.entity.__name__}.{other.name} depends on {name}, and an increment of it "
                f"would not change the totals in {other.target.__name__}; sum a field that is not a total"
            )


def _chained(mapping: EntityMapping, one: AggregateMapping, totals: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(one.named_fields & totals.keys()):
        yield (
            f"{one.name}: {mapping.entity.__name__}.{name} is maintained by {totals[name]}, and an increment of it "
            f"would not change the totals in {one.target.__name__}; sum a field that is not a total"
        )


def _taken(mapping: EntityMapping, one: AggregateMapping, target: EntityMapping) -> Iterator[str]:
    """Fields in which another declaration, of this class or another, stores a total already."""
    others = {f"{mapping.entity.__name__}.{name}": other for name, other in mapping.aggregates.items()}
    for source in catalog_of(target.table).counted.values():
        if not replaces(mapping, source):
            others |= {
                f"{source.entity.__name__}.{name}": other
                for name, other in source.aggregates.items()
                if source.root is not mapping.root or name != one.name
            }
    for label, other in others.items():
        if other is one or not _is_one_family(mapping_of(other.target), target):
            continue
        for name in one.maintained:
            if name in other.maintained:
                yield (
                    f"{one.name}: {target.entity.__name__}.{name} is maintained by {label} already; "
                    f"give each a field of its own"
                )


def _is_one_family(one: EntityMapping, other: EntityMapping) -> bool:
    return is_of(one, other) or is_of(other, one)


def _target_problems(target: EntityMapping, one: AggregateMapping, label: str) -> Iterator[str]:
    name = target.entity.__name__
    if target.versioning is not None:
        yield (
            f"{label}: {name} keeps versions, and an increment would write none; "
            f"use a target class without versioned="
        )
    if target.expires is not None:
        yield f"{label}: {name} expires, and its totals would begin again at 0; use a target class that does not expire"
    for field in one.maintained:
        for problem in _field_problems(target, field):
            yield f"{label}: {name}.{field} {problem}"


def _field_problems(target: EntityMapping, name: str) -> Iterator[str]:
    field, info = target.fields[name], target.entity.model_fields[name]
    tree = tree_of_field(info)
    if _type_of(target, name) not in _NUMBERS or tree.accepts_none or not field.codec.tags:
        yield "is not a plain number; make it an int, Decimal or float"
    # False equals 0.
    elif isinstance(field.default, bool) or field.default != 0:
        yield "does not begin at 0; write = 0"
    elif (bounds := target.rules.fields[name].bounds) is None:
        yield "has rules that an increment cannot keep; give it no others than ge, gt, le and lt"
    elif not _allow_zero(bounds):
        yield "begins at 0, which its bounds do not allow; change them"
    if field.formerly:
        yield "may be stored under a former name, which an increment would ignore; drop formerly="
    if name in target.key_fields:
        yield "is part of the primary key, which never changes; keep the total in another field"
    yield from _looking_problems(target, name)
    yield from _derived_problems(target, name)
    yield from _stored_problems(target, name)


def _looking_problems(target: EntityMapping, name: str) -> Iterator[str]:
    looking = (target.dependence.dependents({name}) & target.fields.keys()) - {name}
    if target.rules.of_class:
        yield (
            "is shown to the rules of its class (a model validator, __init__ or model_post_init), which an increment "
            "would not ask; keep the total in a class without them"
        )
    elif looking:
        listed = ", ".join(field for field in target.fields if field in looking)
        yield (
            f"is shown to the validators or the default factory of {listed}, which an increment would not run; "
            f"declare {name} after {listed}"
        )


def _derived_problems(target: EntityMapping, name: str) -> Iterator[str]:
    for constraint in target.constraints.values():
        # A computed field that looks at a total fails, because it is computed without them.
        if name in constraint.fields:
            yield f"is part of the unique constraint {constraint.name!r}; keep the total in another field"
    whens = [
        *(one.when for one in target.constraints.values()),
        *(one.when for one in target.indexes.values()),
    ]
    for when in whens:
        if when is not None and name in when.named:
            yield (
                f"decides about {when.owner}, which an increment would not ask again; "
                f"let its when= look at other fields"
            )
    for index in target.indexes.values():
        if any(name in part.fields and part.synthetic for part in index.parts):
            key = next(part.attribute.name for part in index.parts if name in part.fields and part.synthetic)
            yield (
                f"is in the template of {key!r}, which an increment cannot render; "
                f"store it as the index's own NumberKey attribute: Attribute({key!r})"
            )


def _stored_problems(target: EntityMapping, name: str) -> Iterator[str]:
    for stored in target.stored.values():
        if name in stored.fields:
            yield (
                f"may be looked at by {stored.attribute_name}, which is Stored() and which an increment would not "
                f"compute; say what that looks at: Computed(of=...)"
            )


def _allow_zero(bounds: Mapping[str, Any]) -> bool:
    return all(_COMPARED[name](0, bound) for name, bound in bounds.items())

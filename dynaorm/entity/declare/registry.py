"""Registers the classes of a table: which of them there are, and what follows from all of them together.

A class statement that runs again (in a notebook cell or a test) replaces the class it declared before: two classes with
the same module, qualified name and entity name are one class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from dynaorm.entity.declare.catalog import (
    Catalog,
    ClassIdentity,
    catalog_of,
    class_called,
    keys_may_meet,
    names_of,
)
from dynaorm.entity.declare.draft import declared_options
from dynaorm.entity.expiry import WORDS, Expiry
from dynaorm.entity.internal_items import OWNER, TABLE, TOKEN_PREFIX
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import KeyAttribute, Table
from dynaorm.entity.text.scalar import Shape, may_meet, shape_of_text

N = TypeVar("N")


def register(mapping: EntityMapping) -> None:
    """Add a class without ``conflicts`` to its table. It replaces an earlier declaration of itself."""
    table, home, targets = mapping.table, mapping.table.guards, _targets(mapping)
    former = [one for one in catalog_of(table).mappings.values() if replaces(mapping, one)]
    # An earlier declaration leaves the tables, too, in which only that one kept totals.
    for one in dict.fromkeys((table, home, *_targets(*former), *targets)):
        known = catalog_of(one)
        _update(
            one,
            mappings=_joined(known.mappings, mapping, mapping.name) if one is table else known.mappings,
            guarded=_joined(known.guarded, mapping, identity(mapping.entity))
            if one is home
            else known.guarded,
            counted=_joined(known.counted, mapping, identity(mapping.entity) if one in targets else None),
        )


def _joined(
    known: Mapping[N, EntityMapping], mapping: EntityMapping, name: N | None
) -> dict[N, EntityMapping]:
    """The known classes without those that this one replaces, and with this one if a name is given."""
    others = {each: one for each, one in known.items() if not replaces(mapping, one)}
    return others if name is None else {**others, name: mapping}


def _targets(*sources: EntityMapping) -> list[Table]:
    """The tables that store the totals over some classes."""
    found = (mapping_of(one.target).table for source in sources for one in source.aggregates.values())
    return list(dict.fromkeys(found))


def _update(
    table: Table,
    mappings: Mapping[str, EntityMapping],
    guarded: Mapping[ClassIdentity, EntityMapping],
    counted: Mapping[ClassIdentity, EntityMapping],
) -> None:
    """Replace the catalog of a table, with everything that follows from its classes."""
    reserved = [(table.pk.name, re.compile(TOKEN_PREFIX), "a token item")]
    reserved += [
        (key.name, begins, f"a guard item of {claim.name!r}")
        for claim, _ in claims_of(guarded)
        for key, begins in _reserved_by(claim, table)
    ]
    for one in mappings.values():
        if one.versioning is not None and table.sk is not None:
            before, after = one.versioning.template.text.split("{version}")
            # Otherwise the keys of its versions begin with its own sort keys, and no beginning tells them.
            if "{sk}" not in before:
                begins = f"{re.escape(before)}[0-9]+{re.escape(after.split('{sk}')[0])}"
                reserved.append((table.sk.name, re.compile(begins), f"a version of {one.name}"))
    maintained = {name: fields for name, one in mappings.items() if (fields := _maintained(one, counted))}
    # As a whole: other threads read it without the lock.
    table.rules = Catalog(
        expiry=expiry_of([*mappings.values(), *guarded.values()]),
        reserved=tuple(dict.fromkeys(reserved)),
        maintained=maintained,
        types={name: mapping.name for mapping in mappings.values() for name in names_of(mapping)},
        is_counted=bool(maintained) or any(mapping.aggregates for mapping in mappings.values()),
        mappings=mappings,
        guarded=guarded,
        counted=counted,
    )


def _reserved_by(claim: Constraint, table: Table) -> list[tuple[KeyAttribute, re.Pattern[str]]]:
    """The key attributes in which a bare value could be that of a guard item, and how such values begin."""
    if not claim.parts:
        return [(key, re.compile(re.escape(f"{claim.name}#"))) for key in table.keys]
    template = claim.parts[0].template
    return [] if template is None else [(table.pk, template.pattern)]


def is_of(mapping: EntityMapping, target: EntityMapping) -> bool:
    """Whether ``mapping`` is the class ``target`` or derives from it; a redeclared class is the same class."""
    if mapping.table is not target.table:
        return False
    derives = mapping.root is target.root and issubclass(mapping.entity, target.entity)
    return derives or mapping.name == target.name


def maintained_fields(mapping: EntityMapping) -> dict[str, str]:
    """The fields of a class that hold totals, each with the ``Aggregate`` that maintains it."""
    return _maintained(mapping, catalog_of(mapping.table).counted)


def _maintained(mapping: EntityMapping, counted: Mapping[ClassIdentity, EntityMapping]) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in counted.values():
        for one in source.aggregates.values():
            if is_of(mapping, mapping_of(one.target)):
                keeper = f"{source.entity.__name__}.{one.name}"
                found |= {name: found.get(name, keeper) for name in one.maintained if name in mapping.fields}
    return found


def expiry_of(members: Iterable[EntityMapping]) -> Expiry | None:
    """How items expire of the first of some classes that expire; None if none does."""
    return next((member.expiry for member in members if member.expiry is not None), None)


def claims_of(guarded: Mapping[ClassIdentity, EntityMapping]) -> Iterator[tuple[Constraint, EntityMapping]]:
    """The unique constraints of these classes."""
    for mapping in guarded.values():
        for constraint in mapping.constraints.values():
            yield constraint, mapping


def replaces(mapping: EntityMapping, other: EntityMapping) -> bool:
    """Whether ``other`` is an earlier declaration of this class, or derives from an earlier declaration of its root."""
    if identity(mapping.entity) == identity(other.entity):
        return True
    return other.root is not mapping.root and identity(other.root) == identity(mapping.root)


def identity(entity: type) -> ClassIdentity:
    return entity.__module__, entity.__qualname__, declared_options(entity).name


# Why a class cannot join its table: its keys, its guard items, its name or its expiry could be those of another
# class.
#
# Two classes may share a table only if no key of one can be a key of the other, including the keys of versions and
# guard items. Classes of one family (a mapped class and its subclasses) share their keys and differ in their type
# attribute.


def conflicts(mapping: EntityMapping) -> Iterator[str]:
    """Why a class cannot join its table, one sentence each."""
    table = mapping.table
    yield from _name_conflicts(mapping)
    yield from _open_conflicts(mapping)
    for other in _strangers(mapping, table):
        if (why := _indistinct(mapping, other)) and keys_may_meet(mapping, other):
            yield (
                f"its keys ({_texts(mapping)}) could meet those of {other.entity.__name__} ({_texts(other)}) in "
                f"{table}; begin one of them with a literal of its own, or {why}"
            )
    yield from _guard_conflicts(mapping)
    yield from _guard_table_conflicts(mapping)
    if mapping.expiry is not None:
        yield from _expiry_conflicts(mapping, mapping.expiry)


def _name_conflicts(mapping: EntityMapping) -> Iterator[str]:
    table = mapping.table
    if mapping.formerly and table.type_attribute is None:
        yield f"formerly= renames what the type attribute says, and {table} has none; drop it"
    for name in dict.fromkeys((mapping.name, *names_of(mapping))):
        named = class_called(table, name)
        if named is not None and not replaces(mapping, named):
            remedy = (
                "give this class another with name=" if name == mapping.name else "drop it from formerly="
            )
            if name in mapping.type_names.names and mapping.type_names.field:
                remedy = f"drop it from the values of {mapping.type_names.field}"
            yield (
                f"the name {name!r} is already that of {named.entity.__module__}."
                f"{named.entity.__qualname__} in {table}; {remedy}"
            )


def _open_conflicts(mapping: EntityMapping) -> Iterator[str]:
    """Why a class cannot take the types that nobody declared: another class does, and both may mean one item."""
    if not mapping.type_names.accepts_unknown:
        return
    for other in catalog_of(mapping.table).mappings.values():
        is_rival = other.type_names.accepts_unknown and not replaces(mapping, other)
        if is_rival and (other.root is mapping.root or keys_may_meet(mapping, other)):
            yield (
                f"it takes every type that nobody declared, and so does {other.entity.__name__}, whose keys could meet "
                f'its own; give one of them name="..."'
            )


def _indistinct(mapping: EntityMapping, other: EntityMapping) -> str:
    """What would tell two classes apart whose keys could meet; empty if the type attribute does."""
    if mapping.table.type_attribute is None:
        return (
            "give the table a type attribute, which tells classes apart, also those that derive from a common base "
            "class with the table and the keys"
        )
    if mapping.versioning is not None or other.versioning is not None:
        return (
            "derive both from a common base class with the table and the keys, because versions have no type"
        )
    return ""


def _guard_conflicts(mapping: EntityMapping) -> Iterator[str]:
    home = mapping.table.guards
    own = list(mapping.constraints.values())
    known = [one for one in claims_of(catalog_of(home).guarded) if not replaces(mapping, one[1])]
    for number, constraint in enumerate(own):
        for claim, other in (*((one, mapping) for one in own[:number]), *known):
            if _are_alike(claim, constraint) and not _is_one(constraint, mapping, claim, other):
                yield _two_claims(constraint, claim, other, home)
        # A guard must not meet an entity of the class itself either.
        for tenant in [*_strangers(mapping, home), *([mapping] if home is mapping.table else [])]:
            if _guard_may_meet(constraint, tenant):
                yield (
                    f"guard items of {constraint.name!r} ({_guard_text(constraint)}) could meet the keys of "
                    f"{tenant.entity.__name__} ({_texts(tenant)}); rename the constraint or the key's literal"
                )
    others = {
        claim.name: claim
        for claim, other in claims_of(catalog_of(mapping.table).guarded)
        if _is_stranger(mapping, other)
    }
    for name, claim in others.items():
        if name not in mapping.constraints and _guard_may_meet(claim, mapping):
            yield (
                f"its keys ({_texts(mapping)}) could meet guard items of {name!r} ({_guard_text(claim)}) in "
                f"{mapping.table}; begin them with another literal"
            )


def _is_one(constraint: Constraint, mapping: EntityMapping, claim: Constraint, other: EntityMapping) -> bool:
    """Whether two declarations are one constraint: a guard item tells neither class nor field, only the constraint."""
    if constraint.name != claim.name:
        return False
    return other.root is mapping.root or (claim.shared and constraint.shared)


def _two_claims(constraint: Constraint, claim: Constraint, other: EntityMapping, home: Table) -> str:
    of, name = f"of {other.entity.__name__} in {home}", constraint.name
    if name == claim.name:
        return (
            f"the unique constraint {name!r} is already that {of}; "
            "give it another name, or say shared=True in both classes"
        )
    return (
        f"guard items of {name!r} ({_guard_text(constraint)}) could be those of {claim.name!r} {of} "
        f"({_guard_text(claim)}); begin their keys with different literals"
    )


def _guard_table_conflicts(mapping: EntityMapping) -> Iterator[str]:
    """Why the guard items of a class cannot be stored in their table, one sentence each."""
    if not mapping.constraints:
        return
    home = mapping.table.guards
    names = ", ".join(map(repr, mapping.constraints))
    for key in home.keys:
        if key.kind != "S":
            yield (
                f"guard items of {names} need string keys, and {key.name!r} of {home} is not one; "
                f"give the table guard_table=, a table with string keys"
            )
    if OWNER in home.kinds:
        yield (
            f"guard items of {names} store their owner's key in {OWNER!r}, which is a key attribute of {home}; "
            f"give the table guard_table=, another table"
        )
    if mapping.table.guard_table is not None and TABLE in {key.name for key in mapping.table.keys}:
        yield f"a key attribute is called {TABLE!r}, which the {OWNER!r} of a guard in another table needs; rename it"


def _expiry_conflicts(mapping: EntityMapping, own: Expiry) -> Iterator[str]:
    for home in mapping.table.homes:
        taken = expiry_of(
            one
            for one in (*catalog_of(home).mappings.values(), *catalog_of(home).guarded.values())
            if not replaces(mapping, one)
        )
        if taken is None:
            continue
        if taken.attribute != own.attribute:
            yield (
                f"{home} already expires items by {taken.attribute!r} and a table has one TTL attribute; "
                f"store this field as Attribute({taken.attribute!r})"
            )
        if taken.unit != own.unit:
            yield (
                f"{home} already expires items by {WORDS[taken.unit]}, and its guard items have one unit; "
                f"declare the field ExpiresAt(unit={taken.unit!r}), or the class in a table of its own"
            )


def _are_alike(one: Constraint, other: Constraint) -> bool:
    """Whether the guard items of two constraints could have one key."""
    if not one.parts and not other.parts:
        return one.name == other.name
    sides = zip(_guard_shapes(one, 2), _guard_shapes(other, 2), strict=False)
    return all(may_meet(*shapes) for shapes in sides)


def _guard_shapes(constraint: Constraint, count: int) -> tuple[Shape, ...]:
    own = tuple(part.shape for part in constraint.parts)
    return own or (shape_of_text(f"{constraint.name}#"),) * count


def _guard_text(constraint: Constraint) -> str:
    return ", ".join(part.text for part in constraint.parts) or f"{constraint.name}#..."


def _guard_may_meet(constraint: Constraint, mapping: EntityMapping) -> bool:
    parts = mapping.primary_parts
    if any(part.attribute.kind != "S" for part in parts):
        return False
    # A class with a bare key is allowed: each value that looks like a guard's key is refused when it is saved.
    # {field:raw} opts out of that check.
    if any(
        part.is_single_field or part.text in {f"{{{field}:raw}}" for field in part.fields} for part in parts
    ):
        return False
    shapes = _guard_shapes(constraint, len(parts))
    return all(may_meet(part.shape, shape) for part, shape in zip(parts, shapes, strict=False))


def _texts(mapping: EntityMapping) -> str:
    return ", ".join(part.text for part in mapping.primary_parts)


def _strangers(mapping: EntityMapping, table: Table) -> list[EntityMapping]:
    return [one for one in catalog_of(table).mappings.values() if _is_stranger(mapping, one)]


def _is_stranger(mapping: EntityMapping, other: EntityMapping) -> bool:
    """Whether another class is of another family, and not replaced by this one."""
    return other.root is not mapping.root and not replaces(mapping, other)

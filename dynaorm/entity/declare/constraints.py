"""Compiles the unique constraints of a class: those of its markers, and those of the keyword ``unique=``."""

from __future__ import annotations

from collections.abc import Iterator

from dynaorm.entity.declare.draft import Draft
from dynaorm.entity.key_part import PARTITION_KEY_LIMIT, SORT_KEY_LIMIT, KeyPart
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.index_places import declared_when
from dynaorm.entity.mapping.secret import secrets_among
from dynaorm.entity.marker import Unique
from dynaorm.entity.table import KeyAttribute
from dynaorm.failure import suggestion


def constraints(draft: Draft) -> Iterator[str]:
    """Compiles the unique constraints of the class."""
    for owner, mark in {**draft.marks, **draft.computed_marks}.items():
        for unique in mark.find(Unique):
            yield from _constraint(draft, unique, owner)
    # The last member is the value, the others are its scope: the guard's key has them in this order.
    for name, members in draft.options.unique.items():
        yield from _constraint(draft, Unique(name, scope=members[:-1]), members[-1])


def _constraint(draft: Draft, unique: Unique, owner: str) -> Iterator[str]:
    name = unique.name or draft.attributes.get(owner, owner)
    if name in draft.constraints:
        yield f'two unique constraints are called {name!r}; name one of them with Unique("name")'
    before = len(draft.problems)
    parts = _parts(draft, unique, name, owner)
    # The fields of the value, that of the marker last.
    others = dict.fromkeys(field for part in parts for field in part.fields if field != owner)
    members = (*unique.scope, *others, owner)
    draft.problems += _member_problems(draft, name, members)
    if len(draft.problems) > before:
        return
    owned = f"the unique constraint {name!r}"
    draft.constraints[name] = Constraint(
        name=name,
        fields=members,
        stored=draft.stored(members),
        scalars=tuple(draft.scalars[member] for member in members),
        normalize=unique.normalize,
        when=declared_when(owned, unique.when, frozenset(draft.attributes)),
        shared=unique.shared,
        secret=secrets_among(draft.entity, members),
        parts=parts,
    )


def _parts(draft: Draft, unique: Unique, name: str, owner: str) -> tuple[KeyPart, ...]:
    """The guard's own partition and sort key; empty for none."""
    home, problems = draft.table.guards, draft.problems
    if unique.pk is None and unique.sk is None:
        return ()
    where, before = f"unique constraint {name!r}", len(problems)
    if unique.scope:
        problems.append(f"{where}: its templates say which fields are unique together; drop scope=")
    found = (
        _part(draft, f"{where}: pk", unique.pk, home.pk, limit=PARTITION_KEY_LIMIT),
        _part(draft, f"{where}: sk", unique.sk, home.sk, limit=SORT_KEY_LIMIT),
    )
    parts = tuple(part for part in found if part is not None)
    if len(problems) == before and not any(owner in part.fields for part in parts):
        problems.append(f"{where}: neither template has {{{owner}}}; write it into one")
    return parts


def _part(
    draft: Draft, where: str, text: str | None, attribute: KeyAttribute | None, *, limit: int
) -> KeyPart | None:
    home = draft.table.guards
    if attribute is None:
        if text is not None:
            draft.problems.append(f"{where}={text!r}, but {home} has no sort key; drop it")
        return None
    if text is None:
        draft.problems.append(f"{where} is missing; give the template for {attribute.name!r} of {home}")
        return None
    if attribute.kind != "S":
        return None  # a guard table without string keys is refused with its class
    template = draft.template(where, text, attribute, sort=False, home=home)
    return None if template is None else KeyPart(attribute, template, limit)


def _member_problems(draft: Draft, name: str, members: tuple[str, ...]) -> Iterator[str]:
    if "#" in name or not name:
        yield (
            f"unique constraint {name!r}: its name must not be empty or contain '#', which ends it in the keys of "
            f'guard items; write Unique("name"), or another key of unique='
        )
    if len(set(members)) != len(members):
        yield f"unique constraint {name!r}: it names a field twice; name each once"
    known = {**draft.computed_marks, **draft.computed, **draft.attributes}
    for member in members:
        if member not in known:
            yield f"unique constraint {name!r}: {member!r} is not a field; {suggestion(member, known)}"
        elif member not in draft.scalars:
            yield (
                f"unique constraint {name!r}: {member} has no text form to compare; "
                f"use a str, number, date, UUID or Enum"
            )

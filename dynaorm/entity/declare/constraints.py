"""Compiles the unique constraints of a class: those of its markers, and those of the keyword ``unique=``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from dynaorm.entity.declare.computed import computed_marks
from dynaorm.entity.declare.keys import KeyBuilder
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.secret import secrets_among
from dynaorm.entity.mapping.when import declared_when
from dynaorm.entity.marker import AnnotatedField, Unique
from dynaorm.entity.table import KeyAttribute
from dynaorm.entity.template import (
    PARTITION_KEY_LIMIT,
    SORT_KEY_LIMIT,
    KeyPart,
    TemplateError,
    compile_template,
)
from dynaorm.failure import suggestion
from dynaorm.record import record


def constraints_of(
    entity: type[BaseModel], options: ClassOptions, marks: Mapping[str, AnnotatedField], keys: KeyBuilder
) -> dict[str, Constraint]:
    """The unique constraints of a class that could be compiled, by name. Problems are added to ``keys.problems``."""
    found: dict[str, Constraint] = {}
    for owner, mark in {**marks, **computed_marks(entity)}.items():
        for unique in mark.find(Unique):
            _Declared(entity, keys, unique, owner).compile(found)
    # The last member is the value, the others are its scope: the guard's key has them in this order.
    for name, members in options.unique.items():
        _Declared(entity, keys, Unique(name, scope=members[:-1]), members[-1]).compile(found)
    return found


@record
class _Declared:
    """One constraint as declared: its marker, and the field that has it."""

    entity: type[BaseModel]
    keys: KeyBuilder
    unique: Unique
    owner: str

    @property
    def name(self) -> str:
        return self.unique.name or self.keys.attributes.get(self.owner, self.owner)

    def compile(self, found: dict[str, Constraint]) -> None:
        problems = self.keys.problems
        if self.name in found:
            problems.append(
                f'two unique constraints are called {self.name!r}; name one of them with Unique("name")'
            )
        before = len(problems)
        parts = self._parts()
        members = self._members(parts)
        problems += self._problems(members)
        if len(problems) > before:
            return
        found[self.name] = Constraint(
            name=self.name,
            fields=members,
            stored=self.keys.stored(members),
            scalars=tuple(self.keys.scalars[member] for member in members),
            normalize=self.unique.normalize,
            when=declared_when(
                f"the unique constraint {self.name!r}", self.unique.when, frozenset(self.keys.attributes)
            ),
            shared=self.unique.shared,
            secret=secrets_among(self.entity, members),
            parts=parts,
        )

    def _members(self, parts: tuple[KeyPart, ...]) -> tuple[str, ...]:
        """The fields of the value, that of the marker last."""
        others = dict.fromkeys(name for part in parts for name in part.fields if name != self.owner)
        return (*self.unique.scope, *others, self.owner)

    def _parts(self) -> tuple[KeyPart, ...]:
        """The guard's own partition and sort key; empty for none."""
        unique, home = self.unique, self.keys.table.guards
        if unique.pk is None and unique.sk is None:
            return ()
        where, problems = f"unique constraint {self.name!r}", self.keys.problems
        before = len(problems)
        if unique.scope:
            problems.append(f"{where}: its templates say which fields are unique together; drop scope=")
        sides = [("pk", unique.pk, home.pk, PARTITION_KEY_LIMIT), ("sk", unique.sk, home.sk, SORT_KEY_LIMIT)]
        found = [
            self._part(f"{where}: {side}", text, attribute, limit) for side, text, attribute, limit in sides
        ]
        parts = tuple(part for part in found if part is not None)
        if len(problems) == before and not any(self.owner in part.fields for part in parts):
            problems.append(f"{where}: neither template has {{{self.owner}}}; write it into one")
        return parts

    def _part(
        self,
        where: str,
        text: str | None,
        attribute: KeyAttribute | None,
        limit: int,
    ) -> KeyPart | None:
        home, keys = self.keys.table.guards, self.keys
        if attribute is None:
            if text is not None:
                keys.problems.append(f"{where}={text!r}, but {home} has no sort key; drop it")
            return None
        if text is None:
            keys.problems.append(f"{where} is missing; give the template for {attribute.name!r} of {home}")
            return None
        if attribute.kind != "S":
            return None  # a guard table without string keys is refused with its class
        try:
            template = compile_template(
                text,
                {**keys.scalars, **keys.texts},
                kind="S",
                sort=False,
                known=keys.attributes.keys(),
                escape=home.escape,
            )
        except TemplateError as error:
            keys.problems += [f"{where}={text!r}: {problem}" for problem in error.problems]
            return None
        return KeyPart(attribute, template, limit)

    def _problems(self, members: tuple[str, ...]) -> Iterator[str]:
        name, keys = self.name, self.keys
        if "#" in name or not name:
            yield (
                f"unique constraint {name!r}: its name must not be empty or contain '#', which ends it in the keys of "
                f'guard items; write Unique("name"), or another key of unique='
            )
        if len(set(members)) != len(members):
            yield f"unique constraint {name!r}: it names a field twice; name each once"
        known = {**self.entity.model_computed_fields, **keys.computed, **keys.attributes}
        for member in members:
            if member not in known:
                yield f"unique constraint {name!r}: {member!r} is not a field; {suggestion(member, known)}"
            elif member not in keys.scalars:
                yield (
                    f"unique constraint {name!r}: {member} has no text form to compare; "
                    f"use a str, number, date, UUID or Enum"
                )

"""What a caller asked for, before anything is known of what is stored."""

from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.key import Key
from dynaorm.item.condition import Condition
from dynaorm.item.update import Change


class Save(NamedTuple):
    """Insert a new entity, write what changed of a loaded one, or replace whatever is stored."""

    entity: Any
    condition: Condition | None = None
    overwrite: bool = False


class Edit(NamedTuple):
    """Change some fields of the entity under a key; ``changes`` are in field names and Python values."""

    target: Key[Any] | Any
    changes: tuple[Change, ...]
    condition: Condition | None = None


class Remove(NamedTuple):
    """Delete a loaded entity, or the one under a key."""

    target: Key[Any] | Any
    condition: Condition | None = None


class Move(NamedTuple):
    """Store a loaded entity under the primary key its fields now render, and nothing under the old one."""

    entity: Any


class Check(NamedTuple):
    """Let everything fail unless a condition holds; without one, unless the entity is unchanged since loaded."""

    target: Key[Any] | Any
    condition: Condition | None = None


Intent: TypeAlias = Save | Edit | Remove | Move | Check

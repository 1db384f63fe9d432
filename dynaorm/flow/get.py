"""Getting one entity by its key, as it is or as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dynaorm.argument import check_flag
from dynaorm.entity.key import Key
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.read import load
from dynaorm.flow.target import OPTIONS, Target, key_and_options, target_of
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.flow import history
else:
    late(globals(), history="dynaorm.flow.history")


def get(
    named: Any,
    keywords: Mapping[str, Any],
    context: Context,
    unnamed: tuple[Any, ...] = (),
    *,
    required: bool = False,
) -> Flow[Any | None]:
    """The entity under a key, now or at a version or time; None if there is none, and it is not required."""
    key, options = key_and_options(named, keywords, unnamed)
    target = target_of(key)
    asked = key if required else None
    if options:
        return (yield from _get_with(target, options, context, asked))
    return (
        yield from load(target.mapping, target.key, context, consistent=context.consistent, required=asked)
    )


def _get_with(
    target: Target, options: Mapping[str, Any], context: Context, required: Key[Any] | None
) -> Flow[Any | None]:
    if unknown := [name for name in options if name not in OPTIONS]:
        raise UsageError(
            problem=f"get(Key(...)) has no option {unknown[0]!r}",
            remedy=f"use {', '.join(OPTIONS)}; fields go into the Key",
        )
    number, at, consistent = (options.get(name) for name in OPTIONS)
    consistent = context.consistent if consistent is None else consistent
    check_flag("consistent={}", consistent)
    if number is not None or at is not None:
        return (yield from history.entity_at(target, number, at, context))
    return (yield from load(target.mapping, target.key, context, consistent=consistent, required=required))


def get_one(
    named: Any, keywords: Mapping[str, Any], context: Context, unnamed: tuple[Any, ...] = ()
) -> Flow[Any]:
    """The entity under a key, as ``get`` does. Raises EntityNotFound if there is none."""
    found = yield from get(named, keywords, context, unnamed, required=True)
    if found is None:
        key, options = key_and_options(named, keywords)
        raise history.not_there(key, options) if options else EntityNotFound(key=key)
    return found

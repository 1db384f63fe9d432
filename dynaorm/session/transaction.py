"""A unit of work: what a ``transaction()`` block collects, to be sent as one request when the block ends."""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.flow.target import target_of
from dynaorm.item.condition import Condition, resolve
from dynaorm.item.update import Change
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save

E = TypeVar("E")

# The sessions with an open block, per thread and task. Innermost last.
_OPEN: ContextVar[tuple[object, ...]] = ContextVar("dynaorm_open_transactions", default=())


class Transaction:
    """Collects writes of one block; nothing is sent before its end, nothing at all if the block raises.

    Every method only builds. Values are taken once, when the block ends: what an entity holds then is what is saved.
    Each item ends up in one action whatever the order of the calls.
    """

    def __init__(self) -> None:
        self._intents: list[Intent] = []
        self.hooks: list[Callable[[], object]] = []
        self._ended = False

    def save(self, entity: E, /, *, condition: Condition | None = None, overwrite: bool = False) -> E:
        """Insert a new entity, or write what changed of a loaded one; ``overwrite`` replaces whatever is stored."""
        return self._add(Save(entity, _checked(entity, condition), overwrite), entity)

    def update(
        self,
        target: Key[Any] | Any,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
    ) -> None:
        """Change some fields of the entity under a key, or of a loaded one."""
        edit: Edit = edit_of(target, changes, _checked(target, condition))
        self._add(edit, None)

    def delete(self, target: Key[Any] | Any, /, *, condition: Condition | None = None) -> None:
        """Delete a loaded entity, or the one under a key."""
        self._add(Deletion(target, _checked(target, condition)), None)

    def move(self, entity: E, /) -> E:
        """Store a loaded entity under the primary key its fields now give."""
        mapping_of(type(entity))
        return self._add(Move(entity), entity)

    def check(self, target: Key[Any] | Any, condition: Condition | None = None, /) -> None:
        """Refuse the whole block unless a condition holds; without one, unless the entity is unchanged since loaded.

        For a ``Key`` without a condition: unless something is stored there.
        """
        self._add(Check(target, _checked(target, condition)), None)

    def on_commit(self, hook: Callable[[], object], /) -> None:
        """Call something once the block is committed. What it raises reaches the caller, and undoes nothing."""
        self._refuse_ended()
        self.hooks.append(hook)

    def _add(self, intent: Intent, result: E) -> E:
        self._refuse_ended()
        self._intents.append(intent)
        return result

    def _refuse_ended(self) -> None:
        if self._ended:
            raise UsageError(
                problem="this transaction's block has ended", remedy="open another with session.transaction()"
            )

    def end(self) -> list[Intent]:
        """Close the block: what it collected."""
        self._ended = True
        return self._intents


def _checked(target: Any, condition: Condition | None) -> Condition | None:
    """The condition, after making sure on the call that its fields and values exist in the class."""
    mapping = target_of(target).mapping if isinstance(target, Key) else mapping_of(type(target))
    if condition is not None:
        if not isinstance(condition, Condition):
            raise UsageError(
                problem=f"condition={condition!r} is no condition",
                remedy='write F.status == "open" and its like',
            )
        resolve(condition, FieldResolver(mapping))
    return condition


def checked_condition(target: Any, condition: Condition | None) -> Condition | None:
    """The same for a session's own methods, which look the class up themselves."""
    return None if condition is None else _checked(target, condition)


def opened(session: object) -> Any:
    """Note that a session has an open block; the token closes it again."""
    refuse_inside(session, "transaction")
    return _OPEN.set((*_OPEN.get(), session))


def closed(token: Any) -> None:
    _OPEN.reset(token)


def refuse_inside(session: object, verb: str) -> None:
    """Raises UsageError where a session writes inside its own open block: the write would not be part of it."""
    if any(one is session for one in _OPEN.get()):
        raise UsageError(
            problem=f"session.{verb}() inside this session's open transaction() block would not be part of it",
            remedy=_remedy_inside(verb),
        )


def _remedy_inside(verb: str) -> str:
    if verb == "transaction":
        return "use the open block's tx"
    if hasattr(Transaction, verb):
        return f"write tx.{verb}(...) on the block's tx"
    return "call it before or after the block"


def run_hooks(hooks: Iterable[Callable[[], object]]) -> None:
    """Call every hook; the first failure is raised after all had their turn."""
    failures: list[Exception] = []
    for hook in hooks:
        try:
            hook()
        except Exception as failure:  # noqa: BLE001 - the commit has happened, and the others still have to run
            failures.append(failure)
    if failures:
        raise failures[0]

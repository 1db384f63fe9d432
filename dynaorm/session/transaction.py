"""``Transaction``: collects the writes of a ``transaction()`` block, which are sent as one request at its end."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Never, TypeAlias, TypeVar, overload
from weakref import ref

from dynaorm.argument import check_count, check_flag, check_function, check_plain_function
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import (
    ConditionFailed,
    ConstraintViolation,
    Contention,
    EntityNotFound,
    StaleEntity,
    StoreError,
    UsageError,
)
from dynaorm.failure import shown
from dynaorm.flow.call import Context, Flow, Pause
from dynaorm.flow.entity import edit_of, touch_of, upsert_of
from dynaorm.flow.read import key_or_object, target_of
from dynaorm.item.condition import Condition
from dynaorm.item.resolve import resolve
from dynaorm.item.update import Change
from dynaorm.plan.intent import Check, Deletion, Intent, Move, Save, check_token, target_of_intent
from dynaorm.record import replace
from dynaorm.session.chain import no_condition

if TYPE_CHECKING:
    from pydantic import BaseModel

E = TypeVar("E", bound="BaseModel")
T = TypeVar("T")


class OpenBlock:
    """A block of a session, until it ends. A task or context that begins inside the block sees this object."""

    __slots__ = ("__weakref__", "session")

    def __init__(self, session: object) -> None:
        self.session: object | None = session


# The blocks of each thread and task. Those that began outside may have ended since. The references are weak, because
# Ctrl-C may come before a block can say that it has ended: it ends with its ``with`` statement at the latest.
_OPEN: ContextVar[tuple[ref[OpenBlock], ...]] = ContextVar("dynaorm_open_transactions", default=())


class Transaction:
    """Collects the writes of one block. Nothing is sent before the block ends, and nothing at all if it raises.

    ``session.transaction`` and ``session.run`` make one. An entity is saved with the values it has when the block ends.
    The order of the calls does not matter: all changes of one item become one action. The errors of the writes are
    raised at the end of the block.

    Args:
        token: that of ``Session.transaction``.
        remember: that of ``Session.transaction``.

    Examples:
        >>> with session.transaction() as tx:
        ...     liz = tx.save(User(user_id="2", email="bob@x.com"))
        ...     tx.delete(Key(Ticket, project="p1", number=2))
    """

    def __init__(self, token: str | None = None, remember: timedelta | None = None) -> None:
        check_token(token, remember)
        self.token, self.remember = token, remember
        self._intents: list[Intent] = []
        self.hooks: list[Callable[[], object]] = []
        self._ended = self._is_sent = False

    def save(
        self,
        entity: E,
        /,
        *,
        condition: Condition | None = None,
        overwrite: bool = False,
        replacing: Condition | None = None,
    ) -> E:
        """Insert a new entity, or write the changed fields of a loaded one.

        Args:
            condition: what must hold for the stored entity, or for the new one.
            overwrite: replace any entity of the class that is stored under the key.
            replacing: as ``overwrite``, if this condition holds for the stored entity, or if it has expired.

        Raises:
            UsageError: the class is not mapped to a table, or the block has ended.

        Examples:
            >>> with session.transaction() as tx:
            ...     bob = tx.save(User(user_id="2", email="bob@x.com"))
        """
        return self._add(save_of(entity, condition, replacing, overwrite=overwrite), entity)

    def update(
        self,
        target: Key[Any] | Any,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        **_fields: Never,
    ) -> None:
        """Change some fields of a loaded entity, or of the entity with a key.

        Args:
            target: a loaded entity, or a ``Key``.
            *changes: as for ``session.update``.
            condition: what must hold for the stored entity.

        Raises:
            UsageError: the target is no entity and no key, or the block has ended.
            UnknownField: a change names a field that the class does not have.

        Examples:
            >>> with session.transaction() as tx:
            ...     tx.update(Key(User, user_id="1"), F.visits.add(1))
        """
        key_or_object("update", target, _fields)
        self._add(edit_of(target, changes, checked_condition(target, condition)), None)

    def upsert(
        self,
        target: Key[Any],
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        **_fields: Never,
    ) -> None:
        """Change the entity with a key; if there is none, create it from the key, its defaults and the changes.

        Args:
            target: the ``Key``.
            *changes: as for ``session.update``.
            condition: as for ``session.upsert``.

        Raises:
            UsageError: the target is no key, or the block has ended.
            UnknownField: a change names a field that the class does not have.

        Examples:
            >>> with session.transaction() as tx:
            ...     tx.upsert(Key(Ticket, project="p1", number=3), F.status.set("new"))
        """
        key_or_object("upsert", target, _fields)
        self._add(upsert_of(target, changes, checked_condition(target, condition)), None)

    @overload
    def delete(self, target: type[Any], /, *, condition: Condition | None = None, **fields: Any) -> None: ...
    @overload
    def delete(self, target: Key[Any] | Any, /, *, condition: Condition | None = None) -> None: ...
    def delete(self, target: Any, /, *, condition: Condition | None = None, **fields: Any) -> None:
        """Delete a loaded entity, or the entity with a key.

        Args:
            target: a loaded entity, a ``Key``, or the class.
            **fields: the fields of the key, beside a class. One with the name of an option needs a ``Key``.
            condition: what must hold for the stored entity.

        Raises:
            UsageError: the target is no entity and no key, or the block has ended.

        Examples:
            >>> with session.transaction() as tx:
            ...     tx.delete(Key(Ticket, project="p1", number=2))
        """
        named = key_or_object("delete", target, fields, by_fields=True)
        self._add(Deletion(named, checked_condition(named, condition)), None)

    def touch(self, entity: Any, /) -> None:
        """Write a new revision of a loaded entity, and nothing else, if it is unchanged since it was loaded.

        Args:
            entity: the loaded entity.

        Raises:
            UsageError: its class has neither a revision nor ``UpdatedAt``, or the block has ended.

        Examples:
            >>> liz = session.get_one(User, user_id="1")
            >>> with session.transaction() as tx:
            ...     tx.touch(liz)
            ...     tx.save(Ticket(project="p9", number=1))
        """
        self._add(touch_of(entity), None)

    def move(self, entity: E, /) -> E:
        """Store a loaded entity under the primary key that its fields now give.

        Raises:
            UsageError: the class is not mapped to a table, or the block has ended.

        Examples:
            >>> ticket = session.get_one(Ticket, project="p1", number=1)
            >>> ticket.number = 9
            >>> with session.transaction() as tx:
            ...     moved = tx.move(ticket)
        """
        return self._add(Move(entity), entity)

    def check(self, target: Key[Any] | Any, condition: Condition | None = None, /) -> None:
        """Refuse the whole block unless a condition holds.

        Without a condition, a loaded entity must be unchanged since it was loaded, and an entity with the given key
        must exist. The commit raises ``StaleEntity``, ``EntityNotFound`` or ``ConditionFailed``.

        Args:
            target: a loaded entity, or a ``Key``.
            condition: what must hold for the stored entity.

        Raises:
            UsageError: the target is no entity and no key, or the block has ended.

        Examples:
            >>> with session.transaction() as tx:
            ...     tx.check(Key(User, user_id="1"), F.visits < 10)
            ...     tx.delete(Key(Ticket, project="p1", number=2))
        """
        self._add(Check(target, checked_condition(target, condition)), None)

    def on_commit(self, hook: Callable[[], object], /) -> None:
        """Call a function after the block is committed. Its errors reach you, but do not undo the commit.

        It is called without await. In an asynchronous service, give one that starts a task or fills a queue.

        Args:
            hook: the function. It takes no argument.

        Raises:
            UsageError: it is no function, or an asynchronous one, or the block has ended.

        Examples:
            >>> sent = []
            >>> with session.transaction() as tx:
            ...     tx.delete(Key(Ticket, project="p1", number=2))
            ...     tx.on_commit(lambda: sent.append("a mail"))
            >>> sent
            ['a mail']
        """
        check_plain_function("on_commit({})", hook, takes=0)
        self._refuse_ended()
        self.hooks.append(hook)

    def _add(self, intent: Intent, result: T) -> T:
        _mapping_of_target(target_of_intent(intent))  # raises UsageError at once for what is no entity
        self._refuse_ended()
        self._intents.append(intent)
        return result

    def _refuse_ended(self) -> None:
        if self._ended:
            raise UsageError(
                problem="this transaction's block has ended", remedy="open another with session.transaction()"
            )


def close_block(tx: Transaction) -> list[Intent]:
    """The intents that a block collected. What is raised from now on is the verdict on them."""
    tx._is_sent = True
    return tx._intents


_REPEATABLE: Final = (ConditionFailed, ConstraintViolation, EntityNotFound)

Work: TypeAlias = Callable[[Transaction], T]
"""A function that ``run`` calls in a transaction."""

AsyncWork: TypeAlias = Callable[[Transaction], Awaitable[T]]
"""An asynchronous function that ``run`` calls in a transaction."""


def check_run(work: object, attempts: object) -> None:
    """Raises UsageError for arguments with which ``run`` would call nothing."""
    check_plain_function("run({})", work, takes=1)
    check_count("run(attempts={})", attempts)


def check_async_run(work: object, attempts: object) -> None:
    """The same for ``AsyncSession.run``, which awaits what ``work`` returns."""
    check_function("run({})", work, takes=1)
    check_count("run(attempts={})", attempts)


def pauses_of(context: Context, attempts: int) -> Iterator[float]:
    """The pauses between the attempts of one ``run``, which all end within the time of a call."""
    # Each attempt has the whole ``timeout`` anew, so the timeout by itself would not end a run.
    seconds = min(context.retry.seconds, context.timeout or context.retry.seconds)
    return replace(context.retry, attempts=attempts, seconds=seconds).pauses(context.clock)


class RunAttempts:
    """The attempts of one ``run``.

    Its block reads for itself, in every attempt anew. That it lost all races is no fault of what the caller gave: it is
    Contention. A StaleEntity that ``work`` itself raised stays one, such as that of a client's If-Match.

    Args:
        pauses: the pause before each attempt but the first.
        retry_on: further refusals after which the work is done again.

    Raises:
        UsageError: ``retry_on`` is no refusal that says that nothing was written.
    """

    def __init__(
        self, pauses: Iterator[float], retry_on: type[StoreError] | tuple[type[StoreError], ...] = ()
    ) -> None:
        self._pauses = pauses
        self._lost = 0
        asked: tuple[Any, ...] = retry_on if isinstance(retry_on, tuple) else (retry_on,)
        for kind in asked:
            if not (isinstance(kind, type) and issubclass(kind, _REPEATABLE)):
                raise UsageError(
                    problem=f"run(retry_on=...) got {shown(kind)}, "
                    "which is no refusal that another attempt may not meet",
                    remedy=f"give some of {', '.join(one.__name__ for one in _REPEATABLE)}, or their subclasses",
                )
        self.lost: tuple[type[StoreError], ...] = (StaleEntity, Contention, *asked)

    def pause_after(self, lost: StoreError, tx: Transaction) -> float:
        """The pause after an attempt that failed. Raises the verdict on all attempts if it was the last one."""
        if not (tx._is_sent or isinstance(lost, (StaleEntity, Contention))):
            raise lost
        self._lost += 1
        if (pause := next(self._pauses, None)) is not None:
            return pause
        if isinstance(lost, Contention) or not tx._is_sent:
            raise lost
        raise Contention(
            attempts=self._lost,
            code="ConditionalCheckFailed",
            causes=lost.causes or (lost,),
            remedy="nothing was written; try again later, and load what you change inside the function of run()",
        ) from lost


def waiting(seconds: float) -> Flow[None]:
    """Wait between two attempts."""
    yield Pause(seconds)


def save_of(
    entity: Any, condition: Condition | None, replacing: Condition | None, *, overwrite: bool
) -> Save:
    """The save that was asked for. Raises UsageError for a condition that the class does not have."""
    check_flag("overwrite={}", overwrite)
    if replacing is not None:
        if overwrite:
            raise UsageError(
                problem="overwrite=True replaces whatever is stored, and replacing= only some of it",
                remedy="give one of the two",
            )
        checked_condition(entity, replacing, "replacing")
    if condition is not None:
        checked_condition(entity, condition)
    return Save(entity, condition, overwrite or replacing is not None, replacing)


def checked_condition(target: Any, condition: Condition | None, name: str = "condition") -> Condition | None:
    """Return the condition, after checking at once that the class has its fields and that they take its values."""
    if condition is not None:
        mapping = _mapping_of_target(target)
        if not isinstance(condition, Condition):
            raise no_condition(f"{name}={shown(condition)}")
        resolve(condition, FieldResolver(mapping, revision=True))
    return condition


def _mapping_of_target(target: Any) -> EntityMapping:
    return target_of(target).mapping if isinstance(target, Key) else mapping_of(type(target))


def _opened(session: object) -> OpenBlock:
    """Note that a session has an open block. Returns the block, which the caller must keep as long as it is open."""
    refuse_inside(session, "transaction")
    block = OpenBlock(session)
    _OPEN.set((*_open_blocks(), ref(block)))
    return block


def _open_blocks() -> tuple[ref[OpenBlock], ...]:
    return tuple(one for one in _OPEN.get() if (block := one()) is not None and block.session is not None)


@contextmanager
def collecting(session: object, tx: Transaction) -> Iterator[None]:
    """Keep a session's block open for the time of a ``with``. Nothing is sent at its end."""
    block = _opened(session)
    try:
        yield
    finally:
        # A block may end in another context than it began: a generator may be resumed in one. And contexts that were
        # copied inside the block still see this object, and their variable cannot be set from here.
        block.session = None
        tx._ended = True
        _OPEN.set(_open_blocks())


def intents_of(session: object, work: Callable[[Transaction], object]) -> list[Intent]:
    """The intents of a block that is planned and not sent. Raises UsageError for what is no function to call."""
    check_plain_function("plan_of({})", work, takes=1)
    refuse_inside(session, "plan_of")
    tx = Transaction()
    with collecting(session, tx):
        work(tx)
    return close_block(tx)


async def intents_of_async(session: object, work: Callable[[Transaction], object]) -> list[Intent]:
    """The same for ``AsyncSession.plan_of``, which also takes a plain function: a lambda cannot await."""
    check_function("plan_of({})", work, takes=1)
    refuse_inside(session, "plan_of")
    tx = Transaction()
    with collecting(session, tx):
        found = work(tx)
        if isawaitable(found):
            await found
    return close_block(tx)


def refuse_inside(session: object, verb: str, call: str = "") -> None:
    """Raises UsageError if the session has an open block, because the write would not be part of it.

    ``call``: how the caller writes it, unless it is a method of the session.
    """
    blocks = _OPEN.get()
    if blocks and any((block := one()) is not None and block.session is session for one in blocks):
        raise UsageError(
            problem=f"{call or f'session.{verb}()'} inside this session's open transaction() block "
            "would not be part of it",
            remedy=_remedy_inside(verb),
        )


def _remedy_inside(verb: str) -> str:
    if verb == "transaction":
        return "use the open block's tx"
    if hasattr(Transaction, verb):
        return f"write tx.{verb}(...) on the block's tx"
    return "call it before or after the block"


def run_hooks(hooks: Iterable[Callable[[], object]]) -> None:
    """Call every hook, then raise the first error."""
    failures: list[Exception] = []
    for hook in hooks:
        try:
            hook()
        except Exception as failure:  # noqa: BLE001 - the commit has happened, and the other hooks must run
            failure.add_note(
                "The transaction is committed: this error is that of a function given to on_commit()."
            )
            failures.append(failure)
    if failures:
        raise failures[0]

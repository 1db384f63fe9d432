"""Sends a plan, or settles one by reading, and ends as the table of ``write_endings`` says.

The conversation is here, and the objects that it changes; every decision is in the table.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeAlias

from dynaorm.errors import OutcomeUnknown, StoreError, TokenReused, UsageError
from dynaorm.failure import format_message, shown
from dynaorm.flow.call import Call, Context, Flow, NoAnswer, Refusal, is_retryable, waited
from dynaorm.flow.read import error_of_refusal, get_item, spent, updated_item
from dynaorm.flow.write_endings import (
    AGAIN,
    DONE,
    DOUBT,
    KEPT,
    LOOK,
    NOT_MADE,
    RAISE,
    TABLE,
    TAKEN,
    VERDICT,
    Event,
    State,
    UnknownOutcome,
    follows,
)
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.path import value_at
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item, same, same_items
from dynaorm.plan.compiler import TYPE_MISMATCH_MESSAGES, Committed, verdict
from dynaorm.plan.own_item import is_as_expected
from dynaorm.plan.plan import FAILED, Effect, FailedAction, NeedsReplan, Plan, Planned, take_returned
from dynaorm.plan.token import TokenMatch, compare, revision_in
from dynaorm.record import record, replace

_MATCHES: Final = {
    TokenMatch.SAME: Event.SAME,
    TokenMatch.OTHER: Event.REMEMBERED,
    TokenMatch.PERHAPS: Event.PERHAPS,
    TokenMatch.FREE: Event.NOT_SHOWN,
}


@record(quick=True)
class Observation:
    """An event, and what it came with.

    Attributes:
        event: what happened.
        item: the item that shows it.
        trouble: the refusal, the silence, or what could not be done.
        failures: the actions that DynamoDB refused.
    """

    event: Event
    item: Item | None = None
    trouble: BaseException | None = None
    failures: tuple[FailedAction, ...] = ()


class CannotRead(Exception):
    """An item could not be read; the cause says why."""


def is_unbound(plan: Plan) -> bool:
    """Whether the plan is a plain write of a stored item that no revision and no token binds."""
    planned = plan.actions[0]
    return not plan.is_transaction and (planned.blind or planned.expected_values is not None)


# -- an attempt --------------------------------------------------------------------------------------------------------


def classify_no_answer(plan: Plan, silence: NoAnswer) -> Observation:
    """The event of an attempt that got no answer."""
    if not silence.sent:
        return Observation(Event.UNSENT, trouble=silence)
    return Observation(Event.UNBOUND if is_unbound(plan) else Event.SILENCE, trouble=silence)


def classify_refusal(plan: Plan, refusal: Refusal, context: Context) -> Flow[Observation]:
    """The event of an attempt that DynamoDB refused. Raises CannotRead."""
    if is_retryable(refusal):
        # An earlier attempt of ours, which may be committed yet.
        is_under_way = refusal.code == "TransactionInProgressException"
        return Observation(Event.SILENCE if is_under_way else Event.BUSY, trouble=refusal)
    failures, token_item = _failures(plan, refusal), plan.token_item
    if token_item is not None and failures:
        # It is read even if nothing is wrong with it: what is in the block's way may be what the block itself wrote.
        met = next((failure.item for failure in failures if failure.planned is token_item), None)
        seen = yield from look_at_token(token_item, context, met)
        if seen.event is not Event.NOT_SHOWN:
            return replace(seen, trouble=refusal)
        failures = tuple(one for one in failures if one.planned is not token_item or one.code != FAILED)
        if not failures:
            return Observation(Event.LAPSED, trouble=refusal)
    own = next((failure.item for failure in failures if failure.planned.has_written(failure.item)), None)
    event = Event.OWN if own is not None else _of_failures(plan, failures)
    return Observation(event, own, refusal, failures)


def _of_failures(plan: Plan, failures: tuple[FailedAction, ...]) -> Event:
    """The event of a refusal in which no item carries the plan's revision."""
    # Only a condition that failed says what is stored. An expression that does not fit says nothing of it.
    of_items = [failure for failure in failures if failure.code == FAILED]
    if not plan.is_transaction:
        return _shown(of_items[0].planned, of_items[0].item) if of_items else Event.REFUSED
    bound = (of_item for of_item in of_items if of_item.planned.expected is not None)
    is_replaced = not all(is_as_expected(one.planned, one.item) for one in bound)
    return Event.REPLACED if is_replaced else Event.FAILED


def _failures(plan: Plan, refusal: Refusal) -> tuple[FailedAction, ...]:
    if refusal.code == "ConditionalCheckFailedException":
        return (_failed(plan.actions[0], FAILED, refusal.message, refusal.item),)
    if refusal.code == "ValidationException" and any(
        text in refusal.message for text in TYPE_MISMATCH_MESSAGES
    ):
        return tuple(FailedAction(action, refusal.code, refusal.message, None) for action in plan.actions)
    if refusal.code != "TransactionCanceledException":
        return ()
    return tuple(
        _failed(planned, reason.code, reason.message, reason.item)
        for planned, reason in zip(plan.actions, refusal.reasons, strict=False)
        if reason is not None and reason.code != "None"
    )


def _failed(planned: Planned, code: str, message: str, item: Item | None) -> FailedAction:
    return FailedAction(planned, code, message, item)


# -- the items as they are stored now ----------------------------------------------------------------------------------


def look(plan: Plan, context: Context) -> Flow[Observation]:
    """What the items show of a plan. Raises CannotRead."""
    if is_unbound(plan):
        item = yield from stored(plan.actions[0], context)
        return Observation(_shown(plan.actions[0], item), item)
    if (token_item := plan.token_item) is not None:
        found = yield from look_at_token(token_item, context)
        # While it would be remembered, the block was applied only if it is.
        if found.event in (Event.SAME, Event.PERHAPS) or not _is_forgotten(token_item, context):
            return found
    return (yield from _look_at_items(plan, context))


def _look_at_items(plan: Plan, context: Context) -> Flow[Observation]:
    seen: list[Event] = []
    is_unmade = plan.token_item is None
    for planned in plan.actions:
        if planned.is_evidence:
            item = yield from stored(planned, context)
            event = _shown(planned, item)
            # Nobody gives up a version, and no other plan writes one with the same time and values.
            if event is Event.OWN or (event is Event.ALIKE and planned.kind.is_permanent):
                return Observation(event, item)
            is_unmade |= event is Event.AS_BEFORE and planned.expected is not None
            seen.append(Event.UNTOLD if event is not Event.ALIKE and _is_untold(planned, item) else event)
    event = _of_all(seen)
    # Others may have written over the items since the token item expired. Only a revision that is still there proves
    # that the block was not applied: it does not come back.
    return Observation(event if is_unmade or event is not Event.NOT_SHOWN else Event.OTHER)


def _of_all(seen: Collection[Event]) -> Event:
    """The event of a plan that no revision proves: what others may have done as well says nothing of the rest."""
    if not seen or not {Event.GONE, Event.ALIKE, Event.UNTOLD}.issuperset(seen):
        return Event.NOT_SHOWN
    return next(event for event in (Event.UNTOLD, Event.ALIKE, Event.GONE) if event in seen)


def look_at_token(token_item: Planned, context: Context, met: Item | None = None) -> Flow[Observation]:
    """What the stored token item says about the block that puts its own. Raises CannotRead.

    ``met``: the stored one, if a refusal returned it.
    """
    item = (yield from stored(token_item, context)) if met is None else met
    return Observation(_MATCHES[compare(token_item, item, context.clock.now())], item)


def _shown(planned: Planned, item: Item | None) -> Event:
    """What one item shows of the action that writes it."""
    if planned.has_written(item):
        return Event.OWN
    if isinstance(planned.action, Delete) and item is None:
        return Event.GONE
    if item is not None and planned.revision is None and _is_alike(planned, item):
        return Event.ALIKE
    is_as_before = not planned.blind and is_as_expected(planned, item)
    return Event.AS_BEFORE if is_as_before else Event.OTHER


def _is_alike(planned: Planned, item: Item) -> bool:
    """Whether an item is as an action makes it."""
    action = planned.action
    if isinstance(action, Put):
        return same_items(item, action.item)
    # Others may have changed the rest of the item since. A number that counts the writes does not say whose it is.
    revision = planned.table.revision
    return (
        isinstance(action, Update)
        and any(revision is None or change.path != revision.path for change in action.changes)
        and all(_is_made(item, change) is True for change in action.changes)
    )


def _is_untold(planned: Planned, item: Item | None) -> bool:
    """Whether an item without a revision cannot say if an update was made: it shows all that could be seen of it."""
    action = planned.action
    if item is None or planned.revision is not None or not isinstance(action, Update):
        return False
    return all(_is_made(item, change) is not False for change in action.changes)


def _is_made(item: Item, change: Change) -> bool | None:
    """Whether an item shows a change; None for one that cannot be seen in the item, because it adds or appends."""
    if len(change.path) != 1:
        return None
    found = value_at(item, change.path)
    if isinstance(change, SetTo):
        return same(found, change.value)
    return found is None if isinstance(change, Remove) else None


def _is_forgotten(token_item: Planned, context: Context) -> bool:
    """Whether the token item would have expired by now, if the plan had put it."""
    return compare(token_item, token_item.after, context.clock.now()) is TokenMatch.FREE


def revision_of_block(plan: Plan, context: Context) -> Flow[str | None]:
    """The revision that the plan's block wrote when it was applied, if its token item says so. Raises CannotRead."""
    if plan.token_item is None:
        return None
    item = yield from stored(plan.token_item, context)
    return None if item is None else revision_in(item)


def stored(planned: Planned, context: Context) -> Flow[Item | None]:
    """The item that an action writes, as it is stored now. Raises CannotRead."""
    try:
        return (yield from get_item(planned.table, planned.item_key, context))
    except Exception as trouble:
        raise CannotRead from trouble


def awaited(plan: Plan) -> list[Effect]:
    """The effects on entities that are still unsettled: a copy may resume a plan after its original was settled."""
    return [effect for effect in plan.effects if effect.is_awaited(plan)]


def roll_back(plan: Plan) -> None:
    """Give the waiting entities back what they were: the plan is not in effect."""
    for effect in awaited(plan):
        effect.roll_back()


def take_item(effects: Sequence[Effect], plan: Plan, item: Item | None) -> None:
    """Give the object of a plain write what others wrote beside it; ``item`` is what the write left, if that is known.

    Raises:
        DecodeError: the item was written, and does not load.
    """
    if item is None or plan.is_transaction:
        return
    planned = plan.actions[0]
    for effect in effects:
        if effect.state is not None and effect.state.item is planned.after:
            take_returned(effect, planned.mapping, item)


def as_stored(effects: Sequence[Effect], plan: Plan, context: Context) -> Flow[list[Effect]]:
    """The effects of a plan that was committed from other bytes: entities become what is stored, if still theirs."""
    if not effects:
        return []
    found: list[Effect] = []
    revision = yield from revision_of_block(plan, context)
    for effect in effects:
        planned = next(
            (one for one in plan.actions if effect.state is not None and one.after is effect.state.item), None
        )
        if planned is None:
            found.append(effect)
            continue
        item = yield from stored(planned, context)
        if item is not None and planned.mapping.table.mark_of(item) == (revision or planned.revision):
            found.append(effect.with_item(planned.mapping, item))
        elif planned.revision is not None and revision is not None:
            found.append(effect.with_revision(planned.mapping, revision))
        else:
            found.append(effect)
    return found


Outcome: TypeAlias = Committed | NeedsReplan

# Looking up a member of an enumeration takes longer than following the table.
_REPLY: Final = Event.REPLY
_SURE: Final = State.SURE
_APPLIED: Final = State.APPLIED
_SENT: Final = (_SURE, State.RESUMED)


def send(plan: Plan, context: Context) -> Flow[Outcome]:
    """Commit a plan, or learn why it must be compiled anew.

    Raises:
        StoreError: DynamoDB refused it, and nothing was written.
        OutcomeUnknown: it may have been written; the plan can be resumed.
    """
    return PlanExecution(plan, context, _SURE).run()


def resume(plan: object, context: Context, window: float, *, read_only: bool = False) -> Flow[bool]:
    """Settle a plan whose outcome is unknown: True if it is in effect, False if it is not.

    Within the window it is sent again, the same token and the same bytes. Past the window, or with ``read_only``,
    nothing is sent, and the items are read.

    Raises:
        UsageError: it is no plan, or one for other tables than those of the session.
        StoreError: DynamoDB refused it for good; nothing of it was written.
        OutcomeUnknown: still no answer; or an update by key that the item does not show, written over perhaps.
    """
    if not isinstance(plan, Plan):
        raise UsageError(
            problem=f"resume() takes a plan, and got {shown(plan)}",
            remedy="give error.plan of an OutcomeUnknown",
        )
    if not plan.actions:
        return True
    _check_tables(plan, context)
    state = State.WITHIN if read_only or is_unbound(plan) else State.RESUMED
    if context.clock.now() - plan.made_at >= window:
        state = State.PAST
    try:
        outcome = yield from PlanExecution(plan, context, state).run()
    except OutcomeUnknown:
        raise
    except StoreError:
        roll_back(plan)
        raise
    if not isinstance(outcome, Committed):
        roll_back(plan)
        return False
    return True


def _check_tables(plan: Plan, context: Context) -> None:
    for planned in plan.actions:
        wanted = context.table_name(planned.table.name)
        if planned.action.table != wanted:
            raise UsageError(
                problem=f"the write of {planned.subject!r} has no known outcome in table {planned.action.table!r}, and "
                f"this session writes to {wanted!r}",
                remedy="resume the plan or save the object with a session of the first table; to write to this one, "
                "save detached(entity)",
            )


class PlanExecution:
    """One plan on its way to its end."""

    __slots__ = ("attempts", "call", "context", "in_flight", "is_resumed", "plan", "state")

    def __init__(self, plan: Plan, context: Context, state: State) -> None:
        self.plan = plan
        self.context = context
        self.state = state
        self.is_resumed = state is not _SURE
        self.call = Call(plan.operation, plan.shared_request)
        self.attempts = 0
        self.in_flight = False

    def run(self) -> Flow[Outcome]:
        """Follow the table to an end, and give it to the objects."""
        effects: Sequence[Effect] = ()
        try:
            outcome = self.outcome_of((yield from self._found()))
            if isinstance(outcome, Committed):
                self.state = _APPLIED
                effects = awaited(self.plan) if self.is_resumed else self.plan.effects
                applied = effects
                if outcome.elsewhere:  # perhaps it was committed from other bytes
                    applied = yield from as_stored(effects, self.plan, self.context)
                for effect in applied:
                    effect.apply()
        except BaseException as raised:
            # Whatever ends it, Ctrl-C too: a write that may be committed leaves its plan with the objects
            # (Rule 8 of ``write_endings``).
            if (found := self._interrupted(raised)) is None:
                raise
            raise self._unknown(found) from found.trouble
        if isinstance(outcome, Committed):
            take_item(effects, self.plan, outcome.item)
        return outcome

    def _found(self) -> Flow[Observation]:
        """What happened in the end, after attempts and looks."""
        if self.state not in _SENT:
            return (yield from look(self.plan, self.context))
        clock, retry = self.context.clock, self.context.retry
        began, age = clock.monotonic(), clock.now() - self.plan.made_at
        pauses: Iterator[float] | None = None
        while True:
            found = yield from self._attempt()
            step = TABLE[found.event, self.state]
            if step is LOOK:
                self.state = State.LOOK
                return replace((yield from look(self.plan, self.context)), trouble=found.trouble)
            if step is DOUBT:
                self.state = State.DOUBT
            elif step is not AGAIN:
                return found
            if pauses is None:
                pauses = retry.pauses(clock, began, age)
            if not (yield from waited(pauses)):
                return replace(found, event=Event.SPENT)

    def _attempt(self) -> Flow[Observation]:
        self.attempts += 1
        # It stays so after a reply, and if anything else ends the attempt.
        self.in_flight = True
        try:
            reply = yield self.call
            if not self.plan.wants_item:
                return Observation(_REPLY)
            return Observation(_REPLY, updated_item(self.call, reply, self.plan.actions[0].table))
        except NoAnswer as silence:
            self.in_flight = False
            return classify_no_answer(self.plan, silence)
        except Refusal as refusal:
            self.in_flight = False
            return (yield from classify_refusal(self.plan, refusal, self.context))

    def outcome_of(self, found: Observation) -> Outcome:
        """What the last event means. Raises the error that it means."""
        step = TABLE[found.event, self.state]
        if step is DONE:
            # Only the answer itself says that it was this plan, and not an equal block with other bytes.
            is_own = found.event is _REPLY or self.plan.token_item is None
            return Committed(found.item, not is_own)
        if step is NOT_MADE:
            return NeedsReplan()
        outcome = self._meaning(found)
        if isinstance(outcome, (Committed, NeedsReplan)):
            return outcome
        raise outcome from found.trouble

    def _meaning(self, found: Observation) -> Outcome | BaseException:
        step = follows(found.event, self.state)
        trouble, token_item = found.trouble, self.plan.token_item
        if isinstance(step, UnknownOutcome):
            return self._unknown(found)
        if step is VERDICT and isinstance(trouble, Refusal):
            if found.failures:
                return verdict(found.failures, self.context.clock.now(), trouble.request_id)
            only = self.plan.actions[0].reason if len(self.plan.actions) == 1 else ""
            return error_of_refusal(trouble, self.call, only)
        if step is TAKEN and token_item is not None:
            return TokenReused(token=token_item.label)
        assert isinstance(trouble, (Refusal, NoAnswer))
        return spent(trouble, self.call, self.attempts)

    def _unknown(self, found: Observation) -> OutcomeUnknown:
        step, trouble = follows(found.event, self.state), found.trouble
        assert isinstance(step, UnknownOutcome)
        words = {"attempts": self.attempts, "code": "", "problem": "", "credentials": ""}
        if isinstance(trouble, UsageError):
            words |= {"problem": f": {trouble.problem}", "credentials": f"{trouble.remedy}; then "}
        elif isinstance(trouble, (Refusal, NoAnswer)):
            words["code"] = trouble.code if isinstance(trouble, Refusal) else trouble.reason
        why, remedy = (format_message(text, words) for text in step)
        return OutcomeUnknown(plan=self.plan, reason=why, remedy=remedy)

    def _interrupted(self, raised: BaseException) -> Observation | None:
        """What an exception means that ends it, if that is an unknown outcome; None: the exception itself says it all.

        The objects keep the plan where it may be committed.
        """
        found: Observation | None = None
        is_kept = isinstance(raised, OutcomeUnknown)
        if not isinstance(raised, StoreError):
            found = self._interruption(raised)
            step = follows(found.event, self.state)
            is_kept = step is not RAISE
            if not isinstance(step, UnknownOutcome):
                assert step in (RAISE, KEPT)
                found = None
        if is_kept and not self.is_resumed:  # the objects of a plan that is resumed have it
            for effect in self.plan.effects:
                effect.unsettle(self.plan)
        return found

    @property
    def _is_under_way(self) -> bool:
        """Whether a request was sent of which it is not yet said what became of it."""
        # Not set back after the reply: an interrupt could come between that and the new state.
        return self.in_flight and self.state is not _APPLIED

    def _interruption(self, raised: BaseException) -> Observation:
        """The event of an exception that is no answer."""
        if isinstance(raised, CannotRead):
            return Observation(Event.UNREAD, trouble=raised.__cause__)
        if not isinstance(raised, Exception):
            return Observation(Event.CUT if self._is_under_way else Event.IDLE, trouble=raised)
        # After a UsageError, as of missing credentials, the attempt was never made.
        is_under_way = self._is_under_way and not isinstance(raised, UsageError)
        return Observation(Event.BROKEN if is_under_way else Event.UNMADE, trouble=raised)

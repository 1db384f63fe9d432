"""Sends a plan, or settles one by reading, and ends as the table of ``write_endings`` says.

The conversation is here, and the objects that it changes; every decision is in the table.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from dynaorm.errors import OutcomeUnknown, StoreError, TokenReused, UsageError
from dynaorm.failure import filled, shown
from dynaorm.flow.effects import as_stored, awaited, settle_as_before, take_item
from dynaorm.flow.protocol.call import Call, Flow, NoAnswer, Refusal
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.reply_keys import updated_item
from dynaorm.flow.protocol.retry import waited
from dynaorm.flow.read import refused, spent
from dynaorm.flow.write_endings import (
    AGAIN,
    DONE,
    DOUBT,
    KEPT,
    LOOK,
    NOT_MADE,
    RAISE,
    REUSED,
    TABLE,
    TAKEN,
    VERDICT,
    Event,
    NobodyKnows,
    State,
    follows,
)
from dynaorm.flow.write_events import (
    CannotRead,
    Found,
    is_unbound,
    look,
    of_refusal,
    of_silence,
)
from dynaorm.plan.effects import Effect
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import StaleKnowledge
from dynaorm.plan.verdict import Committed, verdict
from dynaorm.record import replace

Outcome: TypeAlias = Committed | StaleKnowledge

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
    return Writing(plan, context, _SURE).to_its_end()


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
        outcome = yield from Writing(plan, context, state).to_its_end()
    except OutcomeUnknown:
        raise
    except StoreError:
        settle_as_before(plan)
        raise
    if not isinstance(outcome, Committed):
        settle_as_before(plan)
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


class Writing:
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

    def to_its_end(self) -> Flow[Outcome]:
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
            # Whatever ends it, Ctrl-C too: a write that may be committed leaves its plan with the objects (Rule 8).
            if (found := self._interrupted(raised)) is None:
                raise
            raise self._unknown(found) from found.trouble
        if isinstance(outcome, Committed):
            take_item(effects, self.plan, outcome.item)
        return outcome

    def _found(self) -> Flow[Found]:
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

    def _attempt(self) -> Flow[Found]:
        self.attempts += 1
        # It stays so after a reply, and if anything else ends the attempt.
        self.in_flight = True
        try:
            reply = yield self.call
            if not self.plan.wants_item:
                return Found(_REPLY)
            return Found(_REPLY, updated_item(self.call, reply, self.plan.actions[0].table))
        except NoAnswer as silence:
            self.in_flight = False
            return of_silence(self.plan, silence)
        except Refusal as refusal:
            self.in_flight = False
            return (yield from of_refusal(self.plan, refusal, self.context))

    def outcome_of(self, found: Found) -> Outcome:
        """What the last event means. Raises the error that it means."""
        step = TABLE[found.event, self.state]
        if step is DONE:
            # Only the answer itself says that it was this plan, and not an equal block with other bytes.
            is_own = found.event is _REPLY or not (self.plan.caller_token or found.event is Event.SAME)
            return Committed(found.item, not is_own)
        if step is NOT_MADE:
            return StaleKnowledge()
        outcome = self._meaning(found)
        if isinstance(outcome, (Committed, StaleKnowledge)):
            return outcome
        raise outcome from found.trouble

    def _meaning(self, found: Found) -> Outcome | BaseException:
        step = follows(found.event, self.state)
        trouble, token = found.trouble, str(self.plan.token)
        if isinstance(step, NobodyKnows):
            return self._unknown(found)
        if step is VERDICT and isinstance(trouble, Refusal):
            if found.failures:
                return verdict(found.failures, self.context.clock.now(), trouble.request_id)
            only = self.plan.actions[0].reason if len(self.plan.actions) == 1 else ""
            return refused(trouble, self.call, only)
        if step is TAKEN:
            problem = f"the token {token!r} is remembered for another block; nothing was written"
            return TokenReused(token=token, problem=problem)
        if step is REUSED:
            return TokenReused(token=token)
        assert isinstance(trouble, (Refusal, NoAnswer))
        return spent(trouble, self.call, self.attempts)

    def _unknown(self, found: Found) -> OutcomeUnknown:
        step, trouble = follows(found.event, self.state), found.trouble
        assert isinstance(step, NobodyKnows)
        words = {"attempts": self.attempts, "code": "", "problem": "", "credentials": ""}
        if isinstance(trouble, UsageError):
            words |= {"problem": f": {trouble.problem}", "credentials": f"{trouble.remedy}; then "}
        elif isinstance(trouble, (Refusal, NoAnswer)):
            words["code"] = trouble.code if isinstance(trouble, Refusal) else trouble.reason
        why, remedy = (filled(text, words) for text in step)
        return OutcomeUnknown(plan=self.plan, reason=why, remedy=remedy)

    def _interrupted(self, raised: BaseException) -> Found | None:
        """What an exception means that ends it, if that is an unknown outcome; None: the exception itself says it all.

        The objects keep the plan where it may be committed.
        """
        found: Found | None = None
        is_kept = isinstance(raised, OutcomeUnknown)
        if not isinstance(raised, StoreError):
            found = self._interruption(raised)
            step = follows(found.event, self.state)
            is_kept = step is not RAISE
            if not isinstance(step, NobodyKnows):
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

    def _interruption(self, raised: BaseException) -> Found:
        """The event of an exception that is no answer."""
        if isinstance(raised, CannotRead):
            return Found(Event.UNREAD, trouble=raised.__cause__)
        if not isinstance(raised, Exception):
            return Found(Event.CUT if self._is_under_way else Event.IDLE, trouble=raised)
        # After a UsageError, as of missing credentials, the attempt was never made.
        is_under_way = self._is_under_way and not isinstance(raised, UsageError)
        return Found(Event.BROKEN if is_under_way else Event.UNMADE, trouble=raised)

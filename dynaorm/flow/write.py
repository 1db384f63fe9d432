"""Sends a plan, and finds out what happened to attempts that got no answer.

Rule 1. A plan is repeated with one token and the same bytes, on conflicts, throttles and unanswered attempts.
Rule 2. After an unanswered attempt a refusal is inconclusive: the unanswered attempt may have been committed. Unless
        the stored revision is the plan's own, the outcome is unknown.
Rule 3. A plain write of a stored item that is not bound to a revision is never sent again after an unanswered attempt:
        it could count twice, or undo what others did since. The item is read: it shows the plan's own revision, or for
        a delete nothing is there; otherwise the outcome is unknown. An insert is sent again, under absence.
Rule 4. Once an attempt may have been applied, every ending that is not a verdict is an unknown outcome, whatever
        exception ended it: credentials that expired, say. For a plan that is resumed, that is so from the beginning.
Rule 5. No entity changes before the plan is committed. If the outcome is unknown, the entity keeps the plan.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from dynaorm.errors import DynaormError, OutcomeUnknown, StoreError, TokenReused, UsageError
from dynaorm.flow.effects import apply_effects, awaited, settle_as_before, take_item
from dynaorm.flow.protocol.call import Call, Flow, NoAnswer, Refusal
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.reply_keys import updated_item
from dynaorm.flow.protocol.retry import is_retryable, waited
from dynaorm.flow.read import refused, spent
from dynaorm.flow.recognise import (
    DELETES,
    OTHER_BYTES,
    PERHAPS_APPLIED,
    cannot_tell,
    is_committed,
    is_in_effect,
    is_recognised,
    perhaps_applied,
    remembered,
    remembered_otherwise,
    stored,
)
from dynaorm.item.value import Item
from dynaorm.plan.kinds.own_item import is_as_expected
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import FAILED, Effect, FailedAction, Purpose, StaleKnowledge
from dynaorm.plan.remember import Match
from dynaorm.plan.token import is_fixed
from dynaorm.plan.verdict import UNFIT, Committed, verdict
from dynaorm.record import record, replace

_WRITTEN_OVER: Final = (
    "what is stored is not what this write left, so sending it again finds out nothing; get the entity to see what is "
    "stored, and decide again"
)

_NEVER_REPEATED: Final = (
    "it is not sent again, because that could undo what others did since; get the entity to see what is stored, and "
    "decide again. session.resume(error.plan) only reads the item again"
)
_MISMATCH: Final = "IdempotentParameterMismatchException"
_MAY_ARRIVE: Final = (
    "the unanswered request may still arrive: call session.resume(error.plan) later, which is certain nine minutes "
    "after the write; or get the entity to see what is stored, and decide again"
)


@record(frozen=False)
class _Sending:
    """The progress of sending one plan.

    Attributes:
        plan: the plan that is sent.
        call: its request, the same for every attempt.
        resumed: an earlier sending of the plan ended without an answer.
        attempts: how often it was sent.
        in_flight: an attempt is under way.
        unanswered: an attempt of this sending got no answer.
    """

    plan: Plan
    call: Call
    resumed: bool = False
    attempts: int = 0
    in_flight: bool = False
    unanswered: bool = False

    @property
    def may_be_applied(self) -> bool:
        """Whether an earlier attempt may have been applied, or may still arrive: a refusal now settles nothing."""
        return self.unanswered or self.resumed

    def is_unknown_after(self, raised: BaseException) -> bool:
        """Whether the plan may have been committed, though its sending ended with an exception."""
        if isinstance(raised, StoreError):
            return isinstance(raised, OutcomeUnknown)
        # After a UsageError (no credentials), the attempt was never made. Any other exception may have interrupted it:
        # Ctrl-C, a cancelled task, the error that a signal handler raises at a time limit.
        return self.unanswered or (self.in_flight and not isinstance(raised, UsageError))


Outcome: TypeAlias = Committed | StaleKnowledge


def send(plan: Plan, context: Context, *, resumed: bool = False) -> Flow[Outcome]:
    """Commit a plan, or learn why it must be compiled anew.

    ``resumed``: an earlier sending of the same plan ended without an answer.

    Raises:
        StoreError: DynamoDB refused it, and nothing was written.
        OutcomeUnknown: it may have been written; the plan can be resumed.
    """
    sending = _Sending(plan, Call(plan.operation, plan.shared_request()), resumed)
    effects: Sequence[Effect] = ()
    try:
        outcome = yield from _attempts(sending, context)
        if isinstance(outcome, Committed):
            effects = awaited(plan) if resumed else plan.effects
            yield from apply_effects(effects, plan, context, as_stored=outcome.elsewhere)
    except BaseException as raised:
        # Entities of a resumed plan stay unsettled.
        if not resumed and sending.is_unknown_after(raised):
            for effect in plan.effects:
                effect.unsettle(plan)
        raise
    if isinstance(outcome, Committed):
        take_item(effects, plan, outcome.item)
    return outcome


def _attempts(sending: _Sending, context: Context) -> Flow[Outcome]:
    """Send the plan until its outcome is known. Raises a verdict, or OutcomeUnknown as Rule 4 says."""
    try:
        return (yield from _sent(sending, context))
    except StoreError:
        raise
    except Exception as failure:
        if not sending.may_be_applied:
            raise
        why = "an attempt got no answer, and the next could not be made"
        raise cannot_tell(sending.plan, why, failure) from failure


def _sent(sending: _Sending, context: Context) -> Flow[Outcome]:
    pauses = context.retry.pauses(context.clock, age=context.clock.now() - sending.plan.made_at)
    while True:
        trouble: Refusal | NoAnswer
        try:
            item = yield from _attempt(sending)
        except NoAnswer as silence:
            trouble = silence
            sending.in_flight = False
            sending.unanswered |= silence.sent
            if silence.sent and _is_never_repeated(sending.plan):
                return (yield from _own_commit_or_unknown(sending.plan, context, silence))
        except Refusal as refusal:
            sending.in_flight = False
            if not is_retryable(refusal):
                return (yield from _refused(sending, refusal, context))
            trouble = refusal
            sending.unanswered |= refusal.code == "TransactionInProgressException"
        else:
            return Committed(item)
        if not (yield from waited(pauses)):
            raise _given_up(sending, trouble) from trouble


def _attempt(sending: _Sending) -> Flow[Item | None]:
    sending.attempts += 1
    sending.in_flight = True
    reply = yield sending.call
    return updated_item(sending.call, reply, sending.plan.actions[0].table.keys)


def _given_up(sending: _Sending, trouble: Refusal | NoAnswer) -> StoreError:
    if sending.may_be_applied:
        last = trouble.reason if isinstance(trouble, NoAnswer) else trouble.code
        why = f"no answer after {sending.attempts} attempts ({last})"
        return OutcomeUnknown(plan=sending.plan, reason=why)
    return spent(trouble, sending.call, sending.attempts)


def _is_never_repeated(plan: Plan) -> bool:
    """Whether the plan is a plain write of a stored item that no revision and no token binds."""
    planned = plan.actions[0]
    return not plan.is_transaction and (planned.blind or planned.expected_values is not None)


def _own_commit_or_unknown(plan: Plan, context: Context, silence: NoAnswer) -> Flow[Committed]:
    planned = plan.actions[0]
    item = yield from stored(plan, planned, context)
    if planned.has_written(item) or (item is None and planned.purpose in DELETES):
        return Committed(item)
    raise OutcomeUnknown(plan=plan, reason=silence.reason, remedy=_NEVER_REPEATED) from silence


def _refused(sending: _Sending, refusal: Refusal, context: Context) -> Flow[Outcome]:
    plan = sending.plan
    failures = _failures(plan, refusal)
    if plan.token_item is not None and (failures or refusal.code == _MISMATCH):
        if (yield from _is_remembered(plan, failures, refusal, context)):
            return Committed(None, elsewhere=True)
        failures = [one for one in failures if not (one.planned is plan.token_item and one.code == FAILED)]
        if not failures and not sending.may_be_applied:
            return StaleKnowledge()  # its time was over by a moment: try again
    elif refusal.code == _MISMATCH and plan.token is not None:
        return (yield from _used_before(plan, plan.token, refusal, context))
    return _judged(sending, failures, refusal, context.clock.now())


def _judged(sending: _Sending, failures: Sequence[FailedAction], refusal: Refusal, now: float) -> Outcome:
    plan = sending.plan
    outcome: Committed | StaleKnowledge | DynaormError
    if failures:
        outcome = verdict(failures, now, refusal.request_id)
    else:
        action = plan.actions[0].reason if len(plan.actions) == 1 else ""
        outcome = refused(refusal, sending.call, action)
    if isinstance(outcome, Committed):
        return replace(outcome, elsewhere=plan.caller_token)
    if sending.may_be_applied and not _can_never_be_made(sending, failures):
        only = failures[0] if failures and not plan.is_transaction else None
        if only is not None and only.planned.purpose is Purpose.DELETE and only.item is None:
            return Committed(None)
        raise _unknown_after(plan, refusal, written_over=only is not None) from refusal
    if isinstance(outcome, StaleKnowledge):
        return outcome
    raise outcome from refusal


def _is_remembered(
    plan: Plan, failures: Sequence[FailedAction], refusal: Refusal, context: Context
) -> Flow[bool]:
    """Whether the refused block was applied before, as its token item says.

    It is read even if nothing is wrong with it: what stands in the block's way may be what the block itself wrote.

    Raises:
        TokenReused: another block was applied under the token.
        OutcomeUnknown: nobody knows which.
    """
    assert plan.token is not None
    assert plan.token_item is not None
    found = next((one.item for one in failures if one.planned is plan.token_item), None)
    match = yield from remembered(plan, plan.token_item, context, found)
    if match is Match.OTHER:
        raise remembered_otherwise(plan.token) from refusal
    if match is Match.PERHAPS:
        raise perhaps_applied(plan) from refusal
    if match is Match.FREE and refusal.code == _MISMATCH:
        raise OutcomeUnknown(plan=plan, reason=OTHER_BYTES, remedy=PERHAPS_APPLIED) from refusal
    return match is Match.SAME


def _used_before(plan: Plan, token: str, refusal: Refusal, context: Context) -> Flow[Committed]:
    """The token was used for other bytes: for an equal block, for another one, or nobody knows for which."""
    if (yield from is_recognised(plan, context)):
        return Committed(None, elsewhere=True)
    if is_fixed(plan):
        raise TokenReused(token=token) from refusal
    raise OutcomeUnknown(plan=plan, reason=OTHER_BYTES, remedy=PERHAPS_APPLIED) from refusal


def _can_never_be_made(sending: _Sending, failures: Sequence[FailedAction]) -> bool:
    """Whether a transaction that is resumed was never made and never will be, even if its first request arrives now.

    A repeated token would be answered with success, and a revision that was replaced never comes back.
    """
    if sending.unanswered or not sending.plan.is_transaction:
        return False
    bound = (one for one in failures if one.planned.expected is not None)
    return not all(is_as_expected(one.planned, one.item) for one in bound)


def _unknown_after(plan: Plan, refusal: Refusal, *, written_over: bool) -> OutcomeUnknown:
    why = f"an attempt got no answer, and the next was refused ({refusal.code})"
    remedy = _WRITTEN_OVER if written_over else _MAY_ARRIVE
    return OutcomeUnknown(plan=plan, reason=why, remedy=remedy)


def _failures(plan: Plan, refusal: Refusal) -> list[FailedAction]:
    if refusal.code == "ConditionalCheckFailedException":
        return [FailedAction(plan.actions[0], FAILED, refusal.message, refusal.item)]
    if refusal.code == "ValidationException" and any(text in refusal.message for text in UNFIT):
        return [FailedAction(planned, refusal.code, refusal.message, None) for planned in plan.actions]
    if refusal.code != "TransactionCanceledException":
        return []
    return [
        FailedAction(planned, found.code, found.message, found.item)
        for planned, found in zip(plan.actions, refusal.reasons, strict=False)
        if found is not None and found.code != "None"
    ]


# -- settling a plan by reading ----------------------------------------------------------------------------------------


def resume(plan: object, context: Context, window: float, *, read_only: bool = False) -> Flow[bool]:
    """Settle a plan whose outcome is unknown: True if it is in effect, False if it is not.

    Within the window it is sent again, the same token and the same bytes. A refusal is proof only if a revision was
    replaced; otherwise the first request may still arrive. Past the window, or with ``read_only``, nothing is sent, and
    the items are read.

    Raises:
        UsageError: it is no plan, or one for other tables than those of the session.
        StoreError: DynamoDB refused it for good; nothing of it was written.
        OutcomeUnknown: still no answer; or an update by key that the item does not show, written over perhaps.
    """
    if not isinstance(plan, Plan):
        raise UsageError(
            problem=f"resume() takes a plan, and got {plan!r}", remedy="give error.plan of an OutcomeUnknown"
        )
    if not plan.actions:
        return True
    _check_tables(plan, context)
    in_window = context.clock.now() - plan.made_at < window
    committed: Committed | None
    try:
        if in_window and not read_only and not _is_never_repeated(plan):
            outcome = yield from send(plan, context, resumed=True)
            committed = outcome if isinstance(outcome, Committed) else None
        else:
            committed = yield from _read_back(plan, context, in_window=in_window)
    except OutcomeUnknown:
        raise
    except StoreError:
        settle_as_before(plan)
        raise
    if committed is None:
        settle_as_before(plan)
        return False
    effects = awaited(plan)
    yield from apply_effects(effects, plan, context, as_stored=plan.caller_token)
    take_item(effects, plan, committed.item)
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


def _read_back(plan: Plan, context: Context, *, in_window: bool) -> Flow[Committed | None]:
    if not _is_never_repeated(plan):
        committed = yield from is_committed(plan, context)
        if in_window and not committed:
            why = "the item does not show the write, and the request may still arrive"
            raise OutcomeUnknown(plan=plan, reason=why, remedy=_MAY_ARRIVE)
        return Committed(None) if committed else None
    planned = plan.actions[0]
    item = yield from stored(plan, planned, context)
    if is_in_effect(planned, item) or (item is None and planned.purpose in DELETES):
        return Committed(item)
    if not in_window and not planned.blind and is_as_expected(planned, item):
        return None
    # Another writer may have overwritten it. If it were said not to be made, the caller might count it twice.
    why = "the item does not show the write, or not any more"
    raise OutcomeUnknown(plan=plan, reason=why, remedy=_WRITTEN_OVER)

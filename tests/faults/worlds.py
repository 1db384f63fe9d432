"""A DynamoDB in memory whose every request may be answered or not, and what the contract says of a write on it.

It is the reference for ``flow/write_endings.py``, and knows nothing of it: what was done decides, not what the flow was
told.
Every sequence of a few events is tried: a run takes its choices from a list, and says how many there are at each point.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from types import FrameType
from typing import Any, Final, NamedTuple

from dynaorm import Plan, Retry
from dynaorm.entity.state import PendingWrite, carried_by, set_state
from dynaorm.errors import OutcomeUnknown, StoreError, TokenReused, UsageError
from dynaorm.flow.call import TIMED_OUT, Context, Flow, Pause
from dynaorm.flow.write import resume, send, stored
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import holds
from dynaorm.item.update import apply_changes
from dynaorm.plan.compiler import Committed
from dynaorm.plan.guards import GUARDS
from dynaorm.plan.plan import Planned
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, NoAnswer, Reason, Refusal
from tests.dynamodb_json import Item

NOW: Final = 1_700_000_000.0
WINDOW: Final = 540.0
ATTEMPTS: Final = 3


class Stopped(BaseException):
    """As a cancelled task, or Ctrl-C."""


class Case(NamedTuple):
    """A plan, and the table that it meets.

    Attributes:
        plan: the plan.
        stored: the plans that were carried out before, in order; ours may be an equal block that runs again.
        is_repeatable: whether it may be sent again after an attempt without an answer.
        can_be_seen: whether the items say later whether it was carried out.
        earlier: "equal" or "another", if a block under the same token is among those that were carried out before.
        is_forgotten: whether DynamoDB has forgotten their tokens.
        can_be_told: whether a token item says which of the two it was.
        again: for a block that cannot be planned, what finds out whether an equal one was applied before.
    """

    plan: Plan
    stored: tuple[Plan, ...] = ()
    is_repeatable: bool = True
    can_be_seen: bool = True
    earlier: str = ""
    is_forgotten: bool = False
    can_be_told: bool = False
    again: Callable[[Context], Flow[bool]] | None = None


class Choices:
    """The choices of one run: those given, and then the first of each."""

    def __init__(self, given: tuple[int, ...]) -> None:
        self.given = given
        self.counts: list[int] = []
        self.names: list[str] = []

    def of(self, *options: str) -> str:
        place = len(self.counts)
        self.counts.append(len(options))
        chosen = options[self.given[place] if place < len(self.given) else 0]
        self.names.append(chosen)
        return chosen


class World:
    """The tables, the tokens that DynamoDB remembers, and the requests that are still under way."""

    def __init__(self, case: Case) -> None:
        self.items: dict[Any, Item] = {}
        self.tokens: dict[str, Any] = {}
        self.requests: dict[int, Any] = {}
        self.under_way: list[Plan] = []
        self.carried_out = 0
        self.is_deleted_by_others = self.is_written_over = False
        for plan in case.stored:
            self.carry_out(plan)
        if case.is_forgotten:
            self.tokens.clear()
        self.first = dict(self.items)
        self.carried_out = 0

    def item(self, planned: Planned) -> Item | None:
        return self.items.get(_place(planned))

    def carry_out(self, plan: Plan) -> Mapping[str, Any]:
        """What DynamoDB does with a request. Raises Refusal."""
        if (request := self.requests.get(id(plan))) is None:
            request = self.requests[id(plan)] = plan.shared_request
        token = None
        if plan.is_transaction:
            token = request["ClientRequestToken"]
            if (known := self.tokens.get(token, request)) != request:
                raise Refusal("IdempotentParameterMismatchException")
            if token in self.tokens and known is not None:
                return {}
        self.check(plan)
        for planned in plan.actions:
            self._do(planned)
        self.carried_out += 1
        self.is_deleted_by_others = self.is_written_over = False
        if token is not None:
            self.tokens[token] = request
        return {"Attributes": self.item(plan.actions[0])} if "ReturnValues" in request else {}

    def check(self, plan: Plan) -> None:
        """Whether all conditions hold. Raises Refusal."""
        found = [self.item(one) for one in plan.actions]
        failed = [
            Reason("ConditionalCheckFailed", "", item)
            if one.action.condition is not None and not holds(one.action.condition, item or {})
            else None
            for one, item in zip(plan.actions, found, strict=True)
        ]
        if any(failed) and plan.is_transaction:
            raise Refusal("TransactionCanceledException", reasons=tuple(failed))
        if any(failed):
            raise Refusal("ConditionalCheckFailedException", item=found[0])

    def _do(self, planned: Planned) -> None:
        match planned.action:
            case Put(item=item):
                self.items[_place(planned)] = item
            case Update(key=key, changes=changes):
                self.items[_place(planned)] = {**apply_changes(self.item(planned) or {}, changes), **key}
            case Delete():
                self.items.pop(_place(planned), None)
            case ConditionCheck():
                pass

    def others(self, what: str, plan: Plan) -> None:
        """What another writer does to the item of the first action, or a request that arrives late."""
        first = plan.actions[0]
        place, revision = _place(first), first.mapping.table.revision
        if what == "a late request arrives":
            late = self.under_way.pop()
            with suppress(Refusal):
                self.carry_out(late)
        elif what == "others delete":
            self.is_deleted_by_others = self.is_written_over = True
            self.items.pop(place, None)
        elif what == "others write the same":
            if first.revision is None:  # with a revision they would write their own
                self.is_written_over = True
                self.items.setdefault(place, self.first.get(place, {}))
                self._do(first)
                self.items[place] = {**self.items[place], "by": {"S": "others"}}
        elif what in ("others write", "others write what was"):
            known = (
                self.first.get(place) or first.after or {**first.item_key, "_type": {"S": first.mapping.name}}
            )
            theirs: Item = (
                {} if what == "others write what was" else {"left": {"N": "77"}, "email": {"S": "their@x"}}
            )
            self.is_written_over = True
            mark: Item = {}
            if revision is not None:
                number = int(known.get(revision.attribute, {}).get("N", "0")) + 1
                mark = {revision.attribute: {"N": str(number)} if revision.kind == "N" else {"S": "theirs"}}
            self.items[place] = {**known, **theirs, **mark}

    def forget_tokens(self, plan: Plan) -> None:
        """What DynamoDB does with a token after ten minutes, and with an expired token item."""
        self.tokens.clear()
        if plan.token_item is not None:
            self.items.pop(_place(plan.token_item), None)

    def copied(self) -> "World":
        then = copy(self)
        then.items, then.tokens, then.under_way = dict(self.items), dict(self.tokens), [*self.under_way]
        return then


def _place(planned: Planned) -> Any:
    return _place_of(planned.action.table, planned.item_key)


def _place_of(table: str, key: Item) -> Any:
    return (table, *[value["S"] for value in key.values()])


_WRITES: Final = (
    "answered",
    "carried out, no answer",
    "lost, no answer",
    "late, no answer",
    "not sent",
    "busy",
    "denied",
    "invalid",
    "no credentials",
    "carried out, stopped",
    "lost, stopped",
    "carried out, broken",
    "lost, broken",
)
_SHOWING: Final = ("read", "refused")
_OVERTAKEN: Final = "overtaken by a late request"
_BROKEN_LATER: Final = "answered, a time limit later"
_READS: Final = ("answered", "no answer", "no credentials", "lost, stopped", _BROKEN_LATER)
_TROUBLES: Final[Mapping[str, Callable[[], BaseException]]] = {
    "no answer": lambda: NoAnswer("timeout"),
    "not sent": lambda: NoAnswer("refused", sent=False),
    "busy": lambda: Refusal("ThrottlingException"),
    "denied": lambda: Refusal("AccessDeniedException", "no"),
    "invalid": lambda: Refusal("ValidationException", "The document path provided is invalid for update"),
    "no credentials": lambda: UsageError(problem="the credentials have expired", remedy="log in again"),
    "stopped": Stopped,
    "broken": lambda: OSError("no file"),
}


def _breaking(frame: FrameType, event: str, arg: Any) -> Any:
    """Raise what is no answer as soon as an item has been read: a time limit can come at any line."""
    if frame.f_code is not stored.__code__:
        return None
    if event == "return":
        sys.settrace(None)
        raise OSError("a time limit")
    return _breaking


def _trouble(fate: str) -> BaseException:
    return _TROUBLES[fate.rpartition(", ")[2]]()


class Told(NamedTuple):
    """What a flow was told last, and how it ended."""

    ending: str
    error: BaseException | None
    last: str
    shown: Item | None


class Run:
    """One plan in one world: it is sent, and perhaps resumed."""

    def __init__(self, case: Case, world: World, before: list[Any], choices: Choices) -> None:
        self.case, self.plan, self.choices = case, case.plan, choices
        self.world = world
        self.clock = FakeClock(NOW)
        self.context = Context(str, Retry(attempts=ATTEMPTS), self.clock)
        self.is_doubtful = self.is_unread = self.was_unread = self.is_blindly_repeated = False
        self.is_first_doubt = self.is_resumed = self.is_in_doubt = False
        self.attempts = 0
        self.is_over = False
        self.last = ""
        self.shown: Item | None = None
        for effect, (state, values) in zip(self.plan.effects, before, strict=True):
            set_state(effect.entity, state)
            vars(effect.entity).update(values)

    def end(self, flow: Flow[Any]) -> Told:
        """Run a flow to its end. Before each request, others may do something."""
        try:
            step = next(flow)
            while True:
                try:
                    reply = self._taken(step)
                except BaseException as raised:  # noqa: BLE001 - the flow must know of everything
                    step = flow.throw(raised)
                else:
                    step = flow.send(reply)
        except StopIteration as stop:
            is_done = stop.value is True or isinstance(stop.value, Committed)
            return Told("done" if is_done else "not made", None, self.last, self.shown)
        except OutcomeUnknown as error:
            return Told("unknown", error, self.last, self.shown)
        except (StoreError, UsageError) as error:
            return Told("not made", error, self.last, self.shown)
        except (Stopped, OSError) as error:
            return Told("stopped", error, self.last, self.shown)

    def _taken(self, step: Any) -> Any:
        if isinstance(step, Pause):
            what = self.choices.of("pause", "time is over", "stopped in a pause", "a minute passes")
            if what == "stopped in a pause":
                raise Stopped
            self.is_over = what == "time is over"
            if what == "a minute passes":
                self.clock.advance(60.0)
            return TIMED_OUT if self.is_over else self.clock.pause(step.seconds)
        late = ("a late request arrives",) if self.world.under_way else ()
        same = ("others write the same",) if _is_imitable(self.plan) else ()
        others = ("nobody", "others write", "others delete", "others write what was", *same, *late)
        self.world.others(self.choices.of(*others), self.plan)
        return self._read(step) if step.operation == "GetItem" else self._written()

    def _read(self, call: Call) -> Any:
        self.last, self.shown = self.choices.of(*_READS), None
        is_broken_later = self.last == _BROKEN_LATER
        if is_broken_later:
            self.is_unread = self.was_unread = True
            sys.settrace(_breaking)
        elif self.last != "answered":
            self.is_unread = self.was_unread = True
            raise _trouble(self.last)
        item = self.world.items.get(_place_of(call.request["TableName"], call.request["Key"]))
        self.last, self.shown = _BROKEN_LATER if is_broken_later else "read", item
        return {} if item is None else {"Item": item}

    def _written(self) -> Any:
        self.attempts += 1
        self.is_blindly_repeated |= self.is_doubtful and not self.case.is_repeatable
        # In the same sending, two requests with a token can be under way at once.
        can_pass = self.world.under_way and self.plan.is_transaction and not self.is_resumed
        self.last, self.shown = self.choices.of(*_WRITES, *([_OVERTAKEN] if can_pass else ())), None
        if self.last == _OVERTAKEN:
            return self._overtaken()
        fate, _, trouble = self.last.rpartition(", ")
        if trouble in ("no answer", "stopped", "broken"):
            self.is_first_doubt = not (self.is_doubtful or self.is_resumed)
            self.is_doubtful = self.is_in_doubt = True
        if fate == "late":
            self.world.under_way.append(self.plan)
        if fate == "carried out" or trouble == "answered":
            try:
                reply = self.world.carry_out(self.plan)
            except Refusal as refusal:
                if fate:
                    raise _trouble(self.last) from None
                self._refused(refusal)
                raise
            if not fate:
                self.last = "reply"
                return reply
        raise _trouble(self.last)

    def _refused(self, refusal: Refusal) -> None:
        first = refusal.reasons[0] if refusal.reasons else None
        self.last, self.shown = "refused", refusal.item if first is None else first.item

    def _overtaken(self) -> Any:
        """The token was still new when DynamoDB looked; then the late request came first."""
        self.world.others("a late request arrives", self.plan)
        try:
            self.world.check(self.plan)
        except Refusal as refusal:
            self._refused(refusal)
            raise
        self.last = "busy"
        raise Refusal("TransactionCanceledException", reasons=(Reason("TransactionConflict"),))


# -- what the contract says --------------------------------------------------------------------------------------------


def faults(case: Case, run: Run, told: Told, *, is_resumed: bool, is_past: bool = False) -> Iterator[str]:
    """What is wrong with an ending."""
    world, plan = run.world, case.plan
    is_plain_insert = not plan.is_transaction and isinstance(plan.actions[0].action, Put)
    if world.carried_out > 1 and not (is_plain_insert and world.carried_out == 2):
        yield "it was carried out twice"
    if run.is_blindly_repeated:
        yield "it was sent again, though that may count twice or undo what others did"
    kept = [isinstance(carried_by(effect.entity), PendingWrite) for effect in plan.effects]
    if told.ending in ("done", "not made"):
        if any(kept):
            yield "it has ended, and an object still waits"
    elif not all(kept) and (told.ending == "unknown" or world.carried_out or world.under_way):
        yield "nobody knows, and an object does not wait"
    if told.ending == "done" and not (
        world.carried_out or case.earlier == "equal" or _is_as_wanted(world, plan, is_resumed=is_resumed)
    ):
        yield "it is said to be done, and was not"
    if told.ending == "not made":
        yield from _denied(case, run, told, is_past=is_past)
    yield from _needless(case, run, told, is_past=is_past)


def _denied(case: Case, run: Run, told: Told, *, is_past: bool) -> Iterator[str]:
    """What is wrong with the word that it was not made."""
    # Of what was written over, resume() says that it is not in effect.
    if run.world.carried_out and not (is_past and run.world.is_written_over):
        yield "it is said not to be made, and was"
    # Another refusal, as for want of a permission, says nothing of the block.
    is_shown = told.shown is not None and case.plan.actions[0].has_written(told.shown)
    is_kept = is_shown or case.plan.token_item is not None or not (is_past or case.is_forgotten)
    if case.earlier == "equal" and is_kept and told.last in ("refused", "read"):
        yield "nothing was written, it says, and an equal block was applied under the token"
    if _can_arrive(run.world, case.plan):
        yield "it is said not to be made, and can still arrive"


def _needless(case: Case, run: Run, told: Told, *, is_past: bool) -> Iterator[str]:
    """What is said not to be known, or given up, though it is known."""
    if told.last == "reply" and told.ending != "done":
        yield "DynamoDB said that it was carried out"
    if told.last.endswith("stopped") and told.ending != "stopped":
        yield "it goes on, though it was stopped"
    if told.ending in ("unknown", "not made"):
        yield from _given_up(case, run, told)
        yield from _overlooked(case.plan, run, told)
    yield from _hidden(run, told)
    yield from _shown(case, run, told, is_past=is_past)
    if told.ending != "unknown" or case.earlier:
        return
    if not (run.is_doubtful or run.was_unread):
        yield "every attempt was answered"
    if is_past and case.can_be_seen and case.is_repeatable and not run.is_unread:
        yield "no request can arrive any more, and all items were read"


def _hidden(run: Run, told: Told) -> Iterator[str]:
    """Whether an exception that is no answer is told as an unknown outcome, though nothing was in doubt before."""
    is_alone = not (run.is_in_doubt or (run.is_resumed and run.attempts))
    is_broken = (told.last == _BROKEN_LATER and is_alone) or (
        told.last.endswith(", broken") and run.is_first_doubt
    )
    if is_broken and told.ending != "stopped":
        yield "the exception of another library is hidden"


def _given_up(case: Case, run: Run, told: Told) -> Iterator[str]:
    is_lost = told.last.endswith(", no answer")
    if is_lost and not case.is_repeatable:
        yield "it did not look at the item"
    if run.attempts < ATTEMPTS and not run.is_over and (is_lost or told.last in ("not sent", "busy")):
        yield "it gave up before attempts or time were spent"


def _overlooked(plan: Plan, run: Run, told: Told) -> Iterator[str]:
    if told.last not in _SHOWING:
        return
    first, shown = plan.actions[0], told.shown
    if shown is not None and first.has_written(shown):
        yield "its own revision was seen"
    is_delete = not plan.is_transaction and isinstance(first.action, Delete)
    if is_delete and run.is_doubtful and shown is None:
        yield "nothing was found where it deletes"


def _shown(case: Case, run: Run, told: Told, *, is_past: bool) -> Iterator[str]:
    """What the items show, though it is said not to be known."""
    if told.ending != "unknown" or told.last not in _SHOWING:
        return
    plan, first = case.plan, case.plan.actions[0]
    is_doubtful = (run.is_doubtful or run.is_resumed) and not is_past
    is_kept = plan.token_item is not None or not is_past
    if case.can_be_told and is_kept and not (case.earlier == "another" and is_doubtful):
        yield "the token item says which block was applied"
    # After another attempt without an answer, it is as if it were sent for the first time.
    if not run.is_resumed or run.is_in_doubt:
        return
    # Of several items, others may have written one after it was read.
    is_seen = len(plan.actions) == 1 and (told.last == "read" or not plan.is_transaction)
    if is_seen and _is_alike(first, run.world.item(first)):
        yield "the item is as the plan makes it, which is all that is asked"
    if is_past and first.expected_values is not None and told.shown == run.world.first.get(_place(first)):
        yield "the item is as before, and no request can arrive any more"
    if told.last == "refused" and plan.is_transaction and not case.earlier and _is_replaced(run.world, plan):
        yield "a revision was replaced, so it was never made and never will be"


def _is_replaced(world: World, plan: Plan) -> bool:
    """Whether the revision that an action requires is no longer stored."""
    return any(
        one.expected is not None and one.mapping.table.mark_of(world.item(one) or {}) != one.expected
        for one in plan.actions
    )


def _can_arrive(world: World, plan: Plan) -> bool:
    """Whether a request under way may still be carried out, whatever others do first."""
    if not world.under_way:
        return False
    for what in ("nobody", "others write", "others delete", "others write what was", "tokens lapse"):
        then = world.copied()
        then.others(what, plan)
        if what == "tokens lapse":
            then.forget_tokens(plan)
        for late in world.under_way:
            try:
                then.carry_out(late)
            except Refusal:
                continue
        if then.carried_out > world.carried_out:
            return True
    return False


def _is_as_wanted(world: World, plan: Plan, *, is_resumed: bool) -> bool:
    """Whether the table is as the plan leaves it, whoever made it so, which is all that is asked of it."""
    deleted = [one for one in plan.actions if isinstance(one.action, Delete) and one.kind is not GUARDS]
    if is_resumed and all(_is_alike(one, world.item(one)) for one in plan.actions):
        return True
    return (
        (is_resumed or not plan.is_transaction)
        and bool(deleted)
        and all(world.item(one) is None for one in deleted)
    )


def _is_alike(planned: Planned, item: Item | None) -> bool:
    """Whether an item has what an action stores, where no revision says by whom. A number alone says nothing."""
    if item is None or planned.revision is not None:
        return False
    if isinstance(planned.action, Put):
        return planned.action.item == item
    revision = planned.mapping.table.revision
    return (
        isinstance(planned.action, Update)
        and any(revision is None or one.path != revision.path for one in planned.action.changes)
        and apply_changes(item, planned.action.changes) == item
    )


def _is_imitable(plan: Plan) -> bool:
    """Whether others can store what the first action stores, because no revision says by whom."""
    first = plan.actions[0]
    return first.revision is None and isinstance(first.action, Put | Update)


# -- all sequences -----------------------------------------------------------------------------------------------------

MODES: Final = ("left", "resumed", "only read", "past", "not planned")


def faulty_runs(case: Case, events: int) -> Iterator[str]:
    """Of all runs with up to so many events beside the usual, those that end wrong, and what is wrong with them."""
    before = [(carried_by(effect.entity), dict(vars(effect.entity))) for effect in case.plan.effects]
    world = World(case)
    for mode in MODES:
        todo: list[tuple[tuple[int, ...], int]] = [((), 0)]
        while todo:
            given, used = todo.pop()
            choices = Choices(given)
            for fault, told in _whole(Run(case, world.copied(), before, choices), mode):
                events_of = ", ".join(one for one in choices.names if one not in ("nobody", "pause"))
                yield f"{fault}: {mode}, {events_of}: {told.ending} {told.error}"
            if used < events:
                todo += [
                    ((*given, *(0,) * (place - len(given)), option), used + 1)
                    for place in range(len(given), len(choices.counts))
                    for option in range(1, choices.counts[place])
                ]
    for effect, (state, values) in zip(case.plan.effects, before, strict=True):
        set_state(effect.entity, state)
        vars(effect.entity).update(values)


def _whole(run: Run, mode: str) -> Iterator[tuple[str, Told]]:
    """What is wrong with one run."""
    case, choices = run.case, run.choices
    if mode == "not planned":
        if case.again is not None:
            told = run.end(case.again(run.context))
            yield from ((fault, told) for fault in _not_planned(case, run, told))
        return
    told = run.end(send(case.plan, run.context))
    if mode == "left":
        yield from ((fault, told) for fault in faults(case, run, told, is_resumed=False))
        return
    is_left = any(isinstance(carried_by(effect.entity), PendingWrite) for effect in case.plan.effects)
    if told.ending != "unknown" and not is_left:
        return
    if mode == "past":
        if run.world.under_way and choices.of("never arrives", "arrived") == "arrived":
            run.world.others("a late request arrives", case.plan)
        run.clock.advance(600.0)
        run.world.tokens.clear()
        run.world.under_way.clear()
    run.is_unread = run.is_over = run.is_in_doubt = False
    run.attempts, run.last = 0, ""
    run.is_resumed = True
    told = run.end(resume(case.plan, run.context, WINDOW, read_only=mode == "only read"))
    found = faults(case, run, told, is_resumed=True, is_past=mode == "past")
    yield from ((fault, told) for fault in found)


def _not_planned(case: Case, run: Run, told: Told) -> Iterator[str]:
    """What is wrong with the word whether an equal block was applied before, of which this one cannot be planned."""
    right = "unknown"
    if case.can_be_told or not case.earlier:
        right = "done" if case.earlier == "equal" else "not made"
    is_said = told.ending == "done" or isinstance(told.error, TokenReused) or told.error is None
    if told.ending != "unknown" and is_said and told.ending != right:
        yield f"it is {right}"
    if told.ending == "unknown" and right != "unknown" and not run.is_unread:
        yield "the token item says which block was applied"
    if isinstance(told.error, TokenReused) and case.earlier != "another":
        yield "the token was not used for another block"
    if told.ending == "not made" and told.error is None and case.earlier:
        yield "the token was used"

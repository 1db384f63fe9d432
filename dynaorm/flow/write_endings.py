"""How a write ends, as a table: what is known so far, what happened, and what follows from the two.

Everything that affects how a write ends lives in this file. ``write_events.py`` says which event a refusal or a stored
item is, and decides nothing. ``write.py`` makes the attempts and follows the table. ``plan/compiler.py`` says what a
refusal means for the caller, once the table says that it counts.

Rule 1. Every attempt sends the same token and the same bytes. It is made again unless DynamoDB refused it for good.
Rule 2. An attempt without an answer may have been committed, and may still arrive. From then on a refusal proves
        nothing, unless the stored item carries the plan's own revision, or a delete finds nothing.
Rule 3. A committed transaction answers its token with success. So if one that is resumed is refused because a revision
        was replaced, it was never made, and never will be: a revision does not come back.
Rule 4. A plain write that no revision and no token binds is not made again after an attempt without an answer: it could
        count twice, or undo what others did since. Its item is read, and only the plan's own revision, or nothing where
        it deletes, says that it was made. An insert is bound: it is sent again, under absence.
Rule 5. A token item, or a revision that no other block writes, proves the whole block: a transaction is atomic.
        What other plans write too is no evidence: guard items, totals, an item that is missing. Without a revision, a
        block is in effect if every one of its items shows it. A number that counts the writes does not say whose.
Rule 6. What is settled by reading alone is in effect if the items show it. If they do not, it is not, as soon as no
        request can arrive any more. Of a write that nothing binds nobody knows, unless its item is as it was before.
Rule 7. Once an attempt may have been applied, every ending that is not a verdict is an unknown outcome, whatever ended
        it: credentials that expired, an item that cannot be read.
Rule 8. No object changes before the plan is committed. If the outcome is unknown, the object keeps the plan.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from dynaorm.errors import OutcomeUnknown


class State(Enum):
    """What is known while a plan is sent, or settled by reading."""

    SURE = "no attempt can have been committed"
    DOUBT = "an attempt of this sending got no answer"
    RESUMED = "an attempt of an earlier sending got no answer"
    LOOK = "an attempt of a write that nothing binds got no answer: its item is read"
    WITHIN = "nothing is sent, and an earlier request may still arrive: the items are read"
    PAST = "no request can arrive any more: the items are read"
    APPLIED = "the plan is committed, and the objects are to become what is stored: the items are read"

    # Every write asks the table. That of Enum takes the name's, in Python.
    __hash__ = object.__hash__


class Event(Enum):
    """What happened, or what the items show."""

    REPLY = "success"
    UNSENT = "the request never left"
    BUSY = "refused for a moment: a conflict, a throttle, a wrong clock"
    SILENCE = "no answer; or DynamoDB says that an earlier attempt is still under way"
    UNBOUND = "no answer to a plain write that no revision and no token binds"
    SPENT = "not sent, refused for a moment or not answered, and attempts or time are spent"
    REFUSED = "refused for good, whatever is stored"
    UNMADE = "the next request could not be made: no credentials, say"
    BROKEN = "an exception that is no answer came from a request under way: a time limit, another library"
    CUT = "cancelled, or stopped by Ctrl-C, while a request was under way"
    IDLE = "cancelled, or stopped by Ctrl-C, while none was"
    UNREAD = "an item could not be read"
    OWN = "an item carries the plan's revision"
    GONE = "nothing is stored where a plain write, or everything of a plan that shows, deletes"
    ALIKE = "no revision could tell, and the item is as the plan makes it"
    AS_BEFORE = "the item is as the plain write expects it"
    OTHER = (
        "the item of the plain write is otherwise, or no item shows the block, and its token item has expired"
    )
    FAILED = "a transaction's condition failed, and no revision that it is bound to was replaced"
    REPLACED = "a revision that the transaction is bound to was replaced"
    NOT_SHOWN = "no item shows the plan"
    UNTOLD = "no item can show the plan: it adds or appends, and no revision tells by whom"
    SAME = "the block was applied: its token item says so"
    REMEMBERED = "another block was applied: its token item says so"
    PERHAPS = "this block or another one was applied under the token"
    LAPSED = "only the token item was in the way, and its time is over by now"

    __hash__ = object.__hash__


class Step(Enum):
    """What follows. Only DONE changes objects; where no one knows, and with KEPT, they keep the plan."""

    AGAIN = "make another attempt"
    DOUBT = "make another attempt, from now on in DOUBT"
    LOOK = "read the item"
    DONE = "committed"
    NOT_MADE = "not committed, and it never will be: compile it again"
    VERDICT = "the refusal counts: it becomes the error that names its cause"
    TAKEN = "TokenReused: a token item remembers another block"
    RAISE = "the error itself is raised"
    KEPT = "the error itself is raised, and the plan may have been committed"


class UnknownOutcome(NamedTuple):
    """A step: OutcomeUnknown, with its reason and what to do, in which names in braces are what happened."""

    reason: str
    remedy: str


_GET: Final = "get the entity to see what is stored, and decide again"
_ARRIVE: Final = (
    "the unanswered request may still arrive: call session.resume(error.plan) later, which is certain nine minutes "
    f"after the write; or {_GET}"
)
_OVER: Final = f"what is stored is not what this write left, so sending it again finds out nothing; {_GET}"
_OTHERS: Final = (
    "get the entities to see whether the block was applied, and decide again; "
    "give every other block its own token"
)
_FIND_OUT: Final = "{credentials}call session.resume(error.plan), which finds out whether it was made"
_NEXT: Final = "an attempt got no answer, and the next was refused ({code})"

NO_ANSWER: Final = UnknownOutcome("no answer after {counted attempts} ({code})", OutcomeUnknown.remedy)
STOPPED: Final = UnknownOutcome(
    "an attempt got no answer, and the next could not be made{problem}", _FIND_OUT
)
UNREAD: Final = UnknownOutcome("the item could not be read back{problem}", _FIND_OUT)
MAY_ARRIVE: Final = UnknownOutcome(_NEXT, _ARRIVE)
# The token item may expire before the unanswered request arrives.
ANOTHER: Final = UnknownOutcome(
    "an attempt got no answer, and the next was refused, because another block was applied under the token",
    f"give every other block its own token; {_ARRIVE}",
)
NOT_YET: Final = UnknownOutcome("the item does not show the write, and the request may still arrive", _ARRIVE)
OVER: Final = UnknownOutcome(_NEXT, _OVER)
LIKE_OURS: Final = UnknownOutcome(
    "an attempt got no answer, and what is stored is as this write makes it, but others may have stored the same",
    f"call session.resume(error.plan), which says whether it is in effect; or {_GET}",
)
NOT_SEEN: Final = UnknownOutcome("the item does not show the write, or not any more", _OVER)
UNTOLD: Final = UnknownOutcome(
    "the item cannot show the write: it adds or appends, and no revision tells", _GET
)
NOT_AGAIN: Final = UnknownOutcome(
    "{code}",
    f"it is not sent again, because that could undo what others did since; {_GET}. "
    "session.resume(error.plan) only reads the item again",
)
PERHAPS: Final = UnknownOutcome(
    "the token is remembered for a block that differs in what it saves of loaded entities: this block, loaded from "
    "other items, or another one",
    _OTHERS,
)

AGAIN, DOUBT, LOOK, DONE, NOT_MADE, VERDICT, TAKEN, RAISE, KEPT = Step
Cell: TypeAlias = Step | UnknownOutcome | None
___: Final = None  # cannot happen

ROWS: Final[Mapping[Event, tuple[Cell, ...]]] = {
    # event            SURE       DOUBT       RESUMED     LOOK       WITHIN    PAST      APPLIED
    #
    # An attempt. Only a reply, or DynamoDB's word that nothing was written, is certain; Rules 1, 2 and 4.
    Event.REPLY:      (DONE,      DONE,       DONE,       ___,       ___,      ___,      ___),
    Event.UNSENT:     (AGAIN,     AGAIN,      AGAIN,      ___,       ___,      ___,      ___),
    Event.BUSY:       (AGAIN,     AGAIN,      AGAIN,      ___,       ___,      ___,      ___),
    Event.SILENCE:    (DOUBT,     DOUBT,      DOUBT,      ___,       ___,      ___,      ___),
    Event.UNBOUND:    (LOOK,      ___,        ___,        ___,       ___,      ___,      ___),
    Event.SPENT:      (RAISE,     NO_ANSWER,  NO_ANSWER,  ___,       ___,      ___,      ___),
    Event.REFUSED:    (VERDICT,   MAY_ARRIVE, MAY_ARRIVE, ___,       ___,      ___,      ___),
    #
    # An exception that is no answer. It says nothing of the request under way, nor of those before; Rule 7.
    Event.UNMADE:     (RAISE,     STOPPED,    STOPPED,    STOPPED,   KEPT,     KEPT,     KEPT),
    Event.BROKEN:     (KEPT,      STOPPED,    STOPPED,    ___,       ___,      ___,      ___),
    Event.CUT:        (KEPT,      KEPT,       KEPT,       ___,       ___,      ___,      ___),
    Event.IDLE:       (RAISE,     KEPT,       KEPT,       KEPT,      KEPT,     KEPT,     KEPT),
    # What is read decides, also where a token was used before, and where others may have written since.
    Event.UNREAD:     (UNREAD,    UNREAD,     UNREAD,     UNREAD,    UNREAD,   UNREAD,   UNREAD),
    #
    # An item, which came with the refusal or was read. Nobody else writes the plan's revision; Rule 2.
    Event.OWN:        (DONE,      DONE,       DONE,       DONE,      DONE,     DONE,     ___),
    # Others may have deleted it as well: what was wanted is so.
    Event.GONE:       (VERDICT,   DONE,       DONE,       DONE,      DONE,     DONE,     ___),
    # Without a revision, others may have stored the same. Whoever only asks later whether it is in effect has his
    # answer; a write that others made is not this one.
    Event.ALIKE:      (VERDICT,   LIKE_OURS,  DONE,       NOT_AGAIN, DONE,     DONE,     ___),
    # The write may still arrive; later, an item that is as before proves that it did not; Rule 6.
    Event.AS_BEFORE:  (VERDICT,   OVER,       OVER,       NOT_AGAIN, NOT_SEEN, NOT_MADE, ___),
    # Others may have written over it. If it were said not to be made, the caller might count it twice.
    Event.OTHER:      (VERDICT,   OVER,       OVER,       NOT_AGAIN, NOT_SEEN, NOT_SEEN, ___),
    #
    # A transaction. A condition that failed now may hold when the request arrives, but for a revision; Rule 3. In the
    # same sending, an earlier attempt may have been committed meanwhile, and what it deleted be what is refused.
    Event.FAILED:     (VERDICT,   MAY_ARRIVE, MAY_ARRIVE, ___,       ___,      ___,      ___),
    Event.REPLACED:   (VERDICT,   MAY_ARRIVE, VERDICT,    ___,       ___,      ___,      ___),
    Event.NOT_SHOWN:  (___,       ___,        ___,        ___,       NOT_YET,  NOT_MADE, ___),
    Event.UNTOLD:     (___,       ___,        ___,        ___,       NOT_YET,  UNTOLD,   ___),
    #
    # A token of the caller's. It tells equal blocks from others, in every process; Rule 5.
    Event.SAME:       (DONE,      DONE,       DONE,       ___,       DONE,     DONE,     ___),
    # The table keeps one token item per token: so this block was not applied. It may be yet, if that item expires
    # before an attempt arrives that got no answer.
    Event.REMEMBERED: (TAKEN,     ANOTHER,    ANOTHER,    ___,       NOT_YET,  NOT_MADE, ___),
    Event.PERHAPS:    (PERHAPS,   PERHAPS,    PERHAPS,    ___,       PERHAPS,  PERHAPS,  ___),
    Event.LAPSED:     (NOT_MADE,  MAY_ARRIVE, MAY_ARRIVE, ___,       ___,      ___,      ___),
}  # fmt: skip

TABLE: Final = {
    (event, state): cell for event, row in ROWS.items() for state, cell in zip(State, row, strict=True)
}


def follows(event: Event, state: State) -> Step | UnknownOutcome:
    """What follows from an event."""
    cell = TABLE[event, state]
    assert cell is not None, f"{event} in {state}"
    return cell

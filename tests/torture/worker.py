"""One process of the torture test: draws operations, meets faults, and writes a journal: ``worker.py ORDERS``.

``ORDERS`` is JSON, see ``Orders``. Faults strike between the session and a real transport. An operation of unknown
outcome is resumed a few times, as an application would do, and its second answer counts.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from dynaorm import AsyncSession, Entity, Retry, Session, inspect
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    ConstraintViolation,
    Contention,
    EntityNotFound,
    OutcomeUnknown,
    StaleEntity,
    StoreError,
    Throttled,
    Unreachable,
)
from dynaorm.testing import Fault, FaultyTransport, faults
from dynaorm.testing.faults import Strike
from dynaorm.transport import Call, NoAnswer, PynamoTransport, Reply, Transport
from dynaorm.transport.clock import SystemClock
from tests.torture.cancelling import Cancelling, DrivenSession
from tests.torture.entities import TABLES, WITHOUT_REVISION, claims, kind_of, name_of_key, shown
from tests.torture.journal import (
    ACKNOWLEDGED,
    READS,
    REFUSED,
    UNKNOWN,
    Journal,
    Observed,
    Result,
    operation_of,
)
from tests.torture.kinds import KINDS
from tests.torture.operations import NotDeleted, Operation, Results, World

ATTEMPTS = (1, 2, 8, 8)
RESUMES = 4
FAULTY = 0.5
"""The probability that a write meets faults. For a read it is a fifth of it."""
ASYNCHRONOUS = 0.2
"""The probability that a write is sent by an AsyncSession, which may be cancelled."""
DEADLY = 0.002
"""The probability that an operation ends its process."""

STOP = "stop"


@dataclass(frozen=True, slots=True)
class Orders:
    """The instructions for a process.

    Attributes:
        endpoint, table: where the entities are.
        process: its name, unique in the run.
        seed: decides, with the name, what it draws.
        folder: the folder of its journal. A file called ``STOP`` in it ends the work.
        begins: the start of the whole run, as ``time.monotonic_ns`` counts.
        epoch: the length of an epoch in nanoseconds.
    """

    endpoint: str
    table: str
    process: str
    seed: int
    folder: str
    begins: int
    epoch: int

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.torture.worker", json.dumps(asdict(self))]


class NamedClock(SystemClock):
    """The real clock. Its identifiers, which become the revisions of what is written, name the operation."""

    def __init__(self) -> None:
        self.operation = ""
        self._drawn = 0

    def now_for(self, operation: str) -> None:
        self.operation, self._drawn = operation, 0

    def new_id(self) -> str:
        self._drawn += 1
        return f"{self.operation}-{self._drawn}"


class Worker:
    """Performs operations against a transport, each in a session with faults of its own, and journals them.

    Args:
        transport: reaches DynamoDB.
        table: the table's name there.
        journal: of this process.
        chance: the random numbers that decide everything.
        faulty: the probability that an operation meets faults.
        deadly: the probability that it ends the process.
    """

    def __init__(
        self,
        transport: Transport,
        table: str,
        journal: Journal,
        chance: Random,
        *,
        faulty: float = FAULTY,
        deadly: float = DEADLY,
    ) -> None:
        self._transport = self._wire = transport
        self._table = table
        self._journal = journal
        self._chance = chance
        self._faulty, self._deadly = faulty, deadly
        self._clock = NamedClock()
        self._number = 0
        self._struck: list[str] = []
        self._unanswered = False
        self._held: dict[str, Entity] = {}
        self._opened: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._epoch = ""

    def close(self) -> None:
        self._loop.close()

    def draw(self, epoch: str) -> None:
        """Perform an operation of some kind."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._held.clear()
        run = self._journal.process.partition(".")[0]
        world = World(self._chance, epoch, self.perform, self._held, run, self._opened)
        (kind,) = self._chance.choices([*KINDS], [*KINDS.values()])
        operation = kind(world)
        if operation is not None:
            self.perform(operation)

    def perform(self, operation: Operation) -> Results | None:
        """Send one operation, and journal it before and after. Return its result, or None if it failed."""
        self._number += 1
        self._struck, self._unanswered = [], False
        self._clock.now_for(f"{self._journal.process}-{self._number}")
        before = _revisions(operation.subjects)
        for effect in operation.effects:
            # Forget an object whose write failed, or has no known outcome.
            self._held.pop(effect.on, None)
        self._journal.begin(self._number, operation.name, operation.effects)
        try:
            returned = self._settled(operation, self._faulty if _writes(operation) else self._faulty / 5)
        except OutcomeUnknown as unknown:
            self._end(UNKNOWN, error=type(unknown).__name__, unanswered=self._unanswered)
        except StoreError as refusal:
            after = _revisions(operation.subjects)
            moved = [name for name, revision in before.items() if after[name] != revision]
            # That a version is not found says nothing about the entity.
            is_modelled = any(effect.do not in ("pay", "restore") for effect in operation.effects)
            observed = [*_observed(refusal)] if is_modelled else []
            error = type(refusal).__name__
            self._end(REFUSED, observed=observed, error=error, changed=moved, unanswered=self._unanswered)
        else:
            found = operation.subjects if returned is None else returned
            results = [_result(name, entity) for name, entity in found.items() if operation.shows_all]
            self._end(ACKNOWLEDGED, results=results, unanswered=self._unanswered)
            if operation.name != "read version":
                self._held |= {name: one for name, one in found.items() if _is_stored(one)}
            return found
        return None

    def _settled(self, operation: Operation, faulty: float) -> Results | None:
        """Send it, and find out about it if its outcome is unknown, as an application would do."""
        plan: Any = None
        try:
            return operation.send(self._first_session(operation, faulty))
        except asyncio.CancelledError:
            self._unanswered = True
        except OutcomeUnknown as unknown:
            plan = unknown.plan
        resends = operation.is_repeated or (plan is None and operation.is_of_objects)
        # Without a revision resume() says whether the change is stored, not who made it.
        resumes = plan is not None and not _without_revision(operation)
        for _ in range(RESUMES if resumes or resends else 0):
            try:
                return self._resent(operation, faulty) if resends else self._resumed(operation, plan, faulty)
            except OutcomeUnknown:
                continue
            except (Contention, Throttled, Unreachable):
                # Of a block that is repeated under its token, this says nothing about the sending before.
                if not operation.is_repeated:
                    raise
        raise OutcomeUnknown(plan=plan, reason="it was not settled")

    def _resumed(self, operation: Operation, plan: Any, faulty: float) -> Results | None:
        if self._session(faulty).resume(plan):
            return None if operation.subjects else {}
        raise NotInEffect

    def _resent(self, operation: Operation, faulty: float) -> Results | None:
        """Send it again: its token, or its objects, find out whether it was made."""
        try:
            session = self._session(faulty)
            if operation.name == "touch":
                # Another touch would be another write. To save what has not changed only finds out about the first.
                for entity in operation.subjects.values():
                    session.save(entity)
                if self._is_made(operation):
                    return None
            return operation.send(session)
        except OutcomeUnknown:
            raise
        except StoreError:
            if not self._is_made(operation):
                raise
            # The cancelled write was made. Only this one was refused: a touch, or after what was written expired.
            return None

    def _is_made(self, operation: Operation) -> bool:
        """Whether the objects carry the revision of an operation: its write was made, though it was cancelled."""
        revisions = _revisions(operation.subjects).values()
        return any(operation_of(one or "") == self._clock.operation for one in revisions)

    def _first_session(self, operation: Operation, faulty: float) -> Any:
        """A session, or an asynchronous one, one of whose requests may be cancelled."""
        session = self._session(faulty)
        if not _is_cancellable(operation) or self._chance.random() >= ASYNCHRONOUS:
            return session
        at = self._chance.choice((1, 1, 2)) if self._chance.random() < faulty else 0
        delivers = self._chance.random() < 0.5

        def note() -> None:
            self._struck.append("cancelled")

        cancelling = Cancelling(self, at, note, delivers=delivers)
        return DrivenSession(AsyncSession(transport=cancelling, **self._settings()), self._loop)

    def _end(self, outcome: str, **said: Any) -> None:
        self._journal.end(self._number, outcome, struck=self._struck, **said)

    def call(self, call: Call, /) -> Reply:
        """Make one attempt (the ``Transport`` protocol): faults strike before it, and missing answers are noted."""
        try:
            return self._wire.call(call)
        except NoAnswer as silence:
            self._unanswered |= silence.sent
            raise

    def _session(self, faulty: float) -> Session:
        drawn = [_renamed(fault, fault.name, self._counted(fault)) for fault in self._faults(faulty)]
        self._wire = FaultyTransport(self._transport, *drawn)
        return Session(transport=self, **self._settings())

    def _settings(self) -> dict[str, Any]:
        return {
            "table_names": {table.name: f"{self._table}{suffix}" for table, suffix in TABLES.items()},
            "retry": Retry(attempts=self._chance.choice(ATTEMPTS), base=0.001, cap=0.01),
            "clock": self._clock,
        }

    def _faults(self, faulty: float) -> Iterable[Fault]:
        """None, one or two faults for the next calls."""
        chance = self._chance
        if chance.random() < self._deadly:
            yield chance.choice([faults.crash_before, faults.crash_after])(at=chance.randint(1, 2))
        if chance.random() < faulty:
            for _ in range(chance.randint(1, 2)):
                at, times = chance.choice((1, 1, 2, 3)), chance.randint(1, 2)
                yield chance.choice(FAULTS)(at=at, times=times)

    def _counted(self, fault: Fault) -> Strike:
        def strike(call: Call, inner: Transport) -> Reply:
            self._struck.append(fault.name)
            return fault.strike(call, inner)

        return strike


class NotInEffect(StoreError):
    """A plan of unknown outcome turned out not to have been made."""

    problem: str = "resume() says that nothing was written"


def refused_connection(*, at: int, times: int) -> Fault:
    fault = faults.lost_request(at, times, sent=False)
    return _renamed(fault, "refused_connection", fault.strike)


def _renamed(fault: Fault, name: str, strike: Strike) -> Fault:
    return Fault(name, strike, fault.at, fault.times, fault.operations)


def delivered_twice(*, at: int, times: int) -> Fault:
    """A transaction arrives twice, as if a network had repeated it. The caller gets the second answer."""

    def strike(call: Call, inner: Transport) -> Reply:
        inner.call(call)
        return inner.call(call)

    return Fault("delivered_twice", strike, at, times, frozenset({"TransactWriteItems"}))


FAULTS: tuple[Any, ...] = (
    faults.lost_answer,
    faults.lost_answer,
    faults.lost_request,
    refused_connection,
    faults.conflict,
    faults.throttle,
    faults.in_progress,
    delivered_twice,
)


def _without_revision(operation: Operation) -> bool:
    return any(kind_of(one.on) == WITHOUT_REVISION for one in operation.effects)


def _is_cancellable(operation: Operation) -> bool:
    """Whether a cancellation can be accounted for: an effect may stay unknown, or the objects settle it."""
    return _writes(operation) and operation.name != "count in a block" and not _without_revision(operation)


def _writes(operation: Operation) -> bool:
    return not operation.effects or any(one.do not in READS for one in operation.effects)


def _revisions(subjects: Mapping[str, Entity]) -> dict[str, str | None]:
    return {name: inspect(entity).revision for name, entity in subjects.items()}


def _is_stored(returned: Any) -> bool:
    """Whether an operation returned an entity that is stored, and not a number, or what it deleted."""
    return isinstance(returned, Entity) and inspect(returned).loaded


def _result(name: str, entity: Any) -> Result:
    if entity is None:
        return Result(name, None)
    if isinstance(entity, Mapping):
        return Result(name, entity, partial=True)
    known = inspect(entity)
    return Result(name, shown(entity), known.revision, known.version)


def _observed(refusal: StoreError) -> Iterable[Observed]:
    """What a refusal, and the item that came with it, proves about what is stored."""
    for cause in refusal.causes or (refusal,):
        if isinstance(cause, StaleEntity):
            yield from _stale(cause, name_of_key(cause.key))
        elif isinstance(cause, NotDeleted):
            yield Observed(cause.name, "present")
        elif isinstance(cause, EntityNotFound):
            yield Observed(name_of_key(cause.key), "absent")
        elif isinstance(cause, ConditionFailed):
            yield Observed(name_of_key(cause.key), "not where")
        elif isinstance(cause, ConstraintViolation):
            if isinstance(cause, AlreadyExists):
                yield Observed(name_of_key(cause.key), "present")
            yield from _held(cause)


def _stale(cause: StaleEntity, on: str) -> Iterable[Observed]:
    if cause.expected is None:
        yield Observed(on, "not as")
        return
    yield Observed(on, "not revision", cause.expected)
    if cause.problem.endswith("has expired since it was loaded"):
        return  # nothing was sent, and by now another writer may have stored one that lives longer
    yield Observed(on, "absent") if cause.found is None else Observed(on, "revision", cause.found)


def _held(violation: ConstraintViolation) -> Iterable[Observed]:
    for one in violation.violations:
        if one.owner is not None:
            owner: Any = one.owner
            values = one.value if isinstance(one.value, tuple) else (one.value,)
            fields = dict(zip(one.fields, values, strict=True))
            yield Observed(name_of_key(owner), "holds", claims(owner.entity.__name__, fields)[one.constraint])


def main(orders: Orders) -> None:
    """Work until told to stop."""
    folder = Path(orders.folder)
    transport = PynamoTransport(endpoint=orders.endpoint)
    journal = Journal(folder, orders.process)
    worker = Worker(transport, orders.table, journal, Random(f"{orders.seed}/{orders.process}"))
    while not (folder / STOP).exists():
        worker.draw(str((time.monotonic_ns() - orders.begins) // orders.epoch))
    worker.close()
    journal.close()
    transport.close()


if __name__ == "__main__":
    main(Orders(**json.loads(sys.argv[1])))

"""``apply``: bring a live table to its declaration, as far as nothing is removed.

Rule 1. Every step is judged from the live table. So ``apply`` that was killed is continued by running it again, and two
        that run at once do no step twice.
Rule 2. UpdateTable changes one global or vector index or the stream, and the next one waits until the table is active
        and no index is being created or deleted (Amazon DynamoDB API Reference, UpdateTable). What another program
        changes is waited for, too.
Rule 3. Nothing is deleted, switched off or replaced. What would need that is left, with the reason.
Rule 4. A table with other keys than declared is taken for another table, and nothing in it is changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import check_amount, check_flag, check_plain_function
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import Table, check_table
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.call import Context, Flow, Pause, Refusal, Reply
from dynaorm.flow.integrity.finding import RepairResult
from dynaorm.flow.read import answered, error_of_refusal
from dynaorm.flow.table_definition import INDEXES, Difference, TableStep, changed_indexes
from dynaorm.flow.tables import LiveTable, TableLocation, call_of, live_table, location_of
from dynaorm.plan.derived_kinds import has_derived
from dynaorm.record import record, replace

WAIT: Final = 86400.0
"""The default number of seconds to wait for DynamoDB to end one change of a table."""

# Polling is free. The pauses grow, because an index of a large table takes hours.
_FIRST_POLL: Final = 0.5
_LONGEST_POLL: Final = 5.0
# DescribeTable is eventually consistent (Amazon DynamoDB API Reference): what was accepted may not be seen yet.
_UNSEEN_SECONDS: Final = 600.0
# A change that was refused may be there: made by an attempt without an answer, or by another program.
_REFUSED_SECONDS: Final = 10.0
_NOT_YET: Final = ("LimitExceededException", "ResourceInUseException")
"""DynamoDB changes something else in this table, or in too many tables of the account."""

_IN_CHANGE: Final = ("CREATING", "UPDATING", "DELETING")


@record
class ApplyProgress:
    """What ``apply`` is doing.

    Attributes:
        table: the physical name of the table.
        text: the step, in words: ``create the index 'GSI1'``.
        state: whether it begins, is waited for, or is done.
        detail: what it waits for, in words.

    Examples:
        >>> applied = apply(session, Table("songs"), progress=print)
        songs: create the table 'songs': begun
        songs: create the table 'songs': done
    """

    table: str
    text: str
    state: Literal["begun", "waiting", "done"]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.table}: {self.text}: {self.state}" + (f", {self.detail}" if self.detail else "")


OnProgress: TypeAlias = Callable[[ApplyProgress], object]
"""Called at each step of ``apply``."""


@record
class PlannedChange:
    """A difference between a declared table and the live one, and what ``apply`` does about it.

    Attributes:
        difference: what differs.
        steps: the requests that ``apply`` sends; empty for what it leaves.
        reason: why it leaves the difference, and what you can do; empty for what it does.
    """

    difference: Difference
    steps: tuple[TableStep, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if self.steps:
            return f"{self.difference.problem}: {', then '.join(step.text for step in self.steps)}"
        return f"{self.difference.problem}: left, because {self.reason}"


@record
class ApplyPlan:
    """What ``apply`` would do with a table and its guard table as they are now.

    Attributes:
        tables: where they are, and how large; DynamoDB updates the sizes every six hours.
        changes: everything that differs from the declaration, and what is done about it.
        waits: what is waited for first, in words, such as an index that is being created.
        backfills: the tables whose entities are completed afterwards, because an index or guard table is added.

    Examples:
        >>> [step.text for step in plan_apply(session, Table("songs")).steps]
        ["create the table 'songs'"]
    """

    tables: tuple[TableLocation, ...]
    changes: tuple[PlannedChange, ...]
    waits: tuple[str, ...]
    backfills: tuple[TableLocation, ...]

    @property
    def steps(self) -> tuple[TableStep, ...]:
        """The requests that change tables, in order."""
        return tuple(step for change in self.changes for step in change.steps)

    @property
    def left(self) -> tuple[PlannedChange, ...]:
        """The differences that stay, without those that are harmless."""
        return tuple(one for one in self.changes if not one.steps and not one.difference.is_harmless)

    @property
    def does_nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps and not self.waits and not self.backfills

    @property
    def index_units(self) -> int | None:
        """The most write units of new indexes: those of an index with every item. None if a size is not known."""
        sizes = {table.name: table.put_units for table in self.tables}
        made = [sizes[step.request["TableName"]] for step in self.steps if _creates_index(step)]
        known = [units for units in made if units is not None]
        return sum(known) if len(known) == len(made) else None

    @property
    def scan_units(self) -> int | None:
        """The read units of the scans of ``backfill``. None if a size is not known."""
        known = [backfill.scan_units for backfill in self.backfills if backfill.scan_units is not None]
        return sum(known) if len(known) == len(self.backfills) else None

    def explain(self) -> str:
        """The plan as lines of text.

        Examples:
            >>> print(plan_apply(session, Table("songs")).explain())
            songs: there is no table 'songs': create the table 'songs'
        """
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.explain()

    def _lines(self) -> Iterator[str]:
        yield from (f"wait: {wait}" for wait in self.waits)
        yield from (f"{change.difference.table}: {change}" for change in self.changes if change.steps)
        if (units := self.index_units) is not None and any(map(_creates_index, self.steps)):
            price = counted(units, "write unit")
            yield f"the new indexes take up to about {price}, by sizes that are up to 6 hours old"
        for table in self.backfills:
            yield f"{table.name}: complete the entities that lack index keys, guard items, versions or totals"
        if self.backfills and self.scan_units is not None:
            items = counted(sum(backfill.items or 0 for backfill in self.backfills), "item")
            price = counted(self.scan_units, "read unit")
            yield (
                f"to look for them takes about {price} for about {items}, by sizes that are "
                "up to 6 hours old; each entity that lacks something is read again with what belongs to it, two read "
                "units for 4 KB, and completed by one transaction"
            )
        if self.does_nothing:
            yield "nothing to do: the table is as declared" + (", but for what is left" if self.left else "")
        yield from (f"{change.difference.table}: {change}" for change in self.changes if not change.steps)
        if any(one.difference.removes for one in self.left):
            yield "dynaorm diff --format update-table --delete shows the requests that would remove it"


@record
class Applied:
    """What ``apply`` did.

    Attributes:
        steps: the requests that changed tables.
        left: the differences that stay, with the reasons, without those that are harmless.
        findings: what ``backfill`` could not complete.

    Examples:
        >>> print(apply(session, app))
        the table was as declared
    """

    steps: tuple[TableStep, ...] = ()
    left: tuple[PlannedChange, ...] = ()
    findings: tuple[RepairResult, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left."""
        return not self.left and not self.findings

    def __str__(self) -> str:
        done = (f"{step.request['TableName']}: {step.text}: done" for step in self.steps)
        left = (f"{one.difference.table}: {one}" for one in self.left)
        return "\n".join((*done, *left, *map(str, self.findings))) or "the table was as declared"


def check_apply(table: object, wait: object, progress: object, backfill: object = True) -> None:
    """Raises UsageError for what cannot be applied."""
    check_table("apply", table)
    check_amount("wait={}", wait)
    check_flag("backfill={}", backfill)
    if progress is not None:
        check_plain_function("progress={}", progress, takes=1)


def plan_apply(table: Table, context: Context, *, backfill: bool = True) -> Flow[ApplyPlan]:
    """What ``apply`` would do now. Nothing is changed.

    Raises:
        UsageError: it is no Table.
        StoreError: DynamoDB refused a request.
    """
    check_apply(table, WAIT, None, backfill)
    tables: list[TableLocation] = []
    changes: list[PlannedChange] = []
    waits: list[str] = []
    can_lack = False
    for home in reversed(table.homes):
        live = yield from live_table(home, context)
        location = location_of(home, context.table_name(home.name), live.description)
        tables.append(location)
        changes += _changes(live)
        waits += [f"{location.name}: {text}" for text in _in_change(live.description)]
        if home is table:  # the last one
            can_lack = bool(live.description) and not _is_another(live) and _derives(home)
    plan = ApplyPlan(tuple(tables), tuple(changes), tuple(waits), ())
    if backfill and can_lack and _is_added(plan.steps, has_waited=bool(waits)):
        return replace(plan, backfills=tuple(tables[-1:]))
    return plan


def can_backfill(table: Table, context: Context) -> Flow[bool]:
    """Whether the live table may hold entities that lack something: it is as declared, but for what can be added."""
    live = yield from live_table(table, context)
    return bool(live.description) and not _is_another(live) and _derives(table)


def apply_table(
    table: Table,
    context: Context,
    *,
    wait: float = WAIT,
    progress: OnProgress | None = None,
) -> Flow[tuple[tuple[TableStep, ...], bool]]:
    """Bring a table and its guard table to their declarations.

    Returns the requests that were made, and whether an index or a table was added meanwhile.

    Raises:
        UsageError: a change took longer than ``wait``.
        StoreError: DynamoDB refused a request.
    """
    made: list[TableStep] = []
    has_waited = False
    for home in reversed(table.homes):
        work = _Application(home, context, wait, progress)
        made += yield from work.run()
        has_waited |= work.has_waited
    return tuple(made), _is_added(made, has_waited=has_waited)


def _is_added(steps: Iterable[TableStep], *, has_waited: bool) -> bool:
    """Whether an index or a table is added, so that entities may lack something. ``backfill`` looks at any time."""
    return has_waited or any(step.operation == "CreateTable" or _creates_index(step) for step in steps)


def _derives(table: Table) -> bool:
    """Whether something follows from the entities of a table, so that older ones can lack it."""
    return any(mapping.indexes or has_derived(mapping) for mapping in catalog_of(table).mappings.values())


# -- what is done about a difference -----------------------------------------------------------------------------------


def _is_another(live: LiveTable) -> bool:
    return any(difference.kind == "keys" for difference in live.differences)


def _changes(live: LiveTable) -> list[PlannedChange]:
    is_another = _is_another(live)
    return [_change(difference, is_another=is_another) for difference in live.differences]


def _change(one: Difference, *, is_another: bool) -> PlannedChange:
    if is_another:  # Rule 4
        return PlannedChange(
            one,
            reason="a table with other keys is taken for another table; declare its keys as they are, or name the "
            "right table (table_names=)",
        )
    if one.is_harmless:
        return PlannedChange(one, reason=f"it is harmless; {one.remedy}")
    if not one.steps:
        return PlannedChange(one, reason=f"DynamoDB has no request for it; {one.remedy}")
    if one.removes:
        needed = next(step.text for step in one.steps if step.deletes)
        return PlannedChange(
            one,
            reason=f"apply removes nothing, and would have to {needed}; {one.remedy}",
        )
    return PlannedChange(one, steps=one.steps)


def _creates_index(step: TableStep) -> bool:
    return any("Create" in changed_index for changed_index in changed_indexes(step))


def _in_change(description: Mapping[str, Any]) -> list[str]:
    """What DynamoDB is changing in a table, in words."""
    found = []
    for index in (one for _, argument in INDEXES for one in description.get(argument) or ()):
        if (status := index.get("IndexStatus", "ACTIVE")) in _IN_CHANGE:
            filled = ", and being filled" if index.get("Backfilling") else ""
            found.append(f"the index {index['IndexName']!r} is {status}{filled}")
    if not found and description.get("TableStatus") in _IN_CHANGE:
        found.append(f"the table is {description['TableStatus']}")
    return found


# -- one table ---------------------------------------------------------------------------------------------------------


@record(frozen=False)
class _Application:
    """The steps on one table, one after the other.

    Attributes:
        table: the table.
        context: the session's settings.
        wait: the most seconds of one change.
        progress: called with what is done.
        made: the steps that DynamoDB accepted, or that turned out to be made.
        tried: the step that was tried last.
        sent: the same step, as long as it was sent and is not seen to be made.
        trouble: the last refusal of that step.
        was_busy: DynamoDB was changing the table when it was last seen.
        has_waited: it was seen to be changed, perhaps by an earlier call.
        since: when the present wait began.
        poll: the length of the next pause.
        told: what ``progress`` was called with last.
    """

    table: Table
    context: Context
    wait: float
    progress: OnProgress | None
    made: list[TableStep] = field(default_factory=list)
    tried: TableStep | None = None
    sent: TableStep | None = None
    trouble: Refusal | None = None
    was_busy: bool = False
    has_waited: bool = False
    since: float = 0.0
    poll: float = _FIRST_POLL
    told: ApplyProgress | None = None

    def run(self) -> Flow[list[TableStep]]:
        """Make every step. Returns those that were made."""
        self._begin_wait()
        while True:
            live = yield from live_table(self.table, self.context)
            wanted = [step for change in _changes(live) for step in change.steps]
            busy = _in_change(live.description)
            if busy:
                self.has_waited = True
                self._tell("waiting", f"{'; '.join(busy)}{self._refused_with}")
                self._check_time(self.wait, f"is not done: {'; '.join(busy)}")
            else:
                if self.was_busy:
                    self._begin_wait()
                self._check_usable(live.description)
                if self.sent is not None and self.sent not in wanted:
                    self._is_made()
                if not wanted:
                    return self.made
                yield from self._step(wanted[0])
            self.was_busy = bool(busy)
            yield Pause(self.poll)
            self.poll = min(_LONGEST_POLL, self.poll * 1.5)

    def _step(self, step: TableStep) -> Flow[None]:
        """Send a step, unless it was sent and is only not seen yet."""
        if self.sent == step:
            self._tell("waiting", "it is not seen in the table yet")
            if self.trouble is not None and self._waited >= _REFUSED_SECONDS:
                raise error_of_refusal(self.trouble, call_of(step)) from self.trouble
            self._check_time(_UNSEEN_SECONDS, "was accepted, but the table is not so")
            return
        if self.tried != step:
            self.tried, self.trouble = step, None
            self._begin_wait()
            self._tell("begun", step=step)
        elif self.trouble is not None and self._waited >= _UNSEEN_SECONDS:
            # Nothing is being changed in this table, and DynamoDB goes on to refuse.
            raise error_of_refusal(self.trouble, call_of(step)) from self.trouble
        self.trouble = yield from self._sent(step)
        if self.trouble is not None and self.trouble.code in _NOT_YET:
            self._tell("waiting", self._refused_with.removeprefix("; "), step=step)
            return
        self._begin_wait()
        self.sent = step

    def _sent(self, step: TableStep) -> Flow[Refusal | None]:
        """Send a step. Returns a refusal after which it can be made later, or may have been made already."""
        call = call_of(step)
        try:
            yield from answered(call, self.context)
        except Refusal as refusal:
            # What an attempt without an answer or another program has made is refused as invalid.
            if refusal.code not in (*_NOT_YET, "ValidationException"):
                raise error_of_refusal(refusal, call) from refusal
            return refusal
        return None

    def _is_made(self) -> None:
        assert self.sent is not None
        self._tell("done")
        self.made.append(self.sent)
        self.sent = self.trouble = None
        self._begin_wait()

    @property
    def _refused_with(self) -> str:
        if self.trouble is None:
            return ""
        return f"; DynamoDB refused the step for now ({self.trouble.code}: {self.trouble.message})"

    def _begin_wait(self) -> None:
        self.since = self.context.clock.monotonic()
        self.poll = _FIRST_POLL

    @property
    def _waited(self) -> float:
        return self.context.clock.monotonic() - self.since

    @property
    def _name(self) -> str:
        return self.context.table_name(self.table.name)

    def _check_time(self, limit: float, state: str) -> None:
        if self._waited >= limit:
            step = self.sent.text if self.sent is not None else "an earlier change"
            raise UsageError(
                problem=f"the table {self._name!r}: {step}: after {timedelta(seconds=round(limit))} it {state}",
                remedy="look at the table in the AWS console; apply can be run again, and goes on from there",
            )

    def _check_usable(self, description: Reply) -> None:
        status = description.get("TableStatus", "ACTIVE")
        if status != "ACTIVE":
            raise UsageError(
                problem=f"the table {self._name!r} is {status}, and cannot be changed",
                remedy="look at the table in the AWS console, and run apply again when it is active",
            )

    def _tell(
        self, state: Literal["begun", "waiting", "done"], detail: str = "", step: TableStep | None = None
    ) -> None:
        step = step or self.sent
        text = "wait for an earlier change" if step is None else step.text
        told = ApplyProgress(self._name, text, state, detail)
        if self.progress is not None and told != self.told:
            self.progress(told)
        self.told = told

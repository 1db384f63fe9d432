"""Divide a verification, a repair or a backfill of live tables into tasks, which any engine can map over.

Rule 1. A task is a segment, as plain values that can be pickled. It can be run again at any time, and goes on where its
        checkpoint is.
Rule 2. Tasks say what they found, and at their ends the facts that only all segments together can be judged by.
        ``finish_tasks`` judges them. So totals are included, and nothing is found twice.
Rule 3. The tasks that run at the same time share the rate.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import (
    all_of,
    check_amount,
    check_count,
    check_function,
    check_plain_function,
    names_of,
)
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import Fact, Finding, RepairResult, Uncertainty
from dynaorm.flow.integrity.scan import FASTEST
from dynaorm.flow.windows import Progress
from dynaorm.integrity.keyed import (
    FactKind,
    KeyedScope,
    ShuffleRecord,
    finding_of,
    keyed,
    modules_of,
    name_of,
    records_of,
    target_named,
)
from dynaorm.integrity.run import RunOptions, Used, run_final, run_segment
from dynaorm.record import record
from dynaorm.session.session import Session
from dynaorm.tools.line_file import path_of

__all__ = ["SegmentTask", "findings_in", "finish_tasks", "segment_tasks"]

Verb: TypeAlias = Literal["verify", "repair", "backfill"]
_VERBS: Final = ("verify", "repair", "backfill")


@record
class SegmentTask:
    """One segment of a run on live tables, for any process on any machine.

    Attributes:
        verb: ``verify``, ``repair`` or ``backfill``.
        targets: the tables and classes, each as ``module:Name``.
        session: makes the session in the process that runs the task.
        segment: the number of the segment, from 0.
        segments: into how many segments each table is divided.
        rate: the share of this task in the capacity units per second; None for no limit.
        whole_rate: the capacity units per second of all tasks.
        checkpoint: the file that holds the position of this task; None starts again from the beginning.
        foreign_attributes: attributes that other programs write.
        modules: the modules that declare further classes of the tables.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import findings_in, finish_tasks, segment_tasks


        def open_session() -> Session:
            return Session(region="eu-west-1")


        def main() -> None:
            tasks = segment_tasks("backfill", "shop.models:app", session=open_session, segments=16)
            facts = [fact for task in tasks for fact in task.run()]  # an engine does this on many machines
            for result in [*findings_in(tasks, facts), *finish_tasks(tasks, facts)]:
                print(result)
        ```
    """

    verb: Verb
    targets: tuple[str, ...]
    session: Callable[[], Session]
    segment: int
    segments: int
    rate: float | None = None
    whole_rate: float | None = None
    checkpoint: str | None = None
    foreign_attributes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def run(self, progress: Progress | None = None, used: Used | None = None) -> Iterator[ShuffleRecord]:
        """Do the task, and say what came of it.

        What was found is among the facts: ``findings_in`` reads it. The others are for ``finish_tasks``. A task that
        runs again says again what was left, and not what was repaired.

        Args:
            progress: called after each step with the number of items examined, and the approximate number of all.
            used: called after each step with the read and write units that it used.

        Raises:
            UsageError: a target cannot be found in this process, or the checkpoint is that of another run.
            Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as ``verify`` and ``repair``.

        Examples:
            ```python
            from dynaorm import Session
            from dynaorm.integrity.tasks import segment_tasks


            def main() -> None:
                for task in segment_tasks("verify", "shop.models:app", session=Session, segments=4):
                    print(list(task.run(progress=print)))
            ```
        """
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint)
        options = RunOptions(
            segments=self.segments,
            segment=self.segment,
            rate=self.rate,
            progress=progress,
            checkpoint=checkpoint,
            foreign_attributes=self.foreign_attributes,
        )
        with self.session() as session:
            for one in run_segment(self.verb, session, *self.named(), options=options, used=used):
                yield keyed(one)

    @property
    def declared(self) -> KeyedScope:
        """What the task verifies, with its classes loaded."""
        return KeyedScope(self.targets, 0.0, modules=self.modules)

    def named(self) -> list[Table | type[Any]]:
        """The tables and classes in this process. Raises UsageError.

        Examples:
            ```python
            from dynaorm import Session
            from dynaorm.integrity.tasks import segment_tasks


            def main() -> None:
                (task,) = segment_tasks("verify", "shop.models:app", session=Session, segments=1)
                print(task.named())
            ```
        """
        for module in self.modules:
            import_module(module)
        return [target_named(one) for one in self.targets]


def checked_tasks(tasks: object) -> list[SegmentTask]:
    """The tasks of a run. Raise UsageError for anything else, and for none."""
    remedy = "make them with segment_tasks()"
    found = all_of("tasks={}", tasks, SegmentTask, "a SegmentTask", remedy=remedy)
    if not found:
        raise UsageError(problem="there is no task to run", remedy=remedy)
    return found


def check_used(used: object) -> None:
    """Raise UsageError for what cannot be called after a step, which would be too late."""
    if used is not None:
        check_plain_function("used={}", used, takes=2)


def _checked_facts(facts: Iterable[object]) -> Iterator[ShuffleRecord]:
    """The facts of an iterable, one by one. Raise UsageError for anything else."""
    remedy = "give what task.run() yields"
    if not isinstance(facts, Iterable):
        raise UsageError(problem=f"facts={shown(facts)} cannot be iterated", remedy=remedy)
    for one in facts:
        if not isinstance(one, ShuffleRecord):
            raise UsageError(problem=f"{shown(one)} is no fact of a task", remedy=remedy)
        yield one


def segment_tasks(
    verb: Verb,
    /,
    *targets: Table | type[Any] | str,
    session: Callable[[], Session],
    segments: int,
    at_once: int | None = None,
    rate: float | None = None,
    checkpoint: str | Path | None = None,
    foreign_attributes: Iterable[str] = (),
) -> list[SegmentTask]:
    """The tasks of a run. Each entity is repaired or completed as by that run in one process.

    Args:
        verb: ``verify``, ``repair`` or ``backfill``.
        *targets: tables and classes, as objects or as ``module:Name``.
        session: makes a session in the process of each task, such as a function of a module.
        segments: into how many segments each table is divided.
        at_once: how many tasks run at the same time; None for all.
        rate: the most capacity units per second, of all tasks together.
        checkpoint: the beginning of the names of the tasks' checkpoint files, in a folder that every machine has, so
            that a task which was killed can go on anywhere. None for none: then it starts again, which does no harm.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Raises:
        UsageError: there is no such verb; the list is empty; other processes cannot find a target.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import segment_tasks


        def main() -> None:
            tasks = segment_tasks(
                "verify", "shop.models:app", session=Session, segments=8, at_once=2, rate=100
            )
            print(len(tasks), tasks[0].rate)  # 8 50.0
        ```
    """
    _check_begin(verb, targets)
    check_count("segments={}", segments, most=1_000_000)
    if at_once is not None:
        check_count("at_once={}", at_once)
    if rate is not None:
        check_amount("rate={}", rate, most=FASTEST)
    check_function("session={}", session, takes=0)
    foreign = names_of("foreign_attributes={}", foreign_attributes)
    if checkpoint is not None:
        path_of("checkpoint={}", checkpoint)
    names = tuple(map(name_of, targets))
    modules = modules_of(KeyedScope(names, 0.0).tables.values())
    share = None if rate is None else rate / min(segments, at_once or segments)
    return [
        SegmentTask(
            verb,
            names,
            session,
            segment,
            segments,
            rate=share,
            whole_rate=rate,
            checkpoint=None if checkpoint is None else f"{checkpoint}.{segment}",
            foreign_attributes=foreign,
            modules=modules,
        )
        for segment in range(segments)
    ]


def _check_begin(verb: object, targets: tuple[object, ...]) -> None:
    if not isinstance(verb, str) or verb not in _VERBS:
        raise UsageError(problem=f"no run is called {shown(verb)}", remedy=f"give one of {', '.join(_VERBS)}")
    if not targets:
        raise UsageError(problem="nothing was named", remedy="name tables, entity classes, or both")


def findings_in(
    tasks: Sequence[SegmentTask], facts: Iterable[ShuffleRecord]
) -> Iterator[Finding | RepairResult]:
    """The findings among some facts, or what became of them.

    Args:
        tasks: the tasks of the run.
        facts: what they said.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import findings_in, segment_tasks


        def main() -> None:
            tasks = segment_tasks("repair", "shop.models:app", session=Session, segments=4)
            for task in tasks:
                for result in findings_in(tasks, task.run()):
                    print(result)
        ```
    """
    declared = checked_tasks(tasks)[0].declared
    return (finding_of(one, declared) for one in _checked_facts(facts) if one.kind == FactKind.FINDING)


def finish_tasks(
    tasks: Sequence[SegmentTask], facts: Iterable[ShuffleRecord], *, used: Used | None = None
) -> Iterator[Finding | RepairResult]:
    """Judge, and repair, what only all segments together tell, when all tasks have come to their ends.

    Then the checkpoint files are deleted, as far as this machine has them.

    Args:
        tasks: all tasks of the run.
        facts: what they said, each task once. Those that are findings are left out.
        used: called with the read and write units that were used.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as that run.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import finish_tasks, segment_tasks


        def main() -> None:
            tasks = segment_tasks("repair", "shop.models:app", session=Session, segments=4)
            for result in finish_tasks(tasks, (fact for task in tasks for fact in task.run())):
                print(result)
        ```
    """
    tasks = checked_tasks(tasks)
    check_used(used)
    first = tasks[0]
    options = RunOptions(
        segments=first.segments, rate=first.whole_rate, foreign_attributes=first.foreign_attributes
    )
    named = first.named()
    with first.session() as session:
        said = _said(facts, first.declared)
        yield from run_final(first.verb, session, *named, options=options, said=said, used=used)
    for task in tasks:
        if task.checkpoint is not None:
            Path(task.checkpoint).unlink(missing_ok=True)


def _said(facts: Iterable[ShuffleRecord], declared: KeyedScope) -> Iterator[Fact | Uncertainty]:
    for fact in _checked_facts(facts):
        if fact.kind != FactKind.FINDING:
            yield records_of(fact, declared)

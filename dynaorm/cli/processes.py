"""``--processes``: verify, repair and backfill in several processes of one machine."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from dynaorm.argument import check_count
from dynaorm.cli.options import TableAccess
from dynaorm.cli.run_output import Meter
from dynaorm.cli.target import load_target
from dynaorm.flow.integrity.finding import Finding, FindingKind, Mended, Outcome
from dynaorm.integrity.processes import run_tasks
from dynaorm.integrity.report import DuplicatesFile
from dynaorm.integrity.run import RunOptions
from dynaorm.integrity.tasks import Verb, segment_tasks
from dynaorm.record import record
from dynaorm.session.session import Session

PROCESSES: Final = click.option(
    "--processes",
    type=int,
    metavar="N",
    help="Divide the work among N processes of this machine, which share the rate. If one is killed, another goes on.",
)

# What only one process can do, and why.
_OF_ONE: Final = {
    "segment": "--processes reads every segment",
    "at_most": "no process knows how much the others have repaired. Try a few repairs with one process first",
    "findings": "it names the items that are judged, so there is no table to divide",
}


@record
class SessionOpener:
    """Opens the session of a command in another process.

    Attributes:
        connection: where the command finds its tables.
        targets: the targets as they were given.
    """

    connection: TableAccess
    targets: tuple[str, ...]

    def __call__(self) -> Session:
        return self.connection.session(self.targets, map(load_target, self.targets))


def check_processes(verb: str, given: Mapping[str, Any]) -> None:
    """Raises UsageError, or click.UsageError for options that cannot be given with ``--processes``."""
    if given["processes"] is None:
        return
    check_count("--processes {}", given["processes"])
    for name, reason in _OF_ONE.items():
        # The findings that verify writes come from all processes.
        is_read = name != "findings" or verb != "verify"
        if is_read and given.get(name) is not None:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is for one process: {reason}. Leave it or --processes out")
    if verb != "verify" and not given["yes"]:
        # Two processes would plan to give one value to two entities. Only a write that is refused tells them.
        raise click.UsageError(
            "--processes has no dry run: what a process would write depends on what the others have written. Give "
            "--yes, or leave --processes out to see the plans; --segments reads as many segments at a time"
        )


def divided(
    verb: Verb, given: Mapping[str, Any], options: RunOptions, meter: Meter
) -> Iterator[Finding | Mended]:
    """What processes find, and what becomes of it."""
    targets = given["targets"]
    tasks = segment_tasks(
        verb,
        *targets,
        session=SessionOpener(given["connection"], targets),
        segments=options.segments,
        at_once=given["processes"],
        rate=options.rate,
        checkpoint=options.checkpoint,
        foreign_attributes=options.foreign_attributes,
    )
    found = run_tasks(tasks, processes=given["processes"], progress=options.progress, used=meter.add)
    if options.duplicates is None:
        yield from found
        return
    with DuplicatesFile(options.duplicates) as file:
        for one in found:
            finding = one.finding if isinstance(one, Mended) else one
            is_left = not isinstance(one, Mended) or one.outcome is Outcome.LEFT
            if is_left and finding.kind is FindingKind.DUPLICATE:
                file.add(finding)
            yield one

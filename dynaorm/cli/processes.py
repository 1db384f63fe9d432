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

# What only one process can do, each with the value that it has if it is not given.
_OF_ONE: Final = {"segment": None, "at_most": None, "findings": None}


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
    for name, default in _OF_ONE.items():
        # The findings that verify writes come from all processes.
        is_read = name != "findings" or verb != "verify"
        if is_read and given.get(name) != default:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is for one process; leave it or --processes out")
    if verb != "verify" and not given["yes"]:
        raise click.UsageError(
            "--processes writes; give --yes, or leave --processes out to see what would be written"
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

"""The figures of a run: operations and how they ended, refusals, faults survived, histories."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.torture.boss import Outcome
from tests.torture.journal import ACKNOWLEDGED, REFUSED, UNKNOWN

_OUTCOMES = (ACKNOWLEDGED, REFUSED, UNKNOWN)


def report(outcome: Outcome) -> str:
    """The figures of a run, and every violation with its evidence."""
    parts = [_operations(outcome), _errors(outcome), _faults(outcome), _checks(outcome)]
    return "\n\n".join([*parts, _verdict(outcome)])


def _operations(outcome: Outcome) -> str:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in outcome.run.records:
        counts[record.name][record.outcome] += 1
        counts["all"][record.outcome] += 1
    rows = [
        [name, *(f"{counts[name][one]:,}" for one in _OUTCOMES)] for name in sorted(counts, key=_all_last)
    ]
    return _table(["operation", *_OUTCOMES], rows)


def _all_last(name: str) -> tuple[bool, str]:
    return name == "all", name


def _errors(outcome: Outcome) -> str:
    errors = Counter(record.error for record in outcome.run.records if record.error)
    return _table(["ended with", "times"], [[name, f"{number:,}"] for name, number in errors.most_common()])


def _faults(outcome: Outcome) -> str:
    struck = Counter(name for record in outcome.run.records for name in record.struck)
    rows = [[name, f"{number:,}"] for name, number in struck.most_common()]
    rows += [[f"processes {name}", f"{number:,}"] for name, number in sorted(outcome.ends.items())]
    return _table(["fault survived", "times"], rows)


def _checks(outcome: Outcome) -> str:
    run, orders = outcome.run, outcome.orders
    settled = sum(record.outcome == UNKNOWN and record.id in run.seen for record in run.records)
    worked, checked = outcome.seconds
    rows = [
        ["seconds of work", f"{worked:.1f}"],
        ["seconds of checking", f"{checked:.1f}"],
        ["entities stored", f"{len(run.table.entities):,}"],
        ["guards stored", f"{len(run.table.guards):,}"],
        ["versions stored", f"{len(run.table.versions):,}"],
        ["unknown outcomes that were seen", f"{settled:,}"],
        ["histories of single entities", f"{orders.entities:,}"],
        ["histories of families", f"{orders.families:,}"],
        ["operations of the longest history", f"{orders.longest:,}"],
        ["combinations searched", f"{orders.explored:,}"],
    ]
    return _table(["checked", ""], rows)


def _verdict(outcome: Outcome) -> str:
    if not outcome.violations:
        return "No violation."
    told = "\n\n".join(str(violation) for violation in outcome.violations)
    return f"{told}\n\n{len(outcome.violations):,} VIOLATIONS."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()

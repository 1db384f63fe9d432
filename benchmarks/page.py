"""Markdown: tables, and the parts of benchmarks/RESULTS.md that commands write."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PAGE = ROOT / "docs" / "performance.md"


def replaced(page: str, name: str, text: str) -> str:
    """A page with the text between the two markers of a command replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, has_begin, rest = page.partition(begin)
    _, has_end, after = rest.partition(end)
    if not (has_begin and has_end):
        raise ValueError(f"The page lacks its markers; write {begin} and {end} where the report belongs.")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def write(name: str, text: str) -> None:
    """Write the report of a command into the results."""
    RESULTS.write_text(replaced(RESULTS.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def table(head: Sequence[str], lines: Sequence[Sequence[str]], *, words: int) -> str:
    """A Markdown table; the first columns hold words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def machine() -> list[str]:
    """Date, processor and interpreter, as one line each."""
    when = datetime.now(UTC)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return [
        f"Date: {when:%Y-%m-%d}",
        f"Processor: {_processor()}, {os.cpu_count()} cores",
        f"Python: {python} on {platform.system()}, garbage collector on",
    ]


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

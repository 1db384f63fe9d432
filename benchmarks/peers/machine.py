"""Describe the machine on which the figures were measured."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def facts() -> list[str]:
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

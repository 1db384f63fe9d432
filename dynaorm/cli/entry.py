"""The entry point: run a command, or explain how to install what it needs."""

import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from dynaorm.item.text import printable

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``dynaorm`` in this process, and return its exit status.

    It writes to ``sys.stdout`` and ``sys.stderr``, and raises nothing: an error is a line and a status.

    Args:
        arguments: those after ``dynaorm``. Default: those of the process.

    Examples:
        >>> from dynaorm.cli.entry import main
        >>> main(["questions", "myservice.entities:app"])
        2
    """
    try:
        # The commands need libraries that the rest of dynaorm does without.
        from dynaorm.cli.commands import run  # noqa: PLC0415 - see above

        return run(sys.argv[1:] if arguments is None else list(arguments))
    except Exception as failure:  # noqa: BLE001 - Python's own exit status of a failure is 1, which means a finding
        name = failure.name if isinstance(failure, ModuleNotFoundError) else None
        if name is not None and name.partition(".")[0] in ("click", "rich"):
            said = f'the command line needs {name}, which is not installed; run: pip install "dynaorm[cli]"'
        else:  # a fault of dynaorm's own
            said = traceback.format_exc().rstrip()
        # The text may quote stored values.
        with suppress(OSError, AttributeError):  # nobody reads it
            sys.stderr.write("\n".join(map(printable, f"dynaorm: {said}".split("\n"))) + "\n")
        return 2

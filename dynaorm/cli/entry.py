"""The entry point: run a command, or explain how to install what it needs."""

import sys
import traceback
from collections.abc import Sequence

from dynaorm.cli.status import FAILED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``dynaorm`` in this process, and return its exit status.

    It writes to ``sys.stdout`` and ``sys.stderr``, and raises nothing: an error is a line and a status.

    Args:
        arguments: those after ``dynaorm``. Default: those of the process.

    Examples:
        >>> from dynaorm.cli.entry import main
        >>> main(["describe", "myservice.entities:app"])
        2
    """
    try:
        # The commands need libraries that the rest of dynaorm does without.
        from dynaorm.cli.commands import run  # noqa: PLC0415 - see above
        from dynaorm.cli.lines import complain  # noqa: PLC0415 - see above
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("click", "rich"):
            raise
        sys.stderr.write(
            f"dynaorm: the command line needs {missing.name}, which is not installed; "
            'run: pip install "dynaorm[cli]"\n'
        )
        return FAILED
    try:
        return run(sys.argv[1:] if arguments is None else list(arguments))
    except Exception:  # noqa: BLE001 - Python's own exit status of a failure is 1, which means a finding
        # A fault of dynaorm's own. The text may quote stored values.
        complain(traceback.format_exc().rstrip())
        return FAILED

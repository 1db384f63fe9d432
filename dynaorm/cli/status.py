"""The exit statuses of the commands."""

from typing import Final

CLEAN: Final = 0
"""Nothing is wrong, or everything was repaired."""

FOUND: Final = 1
"""A finding still exists, or a repair was only shown."""

FAILED: Final = 2
"""The command could not be carried out."""

STOPPED: Final = 3
"""The run ended because it wanted to make more repairs than ``--at-most`` allows."""

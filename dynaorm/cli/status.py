"""The exit statuses of the commands."""

from typing import Final

CLEAN: Final = 0
"""It is done: something was found, nothing is wrong, or everything was repaired."""

FOUND: Final = 1
"""A finding still exists, or a repair was only shown."""

NOTHING: Final = 1
"""Nothing was found of what a command was to read."""

FAILED: Final = 2
"""The command could not be carried out."""

STOPPED: Final = 3
"""The run ended because it wanted to make more repairs than ``--at-most`` allows."""

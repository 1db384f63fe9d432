"""The exit statuses of the commands."""

from typing import Final

CLEAN: Final = 0
"""All is well."""

FOUND: Final = 1
"""Something was found that is still there."""

FAILED: Final = 2
"""The command could not be carried out."""

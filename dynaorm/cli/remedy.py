"""What to do about an error, in words of the command line: the library's own remedies are calls in Python."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from dynaorm.errors import DynaormError

Said: TypeAlias = str | Callable[[re.Match[str]], str]

_OPTIONS: Final = {
    "after": "--after",
    "as_of": "--as-of",
    "endpoint": "--endpoint",
    "profile": "--profile",
    "region": "--region",
    "segment": "--segment",
    "segments": "--segments",
    "table_names": "--table-name",
    "timeout": "--timeout",
    "version": "--version",
}
_COMMANDS: Final[tuple[tuple[str, Said], ...]] = (
    (
        r"check the region, the endpoint (.*), and try again",
        r"check --region, --endpoint \1, and run the command again",
    ),
    (r"(, or|or) scan the table", "or read all of it: dynaorm dump"),
    (r"leave \.consistent\(\) out", "leave --consistent out"),
    (
        r"to read one entity consistently, call session\.refresh\(entity\)",
        "get --consistent reads one entity so",
    ),
    (r"give (\w+)= a value or any_of\(\.\.\.\)", r"give \1=VALUE, once or several times"),
    (r"give (\w+)= (too|a single value|one value)", r"give \1=VALUE \2"),
    (r"use \.ge\(\.\.\.\), \.between\(\.\.\.\), \.begins_with\(\.\.\.\)", "use --ge, --le or --begins-with"),
    (r"session\.(create_table|apply)\([^)]*\)", "dynaorm apply"),
    (r"session\.(history|repair|backfill|verify)(\([^)]*\))?", r"dynaorm \1"),
    (r"session\.get\b(\([^)]*\))?", "dynaorm get"),
    (r"or use \.filter\(F\.(\w+) \.\.\.\)", r"or use --filter \1=VALUE"),
    (r"\b(\w+)=\.\.\.", r"\1=VALUE"),
    (rf"\b({'|'.join(_OPTIONS)})=(?![\w'\"])", lambda found: _OPTIONS[found[1]]),
)


def on_command_line(error: DynaormError) -> str:
    """The message of an error, with a remedy that can be typed."""
    said = str(error)
    at = said.rfind(error.remedy) if error.remedy else -1
    return said if at < 0 else said[:at] + typed(error.remedy) + said[at + len(error.remedy) :]


def typed(remedy: str) -> str:
    """A remedy of the library as it is typed."""
    for python, typed in _COMMANDS:
        remedy = re.sub(python, typed, remedy)
    return remedy

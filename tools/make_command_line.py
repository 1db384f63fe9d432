"""Writes the help of each command into ``docs/command-line.md``: ``make commands``.

What stands between ``$ dynaorm NAME --help`` and the end of its block becomes what the command says on a terminal of 80
columns. The rest of the page stays.
"""

import re
from pathlib import Path
from typing import Final

import click

from dynaorm.cli.commands import COMMANDS, NAME, commands

PAGE: Final = Path(__file__).parents[1] / "docs" / "command-line.md"
_BLOCK: Final = re.compile(r"(?<=^```text\n)\$ dynaorm (\S+) --help\n.*?(?=^```$)", re.MULTILINE | re.DOTALL)


def help_of(name: str) -> str:
    """The help of a command, as a terminal of 80 columns shows it."""
    command = next(one for one in COMMANDS if one.name == name)
    settings: dict[str, int] = {"terminal_width": 80, "max_content_width": 80}
    above = click.Context(commands, info_name=NAME, **settings)  # type: ignore[arg-type]  # a dict of equal types
    below = click.Context(command, info_name=name, parent=above, help_option_names=["-h", "--help"])
    below.terminal_width, below.max_content_width = 80, 80
    return "\n".join(line.rstrip() for line in command.get_help(below).splitlines())


def documented(page: str) -> list[str]:
    """The names of the commands whose help a page has."""
    return [found[1] for found in _BLOCK.finditer(page)]


def with_help(page: str) -> str:
    """The page with the present help of each command that it has."""
    return _BLOCK.sub(lambda found: f"$ dynaorm {found[1]} --help\n{help_of(found[1])}\n", page)


if __name__ == "__main__":
    PAGE.write_text(with_help(PAGE.read_text("utf-8")), "utf-8")

"""The command ``guide``: everything that a class can declare and a session can do, on a few pages."""

from importlib.resources import files

from dynaorm.cli.frame import command
from dynaorm.cli.terminal import write_line


@command
def guide() -> None:
    """Print everything that a class can declare and a session can do, on a few pages.

    It is Markdown, for people and for coding assistants.

    Example: dynaorm guide | less
    """
    write_line((files("dynaorm") / "guide.md").read_text("utf-8").removesuffix("\n"))

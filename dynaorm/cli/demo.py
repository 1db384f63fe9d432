"""The command ``demo``: three scenes on a DynamoDB in memory, which show what each write does to the items."""

import inspect
import os
from collections.abc import Iterator
from importlib.resources import files
from typing import Annotated, Any, Literal

import click

from dynaorm.cli.frame import Option, command
from dynaorm.cli.layout import new_file, open_in_browser
from dynaorm.cli.terminal import WIDTH, is_terminal, width_of_lines, wrapped, write_line
from dynaorm.description.access_patterns import describe
from dynaorm.description.entry import classify
from dynaorm.entity.base import Entity
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.marker import Unique
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.integrity.run import table_pages
from dynaorm.item.field import F
from dynaorm.item.value import Item
from dynaorm.layout.html_page import render_html
from dynaorm.layout.text import render_text
from dynaorm.layout.view import view_of
from dynaorm.session.session import Session

app = Table("tracker")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]


class Project(Entity, table=app, pk="PROJECT#{name}", sk="PROJECT"):
    name: str
    open_tickets: int = 0


class Ticket(Entity, table=app, pk="PROJECT#{name}", sk="TICKET#{number:03d}"):
    name: str
    number: int
    status: str = "open"
    counted = Aggregate(Project, count="open_tickets", when=F.status == "open")


@command
def demo(
    *, opens: Annotated[bool, Option("Open the table as a page in a browser.", names=("--open",))] = False
) -> None:
    """Show what each write does to the items of a table, in three scenes on a DynamoDB in memory.

    Items that a write has put, changed or deleted are marked with +, ~ and -. Nothing is sent over a network.

    Example: dynaorm demo --open
    """
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        stage = _Stage(session)
        _unique_value(stage)
        _two_writers(stage)
        _total(stage)
        if opens:
            file = new_file(".html")
            entries = [classify(item, app) for item in _items(session)]
            file.write_text(render_html(app, entries), encoding="utf-8")
            write_line(f"The table as a page: {file}")
            open_in_browser(file)
        else:
            write_line("The table as a page, with its keys, plans and questions: dynaorm demo --open")


class _Stage:
    """Runs lines of code, each of which is printed first, and shows the items."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names: dict[str, Any] = {**globals(), "session": session}
        self._before: dict[Any, Item] = {}
        self._is_coloured = is_terminal() and not os.environ.get("NO_COLOR")

    def scene(self, title: str, *declarations: type) -> None:
        self._write(f"{f'{title} ':─<{WIDTH}}", bold=True)
        for declaration in declarations:
            write_line(inspect.getsource(declaration))

    def run(self, *lines: str) -> None:
        for line in lines:
            self._write(f">>> {line}", bold=True)
            try:
                exec(line, self._names)  # noqa: S102 - what is printed is what runs
            except DynaormError as error:
                self._write(f"{type(error).__name__}: {error}", fg="red")

    def show(self, *classes: str) -> None:
        """Print the items of some classes; those that a write has put, changed or deleted are marked."""
        after = {(str(item["PK"]), str(item["SK"])): item for item in _items(self._session)}
        every = {**self._before, **after}
        marks: dict[int, Literal["+", "~", "-"]] = {}
        for at, key in enumerate(every):
            if key not in after:
                marks[at] = "-"
            elif after[key] != self._before.get(key):
                marks[at] = "~" if key in self._before else "+"
        view = view_of(describe(app), [classify(item, app) for item in every.values()], classes=classes)
        width = min(width_of_lines() or WIDTH, WIDTH)
        _, _, rows = render_text(view, width=width, colour=self._is_coloured, marks=marks).partition("\n\n")
        write_line(f"\n{rows.rstrip()}\n")
        self._before = after

    def _write(self, text: str, **style: Any) -> None:
        text = wrapped(text, min(width_of_lines() or WIDTH, WIDTH))
        write_line(click.style(text, **style) if self._is_coloured else text)


def _items(session: Session) -> Iterator[Item]:
    for found in table_pages(session, app, 100):
        yield from found.items


def _unique_value(stage: _Stage) -> None:
    stage.scene("1. A unique value has a guard item", User)
    stage.run('bobby = session.save(User(user_id="u1", email="Bobby@Example.com"))')
    stage.show("User")
    stage.run('bobby.email = "bobby@tables.com"; session.save(bobby)  # one transaction')
    stage.show("User")


def _two_writers(stage: _Stage) -> None:
    stage.scene("2. Two writers, and nothing is lost")
    stage.run(
        'session.save(User(user_id="u2", email="BOBBY@tables.com"))',
        'ann, ben = [session.get_one(User, user_id="u1") for _ in range(2)]',
        'ann.email = "ann@tables.com"; session.save(ann)',
        'ben.email = "ben@tables.com"; session.save(ben)',
    )
    stage.show("User")


def _total(stage: _Stage) -> None:
    stage.scene("3. A total is right after every write", Project, Ticket)
    stage.run(
        'first = session.save(Ticket(name="p", number=1))',
        'second = session.save(Ticket(name="p", number=2))',
    )
    stage.show("Project", "Ticket")
    stage.run('session.update(second, F.status.set("closed"))')
    stage.show("Project", "Ticket")


# The command ``guide``: everything that a class can declare and a session can do, on a few pages.


@command
def guide() -> None:
    """Print everything that a class can declare and a session can do, on a few pages.

    It is Markdown, for people and for coding assistants.

    Example: dynaorm guide | less
    """
    write_line((files("dynaorm") / "guide.md").read_text("utf-8").removesuffix("\n"))

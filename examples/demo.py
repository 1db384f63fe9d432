"""What each write does to the items of a table, in three scenes: put (+), changed (~) and deleted (-).

Run: python examples/demo.py
"""

import inspect
from typing import Annotated, Any, Literal

import boto3
from raw import console, strict_moto

from dynaorm import Aggregate, Entity, F, Session, Table, Unique
from dynaorm.description import classify, describe
from dynaorm.errors import DynaormError
from dynaorm.layout import text_of, view_of

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


class Items:
    """The items of the table, as they were when they were shown last."""

    def __init__(self) -> None:
        self._client = boto3.client("dynamodb", region_name="eu-west-1")
        self._before: dict[Any, dict[str, Any]] = {}

    def show(self, *classes: str) -> None:
        """Print the items of some classes; those that a write has put, changed or deleted are marked."""
        found = self._client.scan(TableName=app.name)["Items"]
        after = {(item["PK"]["S"], item["SK"]["S"]): item for item in found}
        every = {**self._before, **after}
        marks: dict[int, Literal["+", "~", "-"]] = {}
        for at, key in enumerate(every):
            if key not in after:
                marks[at] = "-"
            elif after[key] != self._before.get(key):
                marks[at] = "~" if key in self._before else "+"
        entries = [classify(item, app) for item in every.values()]
        view = view_of(describe(app), entries, classes=classes)
        is_coloured = console.is_terminal and not console.no_color
        width = min(console.width, 80)
        _, _, rows = text_of(view, width=width, colour=is_coloured, marks=marks).partition("\n\n")
        console.file.write(f"\n{rows}\n")
        self._before = after


class Stage:
    """Runs lines of code, each of which is printed first."""

    def __init__(self, session: Session) -> None:
        self._names: dict[str, Any] = {**globals(), "session": session}
        self._items = Items()

    def scene(self, title: str, *declarations: type) -> None:
        console.rule(f"[bold]{title}", align="left")
        console.file.write("".join(f"{inspect.getsource(one)}\n" for one in declarations))

    def run(self, *lines: str) -> None:
        for line in lines:
            console.print(f">>> {line}", style="bold", markup=False, highlight=False)
            try:
                exec(line, self._names)  # noqa: S102 - what is printed is what runs
            except DynaormError as error:
                text = f"{type(error).__name__}: {error}"
                console.print(text, style="red", markup=False, highlight=False)

    def show(self, *classes: str) -> None:
        self._items.show(*classes)


def unique_value(stage: Stage) -> None:
    stage.scene("1. A unique value has a guard item", User)
    stage.run('bobby = session.save(User(user_id="u1", email="Bobby@Example.com"))')
    stage.show("User")
    stage.run('bobby.email = "bobby@tables.com"; session.save(bobby)  # one transaction')
    stage.show("User")


def two_writers(stage: Stage) -> None:
    stage.scene("2. Two writers, and nothing is lost")
    stage.run(
        'session.save(User(user_id="u2", email="BOBBY@tables.com"))',
        'ann, ben = [session.get_one(User, user_id="u1") for _ in range(2)]',
        'ann.email = "ann@tables.com"; session.save(ann)',
        'ben.email = "ben@tables.com"; session.save(ben)',
    )
    stage.show("User")


def totals(stage: Stage) -> None:
    stage.scene("3. A total is right after every write", Project, Ticket)
    stage.run(
        'first = session.save(Ticket(name="p", number=1))',
        'second = session.save(Ticket(name="p", number=2))',
    )
    stage.show("Project", "Ticket")
    stage.run('session.update(second, F.status.set("closed"))')
    stage.show("Project", "Ticket")


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        session.create_table(app)
        stage = Stage(session)
        for play in (unique_value, two_writers, totals):
            play(stage)
        console.print("A page with every item, key and question of a larger table:")
        console.print("  cd examples; ../.venv/bin/dynaorm layout online_shop:shop --open", style="bold")


if __name__ == "__main__":
    main()

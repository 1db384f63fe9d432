"""Measure how far a reader has to go: which modules know an idea by name, and the frames that a call runs through.

Run: python -m benchmarks.structure

A module knows an idea if one of the names in its code contains one of its words, and means it. Frames are calls of
dynaorm's own functions in one call of a session on moto; those of its transports are not counted, nor those of its test
engines and what they call. With ``names`` as an argument, the modules are listed with their names.
"""

import ast
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final

from rich.console import Console
from rich.table import Table as Grid

import dynaorm
from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.testing import strict_moto

PACKAGE: Final = Path(dynaorm.__file__).parent
IDEAS: Final = {
    "guard": r"(?<!type)guard|claim|unique",  # typing.TypeGuard is another thing
    "version": r"version|tombstone",
    "total": r"total|aggregate",
    "kept time": r"kept|stamp",
}
HOMONYMS: Final[dict[str, frozenset[str]]] = {
    "plan/inspection.py": frozenset({"stamped"}),  # with a revision
    "plan/edit.py": frozenset({"kept"}),  # the fields that an edit does not change
    "plan/kinds/own_item.py": frozenset({"stamped"}),  # with a revision
    "plan/kinds/versions.py": frozenset({"stamp"}),  # the number and time of a version
    "plan/plan.py": frozenset({"total"}),  # the bytes of a request
    "plan/same_block.py": frozenset({"claim", "kept", "stamped"}),  # of a token item, and with a revision
    "flow/bulk_write.py": frozenset({"_total"}),  # how many entities there are
    "flow/commit.py": frozenset({"total_seconds"}),
    "flow/write_endings.py": frozenset({"KEPT"}),  # how a write ends
    "flow/write.py": frozenset({"KEPT", "is_kept"}),
    "flow/history.py": frozenset({"kept"}),  # the versions that pruning leaves
    "flow/integrity/kinds/versions.py": frozenset({"stamp", "stamped"}),
    "flow/integrity/repair_actions.py": frozenset({"stamped"}),
}
"""Names that contain a word of an idea and mean another thing."""
_ENGINE, _TRANSPORT = str(PACKAGE / "testing"), str(PACKAGE / "transport")
app = Table("app", indexes=[GlobalIndex("GSI1")])


class Plain(Entity, table=app, pk="PLAIN#{id}", sk="P"):
    id: str
    name: str


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique()] = None
    full_name: str


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str
    title: str = ""

    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")


def knowing(words: str, packages: tuple[str, ...] = ("plan", "flow")) -> dict[str, list[str]]:
    """The modules of some packages that have names with one of these words, each with those that mean the idea."""
    paths = [path for package in packages for path in sorted((PACKAGE / package).rglob("*.py"))]
    pattern = re.compile(words, re.IGNORECASE)
    found = {}
    for path in paths:
        module = path.relative_to(PACKAGE).as_posix()
        if names := {*filter(pattern.search, _names(path))}:
            found[module] = sorted(names - HOMONYMS.get(module, frozenset()))
    return found


def defining(words: str, packages: tuple[str, ...] = ("plan", "flow")) -> list[str]:
    """The modules of some packages that define a function, class or module under such a name."""
    paths = [path for package in packages for path in sorted((PACKAGE / package).rglob("*.py"))]
    pattern = re.compile(words, re.IGNORECASE)
    return [
        path.relative_to(PACKAGE).as_posix() for path in paths if any(map(pattern.search, _definitions(path)))
    ]


def _definitions(path: Path) -> set[str]:
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _names(path: Path) -> set[str]:
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.ImportFrom(module=str(module), names=names):
                found |= {*module.split("."), *(one.name for one in names)}
    return found


def frames(call: Callable[[], Any]) -> int:
    """How many calls of dynaorm's own functions one call makes."""
    found = depth = 0  # how deep it is in the test engine, which measures items with dynaorm's own functions

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found, depth
        path = frame.f_code.co_filename
        if path.startswith(_ENGINE) and event in ("call", "return"):
            depth += 1 if event == "call" else -1
        elif event == "call" and depth == 0:
            found += path.startswith(str(PACKAGE)) and not path.startswith(_TRANSPORT)

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def measured() -> dict[str, int]:
    """The frames of each call."""
    with strict_moto():
        session = Session(region="us-east-1")
        session.create_table(app)
        for number in range(3):
            session.save(_user(number))
            session.save(Ticket(project="p", number=number, status="open"))

        def filtered() -> Any:
            query = session.query(Ticket.by_status, status="open").ge(number=0).lt(number=5)
            return query.filter(F.title == "").all()

        loaded = session.get(User, user_id="u1")
        for turn in range(60):  # by then, what is compiled when it is worth it is compiled
            loaded.full_name = f"Ada {turn}"
            plain, user = Plain(id=str(turn), name="x"), _user(20 + turn)
            calls: dict[str, Callable[[], Any]] = {
                "save, new": partial(session.save, plain),
                "save, new, two guards": partial(session.save, user),
                "save, one field of two guards": partial(session.save, loaded),
                "save, unchanged": partial(session.save, loaded),
                "get": partial(session.get, User, user_id="u1"),
                "update by key": partial(session.update, Key(Plain, id=str(turn)), F.name.set("y")),
                "delete by key": partial(session.delete, Key(Plain, id=str(turn))),
                "query, 3 items": lambda: session.query(Ticket, project="p").all(),
                "query, index, range, filter": filtered,
            }
            found = {name: frames(call) for name, call in calls.items()}
    return found


def _user(number: int) -> User:
    return User(user_id=f"u{number}", email=f"A{number}@x.com", phone=str(number), full_name="Ada")


def main() -> None:
    known = Grid(
        "idea", "modules of plan and flow that know it", "that have a word of it", "that define names of it"
    )
    console, shows_names = Console(), "names" in sys.argv[1:]
    for idea, words in IDEAS.items():
        found = knowing(words)
        meant = {module: names for module, names in found.items() if names}
        known.add_row(idea, str(len(meant)), str(len(found)), str(len(defining(words))))
        for module, names in meant.items() if shows_names else ():
            console.print(f"{idea}: {module}: {', '.join(names)}", soft_wrap=True)
    run = Grid("call", "frames")
    for name, count in measured().items():
        run.add_row(name, str(count))
    console.print(known, run)


if __name__ == "__main__":
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "testing")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "testing")
    main()

"""Count the instructions that dynaorm's own work takes: the same on every machine, so that 2 % shows.

Run: python -m benchmarks.instructions [row ...]

The last figures are in ``instructions.txt``.

valgrind must be installed. It runs this module again, with callgrind; each row ends with a call of libc's
``getloadavg``, before which callgrind writes down what it counted since the call before. The transport answers in this
process, so a row counts what dynaorm, pydantic and Python do, the request's JSON too, and no connection.
"""

import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

from rich.console import Console
from rich.table import Table as Grid

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.image import new_image

TURNS: Final = 20
# What is compiled when it is worth it is compiled by then.
WARM: Final = 50
app = Table("bench", indexes=[GlobalIndex("GSI1")])


class Plain(Entity, table=app, pk="PLAIN#{id}", sk="P"):
    id: str
    customer: str
    quantity: int = 3
    price: Decimal = Decimal("129.95")
    tags: tuple[str, ...] = ("new", "gift")
    created_at: datetime = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)


class User(Entity, table=app, pk="USER#{id}", sk="PROFILE"):
    id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique()] = None
    name: str = "Ada"


class Page(Entity, table=app, pk="PAGE#{id}", sk="V", versioned=True):
    id: str
    title: str = "Home"
    body: str = "text"


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str = "open"
    title: str = "broken"

    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")


class Answering:
    """A transport in this process: a read finds the same entities every time, and writes succeed."""

    def __init__(self, *entities: Entity) -> None:
        items = [_item(one) for one in entities]
        one = items[0] if items else None
        replies = {
            "Query": {"Items": items},
            "BatchGetItem": {"Responses": {app.name: items}},
            "GetItem": {"Item": one},
            "UpdateItem": {"Attributes": one},
        }
        self._replies = {name: encode_body(reply) for name, reply in replies.items()}

    def call(self, call: Call, /) -> Reply:
        encode_body(call.request)
        return Body(self._replies.get(call.operation, b"{}"))


def _item(entity: Entity) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    image = new_image(mapping, mapping.primary_key(vars(entity)), vars(entity))
    return {**image, "_rev": {"S": "r"}}


def rows() -> dict[str, Callable[[], object]]:
    """What is counted. Each call starts from the same state."""
    plain, user, page = Plain(id="1", customer="c"), User(id="1", email="A@x", phone="7"), Page(id="1")
    tickets = [Ticket(project="p", number=number) for number in range(10)]
    nothing, plains, users, pages = (
        Session(transport=Answering(*found)) for found in ((), (plain,), (user,), (page,))
    )
    one, three, ten = (Session(transport=Answering(*tickets[:number])) for number in (1, 3, 10))
    hundred = Session(transport=Answering(*(Ticket(project="p", number=number) for number in range(100))))
    changing_plain, changing_user = plains.get(Plain, id="1"), users.get(User, id="1")
    changing_page, unchanged = pages.get(Page, id="1"), users.get(User, id="1")

    def change(session: Session, entity: Any, name: str) -> None:
        setattr(entity, name, getattr(entity, name) + "x")
        session.save(entity)

    def inserted(entity: Entity) -> None:
        nothing.save(entity.model_copy())

    def transaction() -> None:
        with nothing.transaction() as tx:
            for ticket in tickets[:3]:
                tx.save(ticket.model_copy())

    def index_query() -> object:
        query = three.query(Ticket.by_status, status="open").ge(number=0).lt(number=5)
        return query.filter(F.title == "broken").all()

    return {
        "get": lambda: plains.get(Plain, id="1"),
        "insert": lambda: inserted(plain),
        "insert, two guards": lambda: inserted(user),
        "insert, versioned": lambda: inserted(page),
        "save one field": lambda: change(plains, changing_plain, "customer"),
        "save one field of two guards": lambda: change(users, changing_user, "name"),
        "save a unique value": lambda: change(users, changing_user, "email"),
        "save one field, versioned": lambda: change(pages, changing_page, "title"),
        "save, unchanged": lambda: users.save(unchanged),
        "update by key": lambda: plains.update(Key(Plain, id="1"), F.customer.set("x")),
        "transaction of 3 inserts": transaction,
        "load of 25": lambda: nothing.bulk_load([plain.model_copy() for _ in range(25)]),
        "delete by key": lambda: plains.delete(Key(Plain, id="1")),
        "query, 1 item": lambda: one.query(Ticket, project="p").all(),
        "query, 3 items": lambda: three.query(Ticket, project="p").all(),
        "query, 10 items": lambda: ten.query(Ticket, project="p").all(),
        "query, index, range, filter": index_query,
        "get_many, 100 items": lambda: hundred.get_many(
            Key(Ticket, project="p", number=number) for number in range(100)
        ),
    }


def run(chosen: list[str]) -> None:
    """Run the rows, with a call that callgrind sees before and after each."""
    for name, work in rows().items():
        if chosen and name not in chosen:
            continue
        for _ in range(WARM):
            work()
        gc.collect()
        gc.disable()
        os.getloadavg()
        for _ in range(TURNS):
            work()
        os.getloadavg()
        gc.enable()


def counted(chosen: list[str]) -> dict[str, int]:
    """The instructions of one turn of each row."""
    with tempfile.TemporaryDirectory() as folder:
        callgrind = [
            "valgrind", "--tool=callgrind", "--dump-before=getloadavg", f"--callgrind-out-file={folder}/out"
        ]  # fmt: skip
        program = [sys.executable, "-m", "benchmarks.instructions", "--run", *chosen]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run([*callgrind, *program], env=environment, check=True, capture_output=True)
        parts = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        totals = [int(_total(path)) for path in parts]
    # The first part ends where the first row begins; then rows and what is between them take turns.
    names = [name for name in rows() if not chosen or name in chosen]
    return {name: total // TURNS for name, total in zip(names, totals[1::2], strict=True)}


def _total(path: Path) -> str:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    assert found is not None, path
    return found[1]


def main() -> None:
    if shutil.which("valgrind") is None:
        sys.exit("instructions are counted by valgrind, which is not installed: apt-get install valgrind")
    grid = Grid("call", "thousand instructions", title="dynaorm's own work, without a connection")
    for name, count in counted(sys.argv[1:]).items():
        grid.add_row(name, f"{count / 1000:,.1f}")
    Console(width=80).print(grid)


if __name__ == "__main__":
    run(sys.argv[2:]) if sys.argv[1:2] == ["--run"] else main()

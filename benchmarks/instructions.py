"""Count the instructions of each operation and of a cold start: the same on every machine, so that 2 % shows.

Run: python -m benchmarks.instructions [--write] [row ...]

The last figures are in ``instructions.txt``. ``--write`` counts all rows, and writes the figures there, into
benchmarks/RESULTS.md and into docs/performance.md.

valgrind must be installed. It runs this module again, with callgrind; each row ends with a call of libc's
``getloadavg``, before which callgrind writes down what it counted since the call before. In the first rows the
transport answers in this process: they count what dynaorm, pydantic and Python do, the request's JSON too, and no
connection. The rows that name a client count all that this client does, as ``benchmarks.peers`` measures it; those
of a first get are processes of their own, from the start of the interpreter to its end.
"""

import gc
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.page import PAGE, ROOT, replaced, table, write
from benchmarks.peers.cold import program_of_first_get
from benchmarks.peers.environment import surroundings
from benchmarks.peers.stub import stub_server
from benchmarks.peers.worker import Worker
from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.flow.call import Call, Reply
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.values import new_image

TURNS: Final = 20
# What is compiled when it is worth it is compiled by then, and Python has adapted its instructions to that. With 50
# turns, a call took up to 10 % more, depending on which rows were counted before it.
WARM: Final = 150
CLIENTS: Final = {
    "direct": "dynaorm_direct",
    "default": "dynaorm_default",
    "async direct": "dynaorm_async_direct",
    "async default": "dynaorm_async",
}
"""The clients that are counted over a connection, and their modules."""
COLD: Final = {"pynamodb Model": "pynamodb_model", **CLIENTS}
_FIRST_GET: Final = "first get: "
OPERATIONS: Final = {
    "get": "get",
    "put": "put",
    "transact3": "transaction of 3",
    "query1": "query for 1",
    "query10": "query for 10",
    "query100": "query for 100",
    "batch_get100": "get 100",
    "batch_write25": "write 25",
}
"""The operations that are counted over a connection, and what the tables call them."""
FIGURES: Final = ROOT / "benchmarks" / "instructions.txt"
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
    image = new_image(mapping, mapping.primary_key.of(vars(entity)), vars(entity))
    return {**image, "_rev": {"S": "r"}}


def own_rows() -> dict[str, Callable[[], object]]:
    """What is counted without a connection. Each call starts from the same state."""
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


def names() -> list[str]:
    """The names of all rows, in the order in which they are counted."""
    connected = [f"{client}: {operation}" for client in CLIENTS for operation in OPERATIONS]
    return [*own_rows(), *connected, *(_FIRST_GET + client for client in COLD)]


def run(endpoint: str, chosen: list[str]) -> None:
    """Run the rows, with a call that callgrind sees before and after each."""
    own = own_rows()
    workers: dict[str, Worker] = {}
    for name in chosen:
        if name in own:
            _marked(partial(_repeat, own[name]))
            continue
        client, _, operation = name.partition(": ")
        if client not in workers:
            workers[client] = Worker(CLIENTS[client], endpoint)
        _marked(partial(workers[client].repeat, operation))


def _repeat(work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        work()


def _marked(repeat: Callable[[int], object]) -> None:
    repeat(WARM)
    gc.collect()
    gc.disable()
    os.getloadavg()
    repeat(TURNS)
    os.getloadavg()
    gc.enable()


def counted(chosen: list[str]) -> dict[str, int]:
    """The instructions of one turn of each row."""
    cold = [name for name in chosen if name.startswith(_FIRST_GET)]
    warm = [name for name in chosen if name not in cold]
    with stub_server() as endpoint:
        # The first part ends where the first row begins; then rows and what is between them take turns.
        parts = _parts("-m", "benchmarks.instructions", "--run", endpoint, *warm)[1::2] if warm else []
        found = {name: total // TURNS for name, total in zip(warm, parts, strict=True)}
        for name in cold:
            client = name.removeprefix(_FIRST_GET)
            program = program_of_first_get(COLD[client], endpoint, awaiting=client.startswith("async"))
            # Once without counting, so that Python has compiled all modules.
            subprocess.run([sys.executable, "-c", program], env=surroundings(), check=True)
            found[name] = sum(_parts("-c", program))
    return found


def _parts(*program: str) -> list[int]:
    """The instructions of each part of a program of Python."""
    with tempfile.TemporaryDirectory() as folder:
        callgrind = [
            "valgrind", "--tool=callgrind", "--dump-before=getloadavg", f"--callgrind-out-file={folder}/out"
        ]  # fmt: skip
        environment = {**surroundings(), "PYTHONHASHSEED": "0"}
        subprocess.run(
            [*callgrind, sys.executable, *program], env=environment, check=True, capture_output=True
        )
        paths = sorted(Path(folder).glob("out*"), key=lambda path: int(path.suffix[1:] or 1_000_000))
        return [_total(path) for path in paths]


def _total(path: Path) -> int:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    assert found is not None, path
    return int(found[1])


def in_a_grid(found: Mapping[str, int]) -> Grid:
    """What is printed."""
    grid = Grid("call", "thousand instructions", title="what a call takes in its process")
    for name, count in found.items():
        grid.add_row(name, f"{count / 1000:,.1f}")
    return grid


def report(found: Mapping[str, int]) -> str:
    """The tables of benchmarks/RESULTS.md."""
    own = [[name, _thousands(found[name])] for name in own_rows()]
    connected = [
        [OPERATIONS[operation], *(_thousands(found[f"{client}: {operation}"]) for client in CLIENTS)]
        for operation in OPERATIONS
    ]
    reference = found[f"{_FIRST_GET}pynamodb Model"]
    cold = [
        [client, f"{(count := found[_FIRST_GET + client]) / 1e6:,.0f}", f"{count / reference:.2f}x"]
        for client in COLD
    ]
    python = f"CPython {sys.version_info.major}.{sys.version_info.minor}"
    inside = (
        "Thousand instructions of a call whose transport answers in the same process: what dynaorm, pydantic and "
        "Python do, without a connection."
    )
    outside = (
        "The same of the entity of the comparison above, over a connection to a stub with plain HTTP: signing, "
        "sending and the head of the answer are added. The default transport first looks whether anything needs "
        "botocore; the asynchronous ones add the event loop."
    )
    first = (
        "Million instructions of a process whose one call is the first get, from the start of the interpreter to its "
        "end. System calls are left out: to make a client, botocore reads the folders of all 400 services twice."
    )
    parts = [
        f"Counted on {datetime.now(UTC):%Y-%m-%d} with {python}.",
        inside,
        table(["call", "thousand instructions"], own, words=1),
        outside,
        table(["call", *map(_session_of, CLIENTS)], connected, words=1),
        first,
        table(["client", "million instructions", "compared with pynamodb"], cold, words=1),
    ]
    return "\n\n".join(parts)


def _thousands(count: int) -> str:
    return f"{count / 1000:,.0f}"


def _session_of(client: str) -> str:
    name = "AsyncSession()" if client.startswith("async") else "Session()"
    return f"`{name}`" if client.endswith("default") else f"`{client.title().replace(' ', '')}Transport`"


def sentence(found: Mapping[str, int]) -> str:
    """What docs/performance.md says."""
    more = max(
        found[f"{kind}default: {operation}"] / found[f"{kind}direct: {operation}"] - 1
        for kind in ("", "async ")
        for operation in OPERATIONS
    )
    get, put = (round(found[f"default: {operation}"], -3) for operation in ("get", "put"))
    return (
        f"Instructions are counted without noise: a `Session` takes {get:,} for a get and {put:,} for a put, at most "
        f"{math.ceil(max(more, 0) * 100)} % more than over the direct transport. "
        "[Where they go](../benchmarks/RESULTS.md#instructions-of-a-call) is counted, too."
    )


def write_down(found: Mapping[str, int]) -> None:
    """Write the figures into the pages."""
    with FIGURES.open("w", encoding="utf-8") as file:
        Console(width=80, file=file).print(in_a_grid(found))
    write("instructions", report(found))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, "instructions", sentence(found)), encoding="utf-8")


def main() -> None:
    if shutil.which("valgrind") is None:
        print("Instructions are counted by valgrind, which is not installed: apt-get install valgrind")
        # ``make bench`` asks for no row by name, and goes on with what needs no valgrind.
        sys.exit(len(sys.argv) > 1)
    is_written = sys.argv[1:] == ["--write"]
    wanted = [] if is_written else sys.argv[1:]
    found = counted([name for name in names() if not wanted or name in wanted])
    Console(width=80).print(in_a_grid(found))
    if is_written:
        # As the file has them, so that the tables follow from it.
        write_down({name: round(count, -2) for name, count in found.items()})


if __name__ == "__main__":
    run(sys.argv[2], sys.argv[3:]) if sys.argv[1:2] == ["--run"] else main()

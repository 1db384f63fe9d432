"""After any sequence of calls, tables, objects and answers are those of the oracle; faults make no difference."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import Phase, settings

from dynaorm import Session, Table
from dynaorm.transport import Call, Transport
from tests.counted_rules import run_counted
from tests.memory import MEMORY
from tests.world.cast import TABLES, app
from tests.world.machine import VERBS
from tests.world.reads import Machine


def run(machine: type[Machine], examples: int, steps: int) -> None:
    """Run a machine, never shrunk: a failure prints its steps."""
    phases = (Phase.explicit, Phase.generate)
    run_counted(
        machine, settings(max_examples=examples, stateful_step_count=steps, phases=phases, print_blob=True)
    )


def created(engine: Transport, tables: Sequence[Table]) -> None:
    with Session(transport=engine) as session:
        for table in tables:
            session.create_table(table)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_world_is_as_the_oracle_says(moto_transport: Transport, is_async: bool) -> None:
    class InMemory(Machine):
        def __init__(self) -> None:
            super().__init__(moto_transport)

    InMemory.is_async = is_async
    with MEMORY.empty():
        created(moto_transport, TABLES)
        run(InMemory, settings().max_examples // (4 if is_async else 1), 30)
    if not is_async:
        assert {*VERBS, "restore", "prune", "purge", "block", "block under a token"} <= InMemory.made.keys()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_server_is_as_the_oracle_says(ministack_line: tuple[Transport, Any], is_async: bool) -> None:
    """Without faults, which count on a clock that the server does not have."""
    engine = ministack_line[0]

    class OnServer(Machine):
        has_faults = False

        def __init__(self) -> None:
            super().__init__(engine)

    OnServer.is_async = is_async
    created(engine, TABLES)
    # The server would delete what has expired by its own clock.
    off = {"AttributeName": "until", "Enabled": False}
    engine.call(Call("UpdateTimeToLive", {"TableName": app.name, "TimeToLiveSpecification": off}))
    run(OnServer, max(2, settings().max_examples // 10), 20)
    for table in TABLES:
        engine.call(Call("DeleteTable", {"TableName": table.name}))

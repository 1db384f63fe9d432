"""Compare dynaorm with similar libraries, and print a Markdown report.

Run: make bench-peers                       all clients and operations
     make bench-peers PEERS_ARGS="--write"  ... and write the report into benchmarks/RESULTS.md
     make bench-peers PEERS_ARGS="--rounds 5 --cold-rounds 5 --write"  the same in fewer rounds

Every client runs in a process of its own. Each round measures all of them, operation by operation and in another order,
so that other load on the machine affects all alike. The medians and minima over the rounds are compared.
"""

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.callers import TASKS, THREADS, Served
from benchmarks.page import RESULTS, machine, write
from benchmarks.peers import cold
from benchmarks.peers.client import OPERATIONS
from benchmarks.peers.environment import CLIENTS, REFERENCE, ROOT, python_of, surroundings
from benchmarks.peers.report import document
from benchmarks.peers.rows import Row
from benchmarks.peers.stub import stub_server

# Measured only to compare the time of their imports.
IMPORTS = {
    "Python alone": "pass",
    "pydantic": "from pydantic import BaseModel",
    "`import dynaorm`": "import dynaorm",
}
KEPT = 3
"""Queries of which one entity each is kept."""


class PeerError(Exception):
    """A client failed."""


class Peer:
    """The process of a client."""

    def __init__(self, module: str, endpoint: str) -> None:
        self.module = module
        self.process = subprocess.Popen(
            [python_of(module), "-m", "benchmarks.peers.worker", module, endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=surroundings(),
        )
        self.hello = self._answer()
        callers = f"{TASKS} tasks" if self.hello["awaiting"] else f"{THREADS} threads"
        self.row = Row(self.hello["name"], self.hello["gives"], callers=callers)

    def ask(self, *command: object) -> dict[str, Any]:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the missing answer is reported instead
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise PeerError("its process ended")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise PeerError(answer["failed"])
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def reason(error: Exception) -> str:
    """An error as one short line, without the folders of this machine."""
    line, *_ = str(error).splitlines() or [type(error).__name__]
    return line.replace(f"{ROOT}/", "")[:300]


def peers_of(modules: Sequence[str], endpoint: str, notes: list[str]) -> Iterator[Peer]:
    """The clients that could be started. The report has a note about each of the others."""
    for module in modules:
        progress(f"starting {module}")
        try:
            yield Peer(module, endpoint)
        except (PeerError, FileNotFoundError) as error:
            notes.append(f"{module} is left out: {reason(error)}")


def repetitions(peer: Peer, operation: str, budget: float) -> int:
    """Check an operation, and return how many calls fit into the budget of CPU seconds."""
    peer.ask("verify", operation)
    peer.ask("measure", operation, 2)
    once: float = peer.ask("measure", operation, 5)["cpu"] / 5
    return max(3, round(budget / max(once, 1e-6)))


def planned(
    peers: Sequence[Peer], operations: Sequence[str], budget: float, notes: list[str]
) -> dict[str, list[tuple[Peer, int]]]:
    """By operation, the clients that have it and pass the check, with their number of calls."""
    plan: dict[str, list[tuple[Peer, int]]] = {name: [] for name in operations}
    for peer in peers:
        progress(f"checking {peer.row.name}")
        for name in operations:
            if name not in peer.hello["operations"]:
                notes.append(f"{peer.row.name} has no {name}")
                continue
            try:
                plan[name].append((peer, repetitions(peer, name, budget)))
            except PeerError as error:
                notes.append(f"{peer.row.name}, {name}: {reason(error)}")
    return plan


def measure(plan: dict[str, list[tuple[Peer, int]]], rounds: int) -> None:
    """Measure the clients in turn: in every round, each operation begins with another client.

    Raises:
        PeerError: a client that passed its check fails now; the figures of the others would not be of one run.
    """
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for operation, runs in plan.items():
            shift = number % len(runs) if runs else 0
            for peer, times in runs[shift:] + runs[:shift]:
                cpu = peer.ask("measure", operation, times)["cpu"]
                peer.row.cpu.setdefault(operation, []).append(cpu / times)


def measure_kept(plan: dict[str, list[tuple[Peer, int]]]) -> None:
    """Measure the memory of kept entities, of the clients that can query 1,000."""
    for peer, _ in plan.get("query1000", ()):
        progress(f"keeping entities of {peer.row.name}")
        peer.row.kept = peer.ask("keep", KEPT)["bytes"]


def measure_callers(
    plan: dict[str, list[tuple[Peer, int]]], rounds: int, seconds: float, notes: list[str]
) -> None:
    """Measure the clients with many callers at once, in turn."""
    peers = [peer for peer, _ in plan.get("get", ()) if peer.hello["shared"]]
    if rounds:
        notes += [
            f"{peer.row.name}: its documentation says that threads must not share it"
            for peer, _ in plan.get("get", ())
            if peer not in peers
        ]
    for number in range(rounds):
        progress(f"many callers, round {number + 1} of {rounds}")
        for peer in peers:
            peer.row.served.append(Served(**peer.ask("serve", seconds)))


def measure_cold(peers: Sequence[Peer], endpoint: str, rounds: int) -> dict[str, list[cold.Start]]:
    """Measure the cold starts; return those of the other imports. A first round fills the bytecode caches."""
    others: dict[str, list[cold.Start]] = {name: [] for name in IMPORTS}
    for number in range(rounds + 1):
        progress(f"cold start {number} of {rounds}")
        for name, statement in IMPORTS.items():
            others[name].append(cold.importing(python_of(REFERENCE), statement))
        for peer in peers:
            if "get" not in peer.row.cpu:
                continue
            python = python_of(peer.module)
            peer.row.imports.append(cold.importing(python, peer.hello["imports"]))
            peer.row.first_gets.append(
                cold.first_get(python, peer.module, endpoint, awaiting=peer.hello["awaiting"])
            )
        if number == 0:
            others = {name: [] for name in IMPORTS}
            for peer in peers:
                peer.row.imports.clear()
                peer.row.first_gets.clear()
    return others


def progress(text: str) -> None:
    print(text, file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument(
        "--clients", nargs="+", default=list(CLIENTS), choices=list(CLIENTS), metavar="CLIENT"
    )
    parser.add_argument(
        "--operations", nargs="+", default=list(OPERATIONS), choices=list(OPERATIONS), metavar="OPERATION"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cold-rounds", type=int, default=9, help="0: no cold starts")
    parser.add_argument("--caller-rounds", type=int, default=3, help="0: not with many callers at once")
    parser.add_argument("--caller-seconds", type=float, default=2.0, help="of each client and round")
    parser.add_argument(
        "--budget", type=float, default=0.1, help="CPU seconds per client, operation and round"
    )
    parser.add_argument("--write", action="store_true", help="write the report into benchmarks/RESULTS.md")
    return parser.parse_args()


def report(options: argparse.Namespace) -> str:
    facts = machine()
    notes: list[str] = []
    modules = [REFERENCE, *(name for name in options.clients if name != REFERENCE)]
    with stub_server() as endpoint, contextlib.ExitStack() as closing:
        peers: list[Peer] = []
        for peer in peers_of(modules, endpoint, notes):
            closing.callback(peer.close)
            peers.append(peer)
        notes += [f"{peer.row.name}: {peer.hello['note']}" for peer in peers if peer.hello["note"]]
        plan = planned(peers, options.operations, options.budget, notes)
        measure(plan, options.rounds)
        measure_callers(plan, options.caller_rounds, options.caller_seconds, notes)
        measure_kept(plan)
        imports = measure_cold(peers, endpoint, options.cold_rounds) if options.cold_rounds else {}
    versions = {f"{name} {number}" for peer in peers for name, number in peer.hello["versions"].items()}
    given = [argument for argument in sys.argv[1:] if argument != "--write"]
    with_arguments = f' PEERS_ARGS="{shlex.join(given)}"' if given else ""
    facts += [
        f"Libraries: {', '.join(sorted(versions))}",
        f"Command: `make bench-peers{with_arguments}`, {options.rounds} interleaved rounds",
    ]
    return document([peer.row for peer in peers], imports, notes, facts)


def main() -> None:
    options = arguments()
    text = report(options)
    print(text)
    if options.write:
        write("bench-peers", text)
        progress(f"written into {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

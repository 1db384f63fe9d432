"""Run one client in a process of its own: read commands from stdin, and answer each with one line of JSON.

    ["verify", operation]         -> {} if the check passes
    ["measure", operation, times] -> {"cpu": seconds} for all repetitions together
    ["keep", times]               -> {"bytes": bytes} for one entity kept of each of so many queries for 1,000
    ["serve", seconds]            -> the fields of ``Served``: 200 tasks or 16 threads get one item after another

CPU time is that of the whole process: all threads, user and system. The stub runs in another process.
"""

import asyncio
import contextlib
import gc
import importlib
import inspect
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from benchmarks.callers import by_tasks, by_threads
from benchmarks.peers.client import OPERATIONS, PLACE, Client
from benchmarks.peers.verify import check, overheard


class Worker:
    """A client, with an event loop if it is asynchronous."""

    def __init__(self, module: str, endpoint: str) -> None:
        self.endpoint = endpoint
        self.client: Any = importlib.import_module(f"benchmarks.peers.clients.{module}").client
        self.loop = asyncio.Runner() if inspect.iscoroutinefunction(self.client.get) else None
        self._finish(self.client.setup(endpoint))

    def _finish(self, result: Any) -> Any:
        return self.loop.run(result) if self.loop is not None else result

    def _operation(self, name: str) -> tuple[Any, tuple[Any, ...]]:
        found = self.client.operation(name)
        if found is None:
            raise LookupError(f"{self.client.name} has no {name}")
        method, arguments = found
        return method, arguments

    def hello(self) -> dict[str, Any]:
        client: Client = self.client
        return {
            "name": client.name,
            "gives": client.gives,
            "note": client.note,
            "imports": client.imports,
            "awaiting": self.loop is not None,
            "shared": client.shared,
            "versions": {name: version(name) for name in client.distributions},
            "operations": [name for name in OPERATIONS if client.operation(name) is not None],
        }

    def verify(self, name: str) -> dict[str, Any]:
        method, arguments = self._operation(name)
        overheard(self.endpoint)
        result = self._finish(method(*arguments))
        check(self.client, name, result, overheard(self.endpoint))
        return {}

    def measure(self, name: str, times: int) -> dict[str, float]:
        method, arguments = self._operation(name)
        self._finish(method(*arguments))  # the connection may have to be opened again
        gc.collect()
        return self.repeat(name, times)

    def repeat(self, name: str, times: int) -> dict[str, float]:
        method, arguments = self._operation(name)
        if self.loop is not None:
            return self.loop.run(_repeat_awaiting(method, arguments, times))
        return _repeat(method, arguments, times)

    def keep(self, times: int) -> dict[str, float]:
        method, arguments = self._operation("query1000")

        def one() -> Any:
            return list(self._finish(method(*arguments)))[PLACE]

        tracemalloc.start()
        kept = [one()]  # what only the first call allocates is not counted
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        kept += [one() for _ in range(times)]
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return {"bytes": (after - before) / times}

    def serve(self, seconds: float) -> dict[str, float]:
        if self.loop is not None:
            return asdict(self.loop.run(by_tasks(self.client.get, seconds)))
        return asdict(by_threads(self.client.get, seconds))

    def close(self) -> None:
        if self.loop is not None:
            self._finish(self.client.close())
            self.loop.close()


def _repeat(method: Any, arguments: tuple[Any, ...], times: int) -> dict[str, float]:
    began = time.process_time()
    for _ in range(times):
        method(*arguments)
    return {"cpu": time.process_time() - began}


async def _repeat_awaiting(method: Any, arguments: tuple[Any, ...], times: int) -> dict[str, float]:
    began = time.process_time()
    for _ in range(times):
        await method(*arguments)
    return {"cpu": time.process_time() - began}


def _answers(module: str, endpoint: str) -> Iterator[dict[str, Any]]:
    try:
        worker = Worker(module, endpoint)
        yield worker.hello()
    except Exception as error:  # noqa: BLE001 - one broken client must not stop the others
        yield {"failed": f"{type(error).__name__}: {error}"}
        return
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        "verify": worker.verify,
        "measure": worker.measure,
        "keep": worker.keep,
        "serve": worker.serve,
    }
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            yield commands[command](*arguments)
        except Exception as error:  # noqa: BLE001 - see above
            yield {"failed": f"{type(error).__name__}: {error}"}
    worker.close()


def main() -> None:
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for answer in _answers(*sys.argv[1:]):
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""What a client costs before its first answer, in a fresh interpreter: importing, the first get, memory."""

import json
import subprocess
from dataclasses import dataclass

from benchmarks.peers.environment import ROOT, surroundings

# Timed from the interpreter's first own line, and importing nothing but what is measured until the time is taken.
# Resident memory is what the process holds at that moment (Linux); the peak that getrusage knows includes its parent's.
_PROGRAM = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{statement}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import json, os
resident = None
if os.path.exists("/proc/self/statm"):
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
print(json.dumps([wall, cpu, resident]), flush=True)
os._exit(0)
"""
_GET = """
from benchmarks.peers.clients.{module} import client
client.setup({endpoint!r})
client.get()
"""
_GET_AWAITING = """
import asyncio
from benchmarks.peers.clients.{module} import client
loop = asyncio.Runner()
loop.run(client.setup({endpoint!r}))
loop.run(client.get())
"""


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds and bytes; ``resident`` is None where the system does not tell."""

    wall: float
    cpu: float
    resident: int | None


def importing(python: str, statement: str) -> Start:
    """A fresh interpreter that does nothing but import."""
    return _started(python, statement)


def first_get(python: str, module: str, endpoint: str, *, awaiting: bool) -> Start:
    """A fresh interpreter that imports, declares the entity, makes the client and reads one order."""
    statement = _GET_AWAITING if awaiting else _GET
    return _started(python, statement.format(module=module, endpoint=endpoint))


def _started(python: str, statement: str) -> Start:
    program = _PROGRAM.format(statement=statement)
    done = subprocess.run(
        [python, "-c", program], stdout=subprocess.PIPE, check=True, cwd=ROOT, env=surroundings()
    )
    return Start(*json.loads(done.stdout))

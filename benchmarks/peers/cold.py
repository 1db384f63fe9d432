"""Measure the cold start of a client in a new interpreter: imports, the first get, memory."""

import json
import subprocess
from dataclasses import dataclass

from benchmarks.peers.environment import ROOT, surroundings

# The time starts at the first line of the program, which imports nothing else before the time is taken.
# Resident memory is that of this moment (Linux). The peak from getrusage would include the memory of the parent.
_PROGRAM = """
import time
cpu = time.process_time()
{statement}
cpu = time.process_time() - cpu
import json, os
resident = None
if os.path.exists("/proc/self/statm"):
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
print(json.dumps([cpu, resident]), flush=True)
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
    """CPU seconds and bytes; ``resident`` is None if the system does not report it."""

    cpu: float
    resident: int | None


def importing(python: str, statement: str) -> Start:
    """Start an interpreter that only imports."""
    return _started(python, statement)


def first_get(python: str, module: str, endpoint: str, *, awaiting: bool) -> Start:
    """Start an interpreter that imports, declares the entity, creates the client and reads one order."""
    return _started(python, program_of_first_get(module, endpoint, awaiting=awaiting))


def program_of_first_get(module: str, endpoint: str, *, awaiting: bool) -> str:
    """The program that does this."""
    return (_GET_AWAITING if awaiting else _GET).format(module=module, endpoint=endpoint)


def _started(python: str, statement: str) -> Start:
    program = _PROGRAM.format(statement=statement)
    done = subprocess.run(
        [python, "-c", program], stdout=subprocess.PIPE, check=True, cwd=ROOT, env=surroundings()
    )
    return Start(*json.loads(done.stdout))

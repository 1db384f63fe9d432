"""The command of the torture test: ``python -m tests.torture --seconds 60 --processes 4 --seed 7``.

If a promise was broken, it prints the evidence and exits with 1. The journals stay in ``--journals``.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.torture.boss import Settings, torture
from tests.torture.report import report


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the processes work")
    parser.add_argument("--processes", type=int, default=4, help="how many work at a time")
    parser.add_argument("--seed", type=int, help="decides what they draw; default another one each time")
    parser.add_argument("--epoch", type=float, default=5.0, help="seconds on the same entities")
    parser.add_argument("--kill-every", type=float, default=10.0, help="seconds between kills, on average")
    parser.add_argument("--journals", type=Path, help="an empty folder for the journals")
    parser.add_argument(
        "--endpoint",
        default=os.environ.get("DYNAORM_ENDPOINT"),
        help="a DynamoDB that runs; default DYNAORM_ENDPOINT, or a ministack of its own",
    )
    given = parser.parse_args(arguments)
    settings = Settings(
        folder=given.journals or Path(tempfile.mkdtemp(prefix="torture-")),
        seconds=given.seconds,
        processes=given.processes,
        seed=SystemRandom().randrange(10**6) if given.seed is None else given.seed,
        epoch=given.epoch,
        kill_every=given.kill_every,
        endpoint=given.endpoint,
    )
    sys.stdout.write(f"seed {settings.seed}, journals in {settings.folder}\n")
    sys.stdout.flush()
    outcome = torture(settings)
    sys.stdout.write(f"{report(outcome)}\n")
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

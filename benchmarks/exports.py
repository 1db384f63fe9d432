"""Verify exports of growing size with each engine: items a second, and the most memory of all processes.

``exports.py --items 100000 --items 1000000 --engine duckdb1 --engine duckdb2 --engine spark2 --folder /tmp/exports``
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from dynaorm import Aggregate, Entity, Table, Unique
from dynaorm.item.json_body import encode_body

app = Table("bench")
NOW = "2026-01-01T00:00:00.000Z"
FILES = 16


class Team(Entity, table=app, pk="TEAM#{team}", sk="TEAM"):
    team: int
    members: int = 0


class Person(Entity, table=app, pk="PERSON#{person:010d}", sk="PERSON"):
    person: int
    email: Annotated[str, Unique()]
    team: int
    notes: str
    in_team = Aggregate(Team, count="members")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, action="append")
    parser.add_argument("--engine", action="append", choices=["duckdb1", "duckdb2", "spark2"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        sys.stdout.write(f"{_found(given.run, str(given.folder))}\n")
        return
    with TemporaryDirectory(dir=given.folder) as folder:
        for items in given.items or [100_000, 1_000_000]:
            export = Path(folder, str(items))
            _write(export, items)
            for engine in given.engine or ["duckdb1", "duckdb2"]:
                load = os.getloadavg()[0]
                seconds, memory, found = _measured(engine, export)
                line = f"{engine}: {items} items, {items / seconds:.0f} items/s, {seconds:.1f} s"
                sys.stdout.write(f"{line}, {memory >> 20} MB, {found} findings, load {load:.1f} before\n")
                sys.stdout.flush()


def _write(folder: Path, items: int) -> None:
    (folder / "data").mkdir(parents=True)
    people, counts = items // 2, []
    for number in range(FILES):
        with gzip.open(folder / "data" / f"{number}.json.gz", "wb", compresslevel=1) as file:
            count = 0
            for item in _items(range(number, people, FILES)):
                file.write(b'{"Item":' + encode_body(item) + b"}\n")
                count += 1
        counts.append({"itemCount": count, "dataFileS3Key": f"AWSDynamoDB/1/data/{number}.json.gz"})
    summary = {"tableArn": "bench", "exportTime": NOW, "outputFormat": "DYNAMODB_JSON"}
    (folder / "manifest-summary.json").write_text(json.dumps(summary))
    (folder / "manifest-files.json").write_text("\n".join(map(json.dumps, counts)))


def _items(people: range) -> Iterator[dict[str, Any]]:
    """People and the guard items of their addresses; the guard of one in ten thousand is missing."""
    for person in people:
        key, address = f"PERSON#{person:010d}", f"person{person}@example.com"
        owner = {"PK": {"S": key}, "SK": {"S": "PERSON"}}
        yield {
            **owner,
            "_type": {"S": "Person"},
            "_rev": {"S": f"revision{person}"},
            "person": {"N": str(person)},
            "email": {"S": address},
            "team": {"N": str(person % 1000)},
            "notes": {"S": f"what is known of {person} " * 10},
        }
        if person % 10_000:
            guard = {"S": f"email#{address}"}
            yield {"PK": guard, "SK": guard, "owner": {"M": owner}}


def _measured(engine: str, export: Path) -> tuple[float, int, int]:
    """The seconds that an engine takes, the most memory of its processes in bytes, and the number of findings."""
    begin, most = time.monotonic(), 0
    command = [sys.executable, __file__, "--run", engine, "--folder", str(export)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None:
            most = max(most, _memory(process.pid))
            time.sleep(0.1)
        assert process.stdout is not None
        told = process.stdout.read()
    return time.monotonic() - begin, most, int(told.split()[-1])


def _memory(process: int) -> int:
    """The memory of a process and of those that it started. Pages that they share are counted once for each."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = [
            int(child)
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(_memory, children))


def _found(engine: str, export: str) -> int:
    if engine.startswith("duckdb"):
        from dynaorm.integrations import duckdb  # noqa: PLC0415 - only what is measured is loaded

        return sum(
            1
            for _ in duckdb.verify_export(
                export,
                "benchmarks.exports:app",
                workers=int(engine[-1]),
                memory_limit="300MB",
                temp_directory=str(Path(export).parent),
            )
        )
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only what is measured is loaded

    from dynaorm.integrations import spark  # noqa: PLC0415 - only what is measured is loaded

    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").getOrCreate()
    return spark.verify_export(session, export, "benchmarks.exports:app").count()


if __name__ == "__main__":
    main()

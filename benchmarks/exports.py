"""Verify tables of growing size with each engine: the time, the CPU, and the most memory of all processes.

``exports.py --items 100000 --items 1000000 --engine verify1 --engine export1 --engine export2 --engine spark2``

``verify1`` is ``verify`` on one machine, of a table whose answers cost nothing. The others read an export.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from dynaorm import Aggregate, Entity, Session, Table, Unique
from dynaorm.flow.call import Call, Reply
from dynaorm.integrity.run import verify
from dynaorm.integrity.verify_export import verify_export
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
    parser.add_argument("--engine", action="append", choices=["verify1", "export1", "export2", "spark2"])
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
            for engine in given.engine or ["verify1", "export1", "export2"]:
                load = os.getloadavg()[0]
                before = os.times()
                memory, found = _measured(engine, export)
                after = os.times()
                cpu = (
                    after.children_user
                    + after.children_system
                    - before.children_user
                    - before.children_system
                )
                line = f"{engine}: {items} items, {after.elapsed - before.elapsed:.1f} s, {cpu:.1f} s of CPU"
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
        yield from _of_person(person)


def _of_person(person: int) -> list[dict[str, Any]]:
    """A person, and the guard item of the address."""
    key, address = f"PERSON#{person:010d}", f"person{person}@example.com"
    owner = {"PK": {"S": key}, "SK": {"S": "PERSON"}}
    stored = {
        **owner,
        "_type": {"S": "Person"},
        "_rev": {"S": f"revision{person}"},
        "person": {"N": str(person)},
        "email": {"S": address},
        "team": {"N": str(person % 1000)},
        "notes": {"S": f"what is known of {person} " * 10},
    }
    guard = {"S": f"email#{address}"}
    return [stored, *([{"PK": guard, "SK": guard, "owner": {"M": owner}}] if person % 10_000 else [])]


class _Answers:
    """A transport that makes its answers of the keys that are asked for, and keeps nothing."""

    def __init__(self, people: int) -> None:
        self._people = people

    def call(self, call: Call, /) -> Reply:
        request: Any = call.request
        if call.operation == "Scan":
            return self._page(request)
        if call.operation == "BatchGetItem":
            keys = {name: asked["Keys"] for name, asked in request["RequestItems"].items()}
            return {
                "Responses": {
                    name: [one for one in map(self._at, some) if one] for name, some in keys.items()
                }
            }
        gets = [one["Get"]["Key"] for one in request["TransactItems"]]
        return {"Responses": [{"Item": one} if one else {} for one in map(self._at, gets)]}

    def _page(self, request: Any) -> Reply:
        after = request.get("ExclusiveStartKey")
        begin = 0 if after is None else _person_in(after) + 1
        end = min(self._people, begin + request["Limit"] // 2)
        found = {"Items": list(_items(range(begin, end)))}
        if end == self._people:
            return found
        return {**found, "LastEvaluatedKey": {name: found["Items"][-1][name] for name in ("PK", "SK")}}

    def _at(self, key: Any) -> dict[str, Any] | None:
        own = {} if key["PK"]["S"].startswith("TEAM") else _of_person(_person_in(key))
        return next((one for one in own if one["PK"] == key["PK"]), None)


def _person_in(key: Any) -> int:
    text: str = key["PK"]["S"]
    return int(re.findall("[0-9]+", text)[0])


def _measured(engine: str, export: Path) -> tuple[int, int]:
    """The most memory of the processes of an engine in bytes, and the number of findings."""
    most = 0
    command = [sys.executable, __file__, "--run", engine, "--folder", str(export)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None:
            most = max(most, _memory(process.pid))
            time.sleep(0.1)
        assert process.stdout is not None
        told = process.stdout.read()
    return most, int(told.split()[-1])


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
    if engine == "verify1":
        with Session(transport=_Answers(int(Path(export).name) // 2)) as session:
            return sum(1 for _ in verify(session, app))
    if engine.startswith("export"):
        folder = str(Path(export).parent)
        return sum(
            1
            for _ in verify_export(
                export, "benchmarks.exports:app", workers=int(engine[-1]), temp_directory=folder
            )
        )
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only what is measured is loaded

    from dynaorm.integrations import spark  # noqa: PLC0415 - only what is measured is loaded

    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").getOrCreate()
    return spark.verify_export(session, export, "benchmarks.exports:app").count()


if __name__ == "__main__":
    main()

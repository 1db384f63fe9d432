"""How long verifying a table takes, and how much memory: on ministack, with a number of items of your choice.

Run: python benchmarks/integrity.py [ITEMS] (default 100,000)
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import botocore.session

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.entity.mapping import mapping_of
from dynaorm.integrity.run import Options, repair, verify
from dynaorm.plan.image import new_image
from dynaorm.testing.ministack import Ministack

app = Table("bench", indexes=[GlobalIndex("GSI1")])
GROUPS = 100


class Group(Entity, table=app, pk="GROUP#{group}", sk="INFO"):
    group: int
    users: int = 0


class User(Entity, table=app, pk="USER#{number:07d}", sk="PROFILE"):
    number: int
    email: Annotated[str, Unique()]
    group: int
    note: str = "x" * 100
    by_group = Index("GSI1", pk="GROUP#{group}", sk="{email}")
    in_group = Aggregate(Group, count="users")


def items(count: int) -> Iterator[dict[str, Any]]:
    """Users and their guards, half of the count each, and the groups, as saves would have stored them."""
    users = count // 2
    for group in range(GROUPS):
        held = len(range(group, users, GROUPS))
        yield image(Group(group=group, users=held))
    for number in range(users):
        item = image(User(number=number, email=f"user{number}@example.org", group=number % GROUPS))
        yield item
        guard = {"S": f"email#{item['email']['S']}"}
        yield {"PK": guard, "SK": guard, "owner": {"M": {name: item[name] for name in ("PK", "SK")}}}


def image(entity: Any) -> dict[str, Any]:
    mapping, values = mapping_of(type(entity)), vars(entity)
    return {**new_image(mapping, mapping.primary_key(values), values), "_rev": {"S": "0"}}


def load(endpoint: str, count: int) -> None:
    client: Any = botocore.session.get_session().create_client(
        "dynamodb", region_name="us-east-1", endpoint_url=endpoint
    )
    portion: list[dict[str, Any]] = []
    for item in items(count):
        portion.append({"PutRequest": {"Item": item}})
        if len(portion) == 25:
            client.batch_write_item(RequestItems={app.name: portion})
            portion = []
    if portion:
        client.batch_write_item(RequestItems={app.name: portion})
    client.close()


def rss() -> float:
    """The memory this process takes now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Memory:
    """Prints the memory taken, ten times."""

    def __init__(self, count: int) -> None:
        self._step = max(count // 10, 1)
        self._next = self._step

    def __call__(self, done: int, total: int | None) -> None:
        if done >= self._next:
            self._next += self._step
            print(f"  {done:>9,} of {total or 0:,} items   {rss():6.1f} MB")


def measured(name: str, count: int, work: Iterator[Any]) -> None:
    began, cpu = time.monotonic(), time.process_time()
    found = sum(1 for _ in work)
    seconds = time.monotonic() - began
    print(
        f"{name}: {seconds:.1f} s ({time.process_time() - cpu:.1f} s of CPU here), "
        f"{count / seconds:,.0f} items/s, {found} found, {rss():.1f} MB"
    )


def main(count: int) -> None:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    with Ministack() as server, Session(endpoint=server.endpoint) as session:
        session.create_table(app)
        began = time.monotonic()
        load(server.endpoint, count)
        print(f"loaded in {time.monotonic() - began:.1f} s, {rss():.1f} MB")
        measured("verify", count, verify(session, app, options=Options(progress=Memory(count))))
        measured("verify, 4 segments", count, verify(session, app, options=Options(segments=4)))
        measured("repair", count, repair(session, app))


if __name__ == "__main__":
    main(int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 100_000)

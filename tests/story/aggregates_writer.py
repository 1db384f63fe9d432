"""A separate process that joins and leaves a group: ``aggregates_writer.py ENDPOINT TABLE ME ROUNDS``.

It prints ``ready`` once it is connected, waits for a line on stdin, works, and prints the number of refused writes.
"""

import sys
from random import Random

from dynaorm import Aggregate, Entity, F, Key, Retry, Session, Table
from dynaorm.errors import Contention
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.faults import FaultyTransport, lost_answer

app = Table("contended")


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str = ""
    members: int = 0
    hours: int = 0


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    hours: int = 0
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"})


def work(session: Session, me: str, rounds: int) -> int:
    """Join, change and leave under this process's names and a shared one; return how many writes were refused."""
    chance, refused = Random(me), 0
    for number in range(rounds):
        mine = Membership(group_id=chance.choice("gh"), user_id=f"{me}{number}", hours=chance.randint(0, 5))
        shared = Key(Membership, group_id="g", user_id="shared")
        try:
            session.save(mine)
            session.update(mine, {"hours": chance.randint(0, 5)})
            session.update(shared, F.hours.add(1))
            if number % 3 == 0:
                session.delete(mine)
            session.update(Key(Group, group_id="g"), F.name.set(me))
        except Contention:
            refused += 1
    return refused


def connected(endpoint: str, table: str) -> Session:
    """A session that loses the answer to its first transaction."""
    fault = lost_answer(operation="TransactWriteItems")
    transport = FaultyTransport(transport_to(endpoint), fault)
    return Session(
        transport=transport,
        table_names={app.name: table},
        retry=Retry(attempts=200, base=0.002, cap=0.02),
    )


if __name__ == "__main__":
    endpoint, table, me, rounds = sys.argv[1:]
    session = connected(endpoint, table)
    session.get(Group, group_id="g")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(f"{work(session, me, int(rounds))}\n")

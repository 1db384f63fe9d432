"""Sessions on a DynamoDB in this process: what they keep, what they share, and what survives."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from dynaorm import AsyncSession, Entity, F, Key, Session, Table
from dynaorm.embedded.engine import Engine
from dynaorm.errors import UniqueViolation, UsageError
from dynaorm.transport import Call, Refusal

app = Table("app")


class Account(Entity, table=app, pk="ACCOUNT#{account_id}", sk="ACCOUNT", unique={"email": ("email",)}):
    account_id: str
    email: str
    visits: int = 0


def test_a_session_in_memory_keeps_what_it_saves_and_its_unique_values() -> None:
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        ada = session.save(Account(account_id="1", email="ada@x.com"))
        with pytest.raises(UniqueViolation):
            session.save(Account(account_id="2", email="ada@x.com"))
        assert session.get(Account, account_id="1") == ada
        assert session.get(Account, account_id="2") is None


def test_each_unnamed_memory_is_a_dynamodb_of_its_own() -> None:
    with Session(endpoint="memory:") as one, Session(endpoint="memory:") as other:
        one.create_table(app)
        other.create_table(app)
        one.save(Account(account_id="1", email="ada@x.com"))
        assert other.get(Account, account_id="1") is None


def test_sessions_and_asynchronous_ones_share_a_named_memory() -> None:
    endpoint = f"memory:{uuid4()}"

    async def visits() -> Account | None:
        async with AsyncSession(endpoint=endpoint) as session:
            return await session.get(Account, account_id="1")

    with Session(endpoint=endpoint) as session:
        session.create_table(app)
        saved = session.save(Account(account_id="1", email="ada@x.com"))
    assert asyncio.run(visits()) == saved


def test_the_environment_names_a_file_that_sessions_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"sqlite:{tmp_path / 'dev.db'}")
    with Session() as session:
        session.create_table(app)
        saved = session.save(Account(account_id="1", email="ada@x.com"))
    with Session() as session:
        assert session.get(Account, account_id="1") == saved


@pytest.mark.parametrize("endpoint", ["sqlite:", "sqlite://dev.db", "sqlite:///dev.db"])
def test_a_path_written_as_a_url_is_refused_and_no_file_is_made_elsewhere(endpoint: str) -> None:
    with pytest.raises(UsageError, match="names no file; write the path behind sqlite:"):
        Session(endpoint=endpoint)


@pytest.mark.parametrize("kind", ["memory:", "sqlite:"])
def test_additions_of_eight_threads_are_all_made(kind: str, tmp_path: Path) -> None:
    with Session(endpoint=kind if kind == "memory:" else f"sqlite:{tmp_path / 'dev.db'}") as session:
        session.create_table(app)
        session.save(Account(account_id="1", email="ada@x.com"))
        key = Key(Account, account_id="1")

        def add(_: int) -> None:
            session.update(key, F.visits.add(1))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(add, range(200)))
        found = session.get(key)
    assert found is not None
    assert found.visits == 200


_WRITER = """
import sys
from dynaorm.transport import Call
from dynaorm.embedded.engine import Engine
from dynaorm.errors import UniqueViolation
engine = Engine(sys.argv[1])
put = lambda sk, n: {"Put": {"TableName": "app", "Item": {"PK": {"S": "P"}, "SK": {"S": sk}, "n": {"N": str(n)}}}}
n = 0
print("ready", flush=True)
while True:
    n += 1
    engine.call(Call("TransactWriteItems", {"TransactItems": [put(str(i), n) for i in range(20)]}))
"""


def test_a_killed_process_leaves_each_transaction_whole_or_absent(tmp_path: Path) -> None:
    file = str(tmp_path / "dev.db")
    engine = Engine(file)
    with Session(transport=engine) as session:
        session.create_table(app)
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", _WRITER, file], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while not engine.call(Call("Scan", {"TableName": "app", "Limit": 1}))["Count"]:
                pass
            writer.kill()
        items = engine.call(Call("Scan", {"TableName": "app"}))["Items"]
        assert len(items) == 20
        assert len({item["n"]["N"] for item in items}) == 1
    engine.close()


def test_what_the_engine_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="does not have the operation ExecuteStatement"):
        Engine().call(Call("ExecuteStatement", {}))
    with pytest.raises(Refusal, match="does not have the parameter AttributesToGet of GetItem"):
        Engine().call(Call("GetItem", {"TableName": "app", "Key": {}, "AttributesToGet": ["a"]}))

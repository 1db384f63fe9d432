"""The texts of secrets are in nothing that a command shows, logs or summarizes; only private files may have them."""

import json
import logging
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import SecretStr

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.transport import Transport
from tests.cli.conftest import Command
from tests.raw_tables import REGION

before = Table("no-secrets")
vault = Table("no-secrets", indexes=[GlobalIndex("GSI1")])
AT = "tests.cli.test_no_secrets:vault"
SECRET = "hush"


class OldBox(Entity, table=before, pk="BOX#{code}", sk="BOX", name="Box"):
    code: SecretStr
    pin: SecretStr
    phrase: SecretStr
    owner: SecretStr


class OldPaper(Entity, table=before, pk="PAPER#{number}", sk="PAPER", name="Paper"):
    number: int
    text: SecretStr


class Owner(Entity, table=vault, pk="OWNER#{owner}", sk="OWNER"):
    owner: SecretStr
    boxes: int = 0


class Box(Entity, table=vault, pk="BOX#{code}", sk="BOX"):
    """A secret in its key, in a unique value, in an index key, in the key of its totals, and in an attribute."""

    code: SecretStr
    pin: Annotated[SecretStr, Unique()]
    phrase: SecretStr
    owner: SecretStr
    by_phrase = Index("GSI1", pk="PHRASE#{phrase}", sk="{code}")
    of_owner = Aggregate(Owner, count="boxes")


class Paper(Entity, table=vault, pk="PAPER#{number}", sk="PAPER", versioned=True):
    number: int
    text: SecretStr


def secret(*words: object) -> SecretStr:
    return SecretStr("-".join(map(str, (SECRET, *words))))


@pytest.fixture
def live(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Session]:
    """A table with secrets in every place, older than its declarations, and with things that are wrong."""
    transport, client = engine_line
    name = unique_name(vault.name)
    with Session(transport=transport, table_names={vault.name: name}) as session:
        session.create_table(before)
        for number in range(4):
            code, phrase, owner = secret("code", number), secret("phrase", number), secret("owner", number)
            session.save(OldBox(code=code, pin=secret("pin", max(number, 1)), phrase=phrase, owner=owner))
            session.save(OldPaper(number=number, text=secret("text", number)))
        # Unreadable, unknown, an orphan guard, and a guard item with more than it should have.
        key = {"S": f"BOX#{SECRET}-unreadable"}
        client.put_item(TableName=name, Item={"PK": key, "SK": {"S": "BOX"}, "_type": {"S": "Box"}})
        for pin in ("left", "2"):
            guard = {"S": f"pin#{SECRET}-pin-{pin}"}
            owner_key = {"PK": {"S": f"BOX#{SECRET}-gone"}, "SK": {"S": "BOX"}}
            extra = {"note": {"S": SECRET}} if pin == "2" else {}
            client.put_item(
                TableName=name, Item={"PK": guard, "SK": guard, "owner": {"M": owner_key}, **extra}
            )
        yield session
        session.delete_table(vault, name=name)


def commands(folder: Path) -> Iterator[list[str]]:
    """Every job, shown as sentences and as JSON, with all of its files."""

    def files(verb: str, *kinds: str) -> list[str]:
        return [part for kind in kinds for part in (f"--{kind}", str(folder / f"{verb}-{kind}"))]

    yield ["verify", AT, *files("verify", "findings")]
    yield ["verify", AT, "--json", "--processes", "1"]
    yield ["apply", AT]
    yield ["apply", AT, "--yes", "--no-backfill", "--json"]
    yield ["backfill", AT, "--json"]
    yield ["repair", AT]
    stopped = ["--at-most", "1", "--checkpoint", str(folder / "backfill-checkpoint")]
    yield [
        "backfill",
        AT,
        "--yes",
        *stopped,
    ]
    yield ["repair", AT, "--yes", "--findings", str(folder / "verify-findings")]
    yield ["apply", AT, "--yes"]
    yield ["repair", AT, "--yes", "--json"]
    dump = str(folder / "dump")
    yield ["dump", AT, dump]
    yield ["dump", AT, str(folder / "entities"), "--entities"]
    yield ["load", AT, dump, "--yes"]
    yield ["load", AT, dump, "--yes", "--raw", "--json"]


PRIVATE = {"findings", "checkpoint", "dump", "entities"}


def test_no_job_tells_a_secret_but_to_a_private_file(
    dynaorm: Command,
    live: Session,
    endpoint: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = live._context.table_name(vault.name)
    where = ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{vault.name}={name}"]
    told: dict[str, str] = {}
    with caplog.at_level(logging.DEBUG, logger="dynaorm"):
        for number, command in enumerate(commands(tmp_path)):
            run = dynaorm(*command, *where)
            assert run.returncode in (0, 1, 3), run.stderr
            told[f"{number} {' '.join(command[:1])}"] = run.stdout + run.stderr
    told["logs"] = caplog.text
    private = [path for path in tmp_path.iterdir() if path.name.rpartition("-")[2] in PRIVATE]
    assert [f"{one}: {text}" for one, text in told.items() if SECRET in text] == []
    assert [path for path in tmp_path.iterdir() if path not in private] == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    # The jobs had something to tell, and their files something to hide.
    kinds = {json.loads(line)["kind"] for line in (tmp_path / "verify-findings").read_text().splitlines()}
    assert {"missing guard", "orphan guard", "index keys", "unreadable item", "duplicate value"} <= kinds
    assert SECRET in (tmp_path / "verify-findings").read_text()
    assert SECRET in (tmp_path / "dump").read_text()
    assert SECRET in (tmp_path / "entities").read_text()

"""The examples of the README pass mypy --strict, and misspelt imports from dynaorm do not."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ENTITIES = """
from dynaorm import Entity, Session, Table
from dynaorm.errors import OutcomeUnknown

app = Table("app")

class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str

class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int

session = Session(region="eu-west-1")
order = Ticket(project="p1", number=1)
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the README's examples, all but the one that is a test, and of two misspelt imports."""
    folder = tmp_path_factory.mktemp("readme")
    text = (ROOT / "README.md").read_text()
    first, queries, _, unknown, asynchronous, service, direct = re.findall(
        r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    programs = {
        "first": first,
        "queries": f'from dynaorm import Session\nsession = Session(region="eu-west-1")\n{queries}',
        "unknown": ENTITIES + unknown,
        "asynchronous": f"{ENTITIES}async def main() -> None:\n{textwrap.indent(asynchronous, '    ')}",
        "service": service,
        "direct": ENTITIES + direct,
        "misspelt": "from dynaorm import Sesion\nfrom dynaorm.testing import FakeClok\n",
    }
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program)
    (folder / "myservice").mkdir()
    (folder / "myservice" / "entities.py").write_text(first)
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            "--cache-dir",
            str(ROOT / ".mypy_cache" / "readme"),
            *sorted(f"{name}.py" for name in programs),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


def test_the_examples_of_the_readme_pass_mypy_strict(complaints: str) -> None:
    assert [line for line in complaints.splitlines() if not line.startswith("misspelt.py")][:-1] == []


def test_a_misspelt_import_is_reported(complaints: str) -> None:
    found = re.findall(
        r'^misspelt\.py:\d: error: Module "([\w.]+)" has no attribute "(\w+)"', complaints, re.MULTILINE
    )
    assert found == [("dynaorm", "Sesion"), ("dynaorm.testing", "FakeClok")]

"""What a process waits for before its first answer: as few imports as will do."""

import json
import subprocess
import sys

import pytest

from tests.pydantic_version import needs_pydantic_2_13
from tests.transport.unruly import Unruly

NEEDLESS_FOR_A_GET = (
    "asyncio.",
    "botocore.",
    "concurrent.",
    "difflib.",
    "dynaorm.entity.codec.model.",
    "dynaorm.entity.foreign_item.",
    "dynaorm.entity.mapping.exact.",
    "dynaorm.entity.mapping.validation_rules.",
    "dynaorm.entity.mapping.validate.",
    "dynaorm.entity.resolve.",
    "dynaorm.entity.text.ksuid.",
    "dynaorm.flow.commit.",
    "dynaorm.flow.entity.",
    "dynaorm.flow.history.",
    "dynaorm.flow.query.",
    "dynaorm.plan.",
    "dynaorm.query.",
    "dynaorm.session.query.",
    "dynaorm.session.transaction.",
    "dynaorm.transport.pynamodb.",
    "http.",
    "ksuid.",
    "pydantic.networks.",
    "pydantic.root_model.",
    "pynamodb.",
    "ssl.",
)


@needs_pydantic_2_13  # pydantic 2.12 imports asyncio itself
@pytest.mark.parametrize("transport", ["endpoint={!r}", "transport=DirectTransport(endpoint={!r})"])
def test_a_first_get_loads_nothing_that_only_other_calls_need(transport: str, server: Unruly) -> None:
    """Over plain HTTP: with https, it needs ``ssl``."""
    program = (
        "import json, sys\n"
        "from dynaorm import Entity, Session, Table\nfrom dynaorm.transport import DirectTransport\n"
        "class User(Entity, table=Table('app'), pk='USER#{user_id}', sk='PROFILE'):\n"
        "    user_id: str\n"
        f"session = Session({transport.format(server.endpoint)})\n"
        "print(session.get(User, user_id='1'), json.dumps([*sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found, _, modules = run.stdout.partition(" ")
    assert (found, len(server.requests)) == ("None", 1)
    needless = [name for name in json.loads(modules) if f"{name}.".startswith(NEEDLESS_FOR_A_GET)]
    assert not needless, f"a get loads {needless}; make them late (dynaorm/late.py)"


def test_the_transports_import_neither_botocore_nor_an_http_library() -> None:
    program = (
        "import sys, dynaorm.transport.direct, dynaorm.transport.asynchronous\n"
        "print({'botocore', 'pynamodb', 'urllib3', 'aiohttp', 'http.client'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"

"""pytest fixtures for projects that use dynaorm: a strict moto, and a session with the project's tables.

pytest loads this module in every run of every project where dynaorm is installed, also in those that never
ask for a fixture. Hence moto and the session are imported inside the fixtures: together they take most of a
second.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dynaorm.entity.table import Table
    from dynaorm.flow.call import Transport
    from dynaorm.session.sync import Session

ENDPOINT_VARIABLE = "DYNAORM_ENDPOINT"


@pytest.fixture
def dynaorm_moto() -> Iterator[None]:
    """DynamoDB in this process's memory for the time of one test: ``dynaorm.testing.strict_moto``."""
    from dynaorm.testing.strict_moto import strict_moto

    with strict_moto():
        yield


@pytest.fixture
def dynaorm_tables() -> "tuple[Table, ...]":
    """The tables ``dynaorm_session`` creates. Override it in your conftest.py and return yours."""
    return ()


@pytest.fixture
def dynaorm_session(
    request: pytest.FixtureRequest, dynaorm_tables: "tuple[Table, ...]"
) -> "Iterator[Session]":
    """A session on an empty DynamoDB in which the tables of ``dynaorm_tables`` exist.

    The DynamoDB is ``dynaorm_moto``, or, where the environment has ``DYNAORM_ENDPOINT``, the one at that URL:
    there the tables get names of this test's own, and are deleted after it. ``DYNAORM_TRANSPORT=direct`` goes
    there over ``DirectTransport``.
    """
    from dynaorm.session.sync import Session

    endpoint = os.environ.get(ENDPOINT_VARIABLE)
    if endpoint is None:
        request.getfixturevalue("dynaorm_moto")
        with Session(region="us-east-1") as session:
            for table in dynaorm_tables:
                session.create_table(table)
            yield session
        return

    from dynaorm.testing.road import transport_to

    _give_credentials(request.getfixturevalue("monkeypatch"))
    transport = transport_to(endpoint)
    mark = uuid.uuid4().hex[:12]
    names: dict[str, str] = {}

    def name_of(declared: str) -> str:
        return names.setdefault(declared, f"{declared}-{mark}")

    with closing(transport), Session(transport=transport, table_names=name_of) as session:
        try:
            for table in dynaorm_tables:
                session.create_table(table)
            yield session
        finally:
            _delete_tables(transport, tuple(names.values()))


def _give_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something to sign with, where there is nothing: an emulator takes anything, botocore insists."""
    if not {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"} & set(os.environ):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


def _delete_tables(transport: "Transport", names: tuple[str, ...]) -> None:
    from dynaorm.flow.call import Call, Refusal

    for name in names:
        try:
            transport.call(Call("DeleteTable", {"TableName": name}))
        except Refusal as refusal:
            # A table the test itself deleted, or that could not be created.
            if refusal.code != "ResourceNotFoundException":
                raise

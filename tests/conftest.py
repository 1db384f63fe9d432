"""Fixtures for every test: hypothesis profiles, credentials that open nothing, and engines to run against."""

import gc
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.loaders import create_loader
from hypothesis import Phase, settings

from dynaorm import Session
from dynaorm.testing import FakeClock, FaultyTransport, tables_of
from dynaorm.testing.ministack import Ministack, find_ministack, transport_to
from dynaorm.transport import Call, Transport
from tests.memory import MEMORY
from tests.raw_tables import PlainClient, aws_client

ROOT = Path(__file__).parents[1]

# A thousand mapped classes stay alive from the collection on, and the default threshold walks them again and again.
gc.set_threshold(100_000, 20, 50)

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=25, deadline=None, print_blob=True, derandomize=True)
# make fuzz: as long as it takes, and no time spent on explaining what fails.
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")),
    deadline=None,
    print_blob=True,
    phases=set(Phase) - {Phase.explain},
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session", autouse=True)
def credentials() -> Iterator[None]:
    """Credentials no AWS account knows, so that a test that missed its engine cannot reach a real table."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
            environment.delenv(name, raising=False)
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        environment.setenv("AWS_CONFIG_FILE", os.devnull)
        environment.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches the test, also in a process that a shell started in the background, which ignores it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(scope="session")
def ministack_executable() -> Path:
    """The ministack to run. Without one, what needs it fails and says how to get one; it never skips."""
    return find_ministack(folder / ".venv-ministack" / "bin" / "ministack" for folder in (ROOT, ROOT.parent))


@pytest.fixture(scope="session")
def ministack_endpoint(request: pytest.FixtureRequest, credentials: None) -> Iterator[str]:
    """The URL of a DynamoDB in another process: DYNAORM_ENDPOINT, or a ministack of this test run."""
    given = os.environ.get("DYNAORM_ENDPOINT")
    if given:
        yield given
        return
    with Ministack(request.getfixturevalue("ministack_executable")) as server:
        yield server.endpoint


@pytest.fixture
def unique_name() -> Callable[[str], str]:
    """Makes a table's name one that no other test uses: they share an engine."""
    mark = uuid.uuid4().hex[:12]
    return lambda name: f"{name}-{mark}"


@pytest.fixture
def one_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of botocore share what they read of its data files, which would take most of their time."""
    loader = create_loader()
    monkeypatch.setattr(botocore.session, "create_loader", lambda *_: loader)


# -- an engine in memory, one for each module and emptied for each test ------------------------------------------------


@pytest.fixture
def clock() -> FakeClock:
    """The clock of a test's sessions."""
    return FakeClock()


@pytest.fixture(scope="session")
def moto_transport() -> Transport:
    """It reaches the engine of the test."""
    return MEMORY


@pytest.fixture(scope="module")
def engine(moto_transport: Transport) -> Iterator[Transport]:
    """A transport to a DynamoDB in this process."""
    with MEMORY.empty():
        yield moto_transport


@pytest.fixture
def moto(engine: Transport) -> Iterator[Transport]:
    """The same DynamoDB, empty."""
    yield engine
    for name in engine.call(Call("ListTables", {}))["TableNames"]:
        engine.call(Call("DeleteTable", {"TableName": name}))


@pytest.fixture
def wire(moto: Transport) -> FaultyTransport:
    """The same DynamoDB behind a transport that records every call, without faults."""
    return FaultyTransport(moto)


@pytest.fixture
def session(request: pytest.FixtureRequest, wire: FaultyTransport, clock: FakeClock) -> Iterator[Session]:
    """A session on ``wire``, with the tables of the classes that the test's module names."""
    with Session(transport=wire, clock=clock) as session:
        for table in tables_of(request.module):
            session.create_table(table)
        wire.calls.clear()
        yield session


# -- both engines, each with a transport and a raw client, made once -----------------------------------------------


@pytest.fixture(scope="session")
def moto_line(moto_transport: Transport) -> tuple[Transport, Any]:
    """They reach the engine of the test."""
    return moto_transport, PlainClient(moto_transport)


@pytest.fixture(scope="session")
def ministack_line(ministack_endpoint: str) -> Iterator[tuple[Transport, Any]]:
    """They reach the server of this test run."""
    transport = transport_to(ministack_endpoint)
    with closing(transport), closing(aws_client(ministack_endpoint)) as client:
        yield transport, client

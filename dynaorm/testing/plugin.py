"""pytest fixtures for projects that use dynaorm: sessions with the project's tables, on a chosen engine.

pytest loads this module in every project where dynaorm is installed, even if no fixture is used. So moto and the
session, which take most of a second to import, are imported inside the fixtures.
"""

import os
import uuid
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from dynaorm.failure import counted

if TYPE_CHECKING:
    from dynaorm.entity.table import Table
    from dynaorm.flow.call import Clock, Transport
    from dynaorm.session._async.session import AsyncSession
    from dynaorm.session.session import Session
    from dynaorm.testing.faults import FaultyTransport
    from dynaorm.testing.store import Store

ENDPOINT_VARIABLE = "DYNAORM_ENDPOINT"
MOTO, MEMORY, MINISTACK = "moto", "memory", "ministack"
UNCHECKED = "dynaorm_unchecked"

_STORE: "pytest.StashKey[Store]" = pytest.StashKey()
_LEFT: "pytest.StashKey[str]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the configuration file."""
    engines = "moto or memory (in this process), ministack (a server of this run), or the URL of a DynamoDB"
    group = parser.getgroup("dynaorm", "dynaorm: a DynamoDB for tests")
    group.addoption("--dynaorm-endpoint", metavar="ENGINE", help=engines)
    group.addoption(
        "--dynaorm-show", action="store_true", help="print the items of a failed test, partition by partition"
    )
    parser.addini("dynaorm_endpoint", f"{engines}; moto by default", default=MOTO)
    parser.addini(
        "dynaorm_tables", "modules, or module:name, whose tables dynaorm_session has", type="args", default=[]
    )
    parser.addini(
        "dynaorm_check", "check that stored items are consistent after each test", type="bool", default=True
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, for projects with strict markers."""
    for marker in (
        "dynaorm_tables(*tables): more tables for dynaorm_session: tables, entity classes, modules, or their names",
        "dynaorm_seeds(*paths): JSON-lines files of entities for dynaorm_session, relative to the folder of the test",
        f"{UNCHECKED}: do not check the items that the test leaves: it breaks the rules on purpose",
    ):
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the items that a failed test left to its report, with ``--dynaorm-show``."""
    report = yield
    if report.failed and item.config.getoption("--dynaorm-show"):
        store = item.stash.get(_STORE, None)
        # After the test, what failed is the check of the items, which has drawn them before they were gone.
        found = item.stash.get(_LEFT, "") if call.when == "teardown" or store is None else _drawn(item, store)
        if found and call.when != "setup":
            report.sections.append(("items", found))
    return report


def _drawn(item: pytest.Item, store: "Store") -> str:
    writer = item.config.get_terminal_writer()
    return store.text(width=max(80, writer.fullwidth), colour=writer.hasmarkup)


# -- the engine --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def dynaorm_endpoint(pytestconfig: pytest.Config) -> Iterator[str | None]:
    """The endpoint of the DynamoDB to test against; None for moto in this process.

    ``--dynaorm-endpoint``, or ``DYNAORM_ENDPOINT`` in the environment, or ``dynaorm_endpoint`` in pytest's
    configuration: an endpoint, ``moto``, ``memory`` or ``ministack``.
    """
    from dynaorm.embedded.address import IN_MEMORY, IN_PROCESS

    named = (
        pytestconfig.getoption("--dynaorm-endpoint")
        or os.environ.get(ENDPOINT_VARIABLE)
        or pytestconfig.getini("dynaorm_endpoint")
    )
    if named == MOTO:
        yield None
    elif named in (MEMORY, IN_MEMORY):
        yield f"{IN_MEMORY}{uuid.uuid4()}"
    elif named == MINISTACK:
        from dynaorm.testing.ministack import Ministack

        with Ministack() as server:
            yield server.endpoint
    elif "://" in named or named.startswith(IN_PROCESS):
        yield named
    else:
        raise pytest.UsageError(
            f"dynaorm: {named!r} names no engine: give {MOTO}, {MEMORY}, {MINISTACK}, or a URL such as http://127.0.0.1:8000"
        )


@pytest.fixture
def dynaorm_moto() -> Iterator[None]:
    """DynamoDB in the memory of this process for one test: ``dynaorm.testing.moto_engine``."""
    from dynaorm.testing.moto_engine import strict_moto

    with strict_moto():
        yield


@pytest.fixture(scope="session")
def dynaorm_transport(dynaorm_endpoint: str | None) -> "Iterator[Transport]":
    """The transport to the engine, for raw DynamoDB calls; one for all tests. boto3 sees the tables of moto, too.

    ``DYNAORM_TRANSPORT=direct`` goes to a URL over ``DirectTransport``.
    """
    if dynaorm_endpoint is None:
        from dynaorm.testing.moto_engine import MotoTransport

        yield MotoTransport(region="us-east-1")
    else:
        from dynaorm.testing.ministack import transport_to

        with closing(transport_to(dynaorm_endpoint)) as transport:
            yield transport


# -- the tables and sessions of a test --------------------------------------------------------------------------------


@pytest.fixture
def dynaorm_tables(pytestconfig: pytest.Config) -> "tuple[Table, ...]":
    """The tables of ``dynaorm_session``: those of ``dynaorm_tables`` in pytest's configuration.

    Override this fixture in your conftest.py to return others.
    """
    from dynaorm.testing.tables import tables_of

    return tables_of(*pytestconfig.getini("dynaorm_tables"))


@pytest.fixture
def dynaorm_clock() -> "Clock | None":
    """The clock of the sessions; None is the system's. Override it with a ``FakeClock``, and no pause takes time."""
    return None


@pytest.fixture
def dynaorm_store(
    request: pytest.FixtureRequest,
    dynaorm_endpoint: str | None,
    dynaorm_tables: "tuple[Table, ...]",
    dynaorm_clock: "Clock | None",
) -> "Iterator[Store]":
    """A DynamoDB with the tables, for any number of sessions; empty, but for the files of ``dynaorm_seeds``.

    The tables are deleted after the test. At a URL or in a file, they have unique names. Before,
    ``assert_consistent`` checks the items, unless the test is marked ``dynaorm_unchecked`` or the configuration has
    ``dynaorm_check = false``.
    """
    from dynaorm.embedded.address import IN_MEMORY
    from dynaorm.testing.store import Store
    from dynaorm.testing.tables import tables_of

    if dynaorm_endpoint is None:
        request.getfixturevalue("dynaorm_moto")
    else:
        _give_credentials(request.getfixturevalue("monkeypatch"))
    marked = [source for marker in request.node.iter_markers("dynaorm_tables") for source in marker.args]
    store = Store(
        request.getfixturevalue("dynaorm_transport"),
        mark=None if (dynaorm_endpoint or IN_MEMORY).startswith(IN_MEMORY) else uuid.uuid4().hex[:12],
        clock=dynaorm_clock,
    )
    request.node.stash[_STORE] = store
    try:
        store.create(*tables_of(*dynaorm_tables, *marked))
        # Those of the module before those of the test.
        for marker in reversed([*request.node.iter_markers("dynaorm_seeds")]):
            for path in marker.args:
                store.seed(request.path.parent / path)
        yield store
        if request.config.getini("dynaorm_check") and request.node.get_closest_marker(UNCHECKED) is None:
            _check(store, request.node)
    finally:
        if dynaorm_endpoint is not None:
            store.drop()


@pytest.fixture
def dynaorm_session(dynaorm_store: "Store") -> "Iterator[Session]":
    """A session on an empty DynamoDB with the tables of ``dynaorm_tables``: see ``dynaorm_store``."""
    with dynaorm_store.session() as session:
        yield session


@pytest.fixture
def dynaorm_async_session(dynaorm_store: "Store") -> "AsyncSession":
    """An asynchronous session on the same tables; it works with any plugin that runs asynchronous tests."""
    return dynaorm_store.async_session()


@pytest.fixture
def dynaorm_faults(dynaorm_store: "Store") -> "Iterator[FaultyTransport]":
    """The transport of every session of the test: ``dynaorm_faults.inject(lost_answer(at=2))``.

    A fault that never struck fails the test, because the test did not show what it claims.
    """
    yield dynaorm_store.wire
    if left := dynaorm_store.wire.pending:
        calls = counted(len(dynaorm_store.wire.calls), "call was", "calls were")
        pytest.fail(
            f"never struck: {', '.join(map(str, left))}; {calls} made since the injection: "
            "correct at= or operation=, or inject() nothing at the end of the test",
            pytrace=False,
        )


def _check(store: "Store", item: pytest.Item) -> None:
    try:
        store.check()
    except AssertionError as found:
        if item.config.getoption("--dynaorm-show"):
            item.stash[_LEFT] = _drawn(item, store)
        pytest.fail(str(found), pytrace=False)


def _give_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set credentials if there are none: an emulator accepts any, but botocore requires some."""
    if not {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"} & set(os.environ):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")

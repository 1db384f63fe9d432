"""The owners' tables on strict moto, with a clock that stands at the time of the recorded items."""

from collections.abc import Iterator

import pytest

from dynaorm import Session
from dynaorm.testing import FakeClock, strict_moto, tables_of
from dynaorm.testing.moto_engine import MotoTransport
from tests.owners import models
from tests.owners.recorded import STARTED
from tests.raw_tables import REGION, PlainClient
from tests.story.engine import Engine


@pytest.fixture
def clock() -> FakeClock:
    """The recorded items expire an hour later."""
    return FakeClock(STARTED.timestamp())


@pytest.fixture
def engine(clock: FakeClock) -> Iterator[Engine]:
    transport = MotoTransport(region=REGION)
    with strict_moto(clock=clock):
        engine = Engine(transport, PlainClient(transport), clock, str)
        engine.create(*tables_of(models))
        yield engine


@pytest.fixture
def session(engine: Engine) -> Session:
    return engine.session()

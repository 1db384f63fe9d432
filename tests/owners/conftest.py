"""The owners' tables on strict moto, with a clock that stands at the time of the recorded items."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm import Session
from dynaorm.testing import FakeClock, strict_moto, tables_of
from dynaorm.transport import Transport
from tests.owners import models
from tests.owners.recorded import STARTED
from tests.story.engine import Engine


@pytest.fixture
def clock() -> FakeClock:
    """The recorded items expire an hour later."""
    return FakeClock(STARTED.timestamp())


@pytest.fixture
def engine(clock: FakeClock, moto_line: tuple[Transport, Any]) -> Iterator[Engine]:
    with strict_moto(clock=clock):
        engine = Engine(*moto_line, clock, str)
        engine.create(*tables_of(models))
        yield engine


@pytest.fixture
def session(engine: Engine) -> Session:
    return engine.session()

"""Pools of connections of each kind."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.transport.http.pools import POOLS, OpenPool, Pool, limits, route_of
from tests.transport.unruly import Unruly


@pytest.fixture(params=POOLS)
def open_pool(request: pytest.FixtureRequest) -> Iterator[OpenPool]:
    """Opens a pool of each kind to a URL. What a test opens is closed after it."""
    with ExitStack() as opened:

        def open_one(url: str, *, ca_bundle: Path | None = None, **changed: Any) -> Pool:
            pool = POOLS[request.param](route_of(url, ca_bundle), limits(**changed))
            return opened.enter_context(closing(pool))

        yield open_one


@pytest.fixture
def pool(server: Unruly, open_pool: OpenPool) -> Pool:
    return open_pool(server.endpoint)

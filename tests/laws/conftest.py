"""Both ways through the code that reads answers, for all laws."""

from typing import Any

import pytest

from dynaorm.item.json_body import Body, encode_body
from dynaorm.transport import Call, Transport


class AsItems:
    """Gives every answer as a dict, parsed."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def call(self, call: Call, /) -> Any:
        return dict(self._inner.call(call))


class AsBytes:
    """Gives every answer as the bytes of its body, as the direct transports do."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def call(self, call: Call, /) -> Any:
        return Body(encode_body(self._inner.call(call)))


@pytest.fixture(scope="module", params=[AsItems, AsBytes], ids=["items", "bytes"])
def transport(engine: Transport, request: pytest.FixtureRequest) -> Transport:
    """Answers as dicts, and as bytes, which take another way through the code."""
    transport: Transport = request.param(engine)
    return transport

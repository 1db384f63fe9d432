"""What every flow of a session shares."""

from dataclasses import FrozenInstanceError

import pytest

from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import Retry
from dynaorm.testing.clock import FakeClock


def test_a_context_reads_eventually_unless_told_and_cannot_change() -> None:
    context = Context(str, Retry(), FakeClock())
    assert not context.consistent
    assert context.table_name("app") == "app"
    with pytest.raises(FrozenInstanceError):
        context.consistent = True  # type: ignore[misc]  # what the test is about

"""The log named ``dynaorm``: what is told names the line that told it."""

import logging
from pathlib import Path

import pytest

from dynaorm.flow.log import inform, warn


def test_what_is_told_is_in_the_log_of_dynaorm_with_the_line_that_told_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="dynaorm"):
        warn("%s of %s", "one", "two")
        inform("all is well")
    told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [("dynaorm", "WARNING", "one of two"), ("dynaorm", "INFO", "all is well")]
    assert {record.filename for record in caplog.records} == {Path(__file__).name}

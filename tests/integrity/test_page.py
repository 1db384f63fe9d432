"""The page "Whole tables": what it says of prices follows from what it says is charged."""

import re

from dynaorm.flow.tables import TableLocation
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "whole-tables.md").read_text()
TERABYTE = 2**40
KB = 2**10


def numbers(pattern: str) -> list[float]:
    found = re.search(pattern, PAGE)
    assert found, pattern
    return [float(one.replace(",", "")) for one in found.groups()]


def test_the_prices_of_a_terabyte_follow_from_the_units_and_from_the_prices_that_are_cited() -> None:
    unit_price, export_price = numbers(
        r"with \$([\d.]+) for a million read units, and \$([\d.]+) for a gigabyte exported"
    )
    table = TableLocation("app", "app", None, None, items=TERABYTE // KB, size=TERABYTE)
    assert table.scan_units is not None
    assert table.items is not None
    scan, beside = numbers(r"\| (\d+) million read units for the scan,.* up to ([\d,]+) million more")
    assert (scan, beside) == (round(table.scan_units / 1e6), round(table.items / 1e6))
    scanned, judged = numbers(r"\| \$(\d+) for the scan, and up to \$(\d+) \|")
    assert scanned == round(table.scan_units / 1e6 * unit_price)
    assert judged == round(table.items / 1e6 * unit_price)
    gigabytes, exported = numbers(r"\| ([\d,]+) gigabytes exported, .* \| \$(\d+) \|")
    assert gigabytes == TERABYTE / 2**30
    assert exported == round(gigabytes * export_price)


def test_the_prices_have_a_date_and_a_source() -> None:
    (said,) = re.findall(r"^These prices are .*\n.*$", PAGE, re.MULTILINE)
    assert "on-demand tables in us-east-1, noted in November 2026" in said
    assert "(https://aws.amazon.com/dynamodb/pricing/on-demand/)" in said

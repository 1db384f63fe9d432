"""The examples run, each in a process of its own."""

from pathlib import Path

import pytest

from tests.story.conftest import Python

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

SHOWN = {
    "bobby_tables": (
        ", 4 items\n",
        "userName#btables",
        "email#bobby@tables.com",
        ", 1 item\n",
        ", 7 items\n",
        "jsmith",
    ),
    "two_tables": (", 1 item\n", ", 2 items\n", "email#bobby.tables@gmail.com", "table: User"),
    "equipment_audits": (
        ", 4 items\n",
        "v0_Audit",
        "v3_Audit",
        "v0_Audit#part7",
        "versions purged",
    ),
    "document_tracking": (", 5 items\n", "metadata", "permissions", "v_0", "v_2", "second draft"),
    "locations": (
        ", 11 items\n",
        "USA-TX-Houston",
        "region South: Midtown, Heights",
        "city='Pasadena'",
    ),
    "event_log": (", 3 items\n", "1535544000", "['event-3', 'event-1']", "event-2"),
    "chat": (", 6 items\n", "seattle-1", "seattle-2", "amsg#2018-08-29:12:00:00", "(2 requests)"),
    "people": ("['DeBrie', 'Dean', 'Dern']", "['Dean', 'DeBrie', 'Dern']", "DEBRIE", ", 3 items\n"),
    "orders_ksuid": (
        "2020-03-07 13:02:30+00:00",
        ", 5 items\n",
        "ORDERID#2S7pOaGwsooZHwQF9Cjb73DksHd",
        "[1, 2, 3]",
    ),
    "devices": (", 7 items\n", "(1 request)", "['72.9', '72.8', '72.7', '72.6', '72.5']"),
    "students": (
        ", 6 items\n",
        "In the index: 23552, 72442, 98244\n",
        "In the index: 23512, 23552, 48533, 72442, 98244",
    ),
    "tickets_overloaded": (", 6 items\n", "usuario1@email.com", "YT-81274", "mailbox='usuario1'"),
    "ticket_status": (
        ", 6 items\n",
        "STATUS#open#",
        "(8 requests)",
        "50 tickets from 2021-07-19 back to 2021-05-31, 3 requests",
    ),
    "online_shop": (", 19 items\n", "c#12345", "shp#54321", "type='GiftCard'", "name='The Book'"),
    "issues": (
        ", 6 items\n",
        "title='Docs are missing', status='Open'",
        "title='Slow query', status='Closed'",
        "(1 request)",
    ),
    "deals": (", 8 items\n", "day='2020-05-18 00:00:00'", "subject='Two for one'", "(1 request)"),
    "typedorm": (
        ", 5 items\n",
        "DRM_GEN_USER.EMAIL#loki@asgard.com",
        "GSI1SK=ORDER#cancelled#CREATED_AT#",
        "(1 request)",
    ),
    "search_index": (
        "9 records, and these changes:",
        "Deleted Key(Song, song_id='3')",
        "wild:\n['1', '2']",
        "example:\n[]",
    ),
    "downloads_per_month": (
        ", 18 items\n",
        "#token#d6",
        "[('129', 2), ('130', 1)]",
        "[('130', 2), ('129', 1)]",
    ),
    "device_state_log": (", 11 items\n", "State#Date", "WARNING4#2020-04-27T16:15:00", "Sara"),
}
"""What each example must print, among other things."""

PARTS = {"lambda_function", "lambda_powertools", "raw"}
"""Modules that only serve the examples."""

SERVICES = {"fastapi_service": "test_fastapi_service.py"}
"""Examples that wait for requests, and their tests."""


def test_every_example_is_known_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == SHOWN.keys() | PARTS | SERVICES.keys()
    assert [name for name in SERVICES.values() if not Path(__file__).with_name(name).exists()] == []


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_an_example_fits_80_columns_and_leaves_no_finding(name: str, python: Python) -> None:
    code, printed, errors = python(EXAMPLES / f"{name}.py")
    assert (code, errors) == (0, "")
    assert "\nverified: " in printed
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    # A line that is too long goes on in the next one.
    missing = [text for text in SHOWN[name] if "".join(text.split()) not in "".join(printed.split())]
    assert not missing, f"{name} does not print {missing}:\n{printed}"
    assert "…" not in printed, "an item is cut"


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_part_of_the_examples_runs_and_prints_nothing(name: str, python: Python) -> None:
    assert python(EXAMPLES / f"{name}.py") == (0, "", "")

"""The report of ``make bench-peers``: it hides no peer that is faster, and shows the noise."""

import pytest

from benchmarks.callers import Served
from benchmarks.page import RESULTS, replaced
from benchmarks.peers.cold import Start
from benchmarks.peers.report import document
from benchmarks.peers.rows import Row

OWN = "dynaorm"


def rows() -> list[Row]:
    """The reference, a peer that is faster in all but put, and dynaorm."""
    reference = Row("botocore (by hand)", "attribute values", {"get": [1e-3] * 3, "put": [1e-3] * 3})
    peer = Row("peer", "dicts", {"get": [2e-4, 1e-4, 3e-4], "put": [5e-4] * 3})
    own = Row(OWN, "validated", {"get": [3e-4] * 3, "put": [4e-4] * 3})
    for number, row in enumerate((reference, peer, own)):
        row.first_gets = [Start(0.1 + number / 10, 2**20)]
        row.imports = [Start(0.05, 2**20)]
        row.callers, row.served = "16 threads", [Served(1000 / (1 + number), 1.5, 1e-3, 2e-3)]
        row.kept = 1000.0 * (1 + number)
    return [reference, peer, own]


def lines_of(report: str, title: str) -> list[list[str]]:
    """The cells of the rows of the last table in a section."""
    section = report.partition(f"### {title}\n")[2].partition("\n### ")[0].strip()
    table = section.rpartition("\n\n")[2]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


FASTER = "Where a peer is faster or smaller than dynaorm"


def test_every_measure_of_dynaorm_is_listed_with_the_peers_that_need_less() -> None:
    report = document(rows(), {}, [], [])
    assert lines_of(report, FASTER) == [
        [OWN, "get", "0.30x", "peer (0.20x, 0.10x)"],
        [OWN, "put", "0.40x", "none"],
        [OWN, "import", "50 ms", "none"],
        [OWN, "first get", "300 ms", "botocore (by hand) (100 ms); peer (200 ms)"],
        [OWN, "kept entity", "3.0 kB", "botocore (by hand) (1.0 kB); peer (2.0 kB)"],
        [OWN, "get, 16 threads", "3,000 µs", "botocore (by hand) (1,000 µs); peer (2,000 µs)"],
    ]


def test_a_peer_whose_minimum_alone_is_lower_is_listed() -> None:
    found = rows()
    found[1].cpu["put"] = [3e-4, 9e-4, 9e-4]
    assert [OWN, "put", "0.40x", "peer (0.90x, 0.30x)"] in lines_of(document(found, {}, [], []), FASTER)


def test_medians_and_noise_are_shown() -> None:
    report = document(rows(), {}, [], ["a fact"])
    assert "| peer | dicts | **200 (0.20x)** | 500 (0.50x) |" in report
    assert "| noise |  | 50% | 0% |" in report
    assert "- a fact\n- Noise: interquartile spread of the microseconds" in report


def test_what_was_not_measured_has_no_section() -> None:
    report = document([Row("one", "dicts", {"get": [1.0]}), Row("dynaorm", "validated")], {}, [], [])
    titles = [line for line in report.splitlines() if line.startswith("###")]
    assert titles == ["### Client CPU per operation"]


@pytest.mark.parametrize("command", ["bench-peers", "bench-scale", "instructions"])
def test_the_page_has_the_markers_between_which_a_report_is_written(command: str) -> None:
    page = RESULTS.read_text(encoding="utf-8")
    written = replaced(page, command, "the report")
    assert f"<!-- {command}: begin -->\n\nthe report\n\n<!-- {command}: end -->" in written
    assert replaced(written, command, "another") == replaced(page, command, "another")
    with pytest.raises(ValueError, match="lacks its markers"):
        replaced("a page without them", command, "the report")

"""The counted instructions in the pages are those of the committed file."""

import re
import sys

import pytest

from benchmarks.instructions import FIGURES, main, names, report, sentence
from benchmarks.page import PAGE, RESULTS

COUNTED = {
    name: round(float(count.replace(",", "")) * 1000)
    for name, count in re.findall(r"│ (\S.*?) +│ ([\d,.]+) +│", FIGURES.read_text(encoding="utf-8"))
}


def test_every_row_is_counted() -> None:
    assert list(COUNTED) == names()


def test_the_results_have_the_tables_of_the_file() -> None:
    _, *tables = report(COUNTED).split("\n\n")
    page = RESULTS.read_text(encoding="utf-8")
    assert [one for one in tables if one not in page] == []


def test_the_page_about_performance_has_its_figures() -> None:
    assert sentence(COUNTED) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["get"], 1), (["--write"], 1)])
def test_without_valgrind_nothing_is_counted_and_only_who_asked_for_rows_fails(
    arguments: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["instructions", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == status
    assert "valgrind, which is not installed: apt-get install valgrind" in capsys.readouterr().out

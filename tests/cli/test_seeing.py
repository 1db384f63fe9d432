"""``layout``: a table drawn from samples, from seeds and from its items."""

import json
import re
from pathlib import Path

import pytest

from dynaorm import Session
from dynaorm.description import describe, samples
from dynaorm.layout import render_html
from dynaorm.layout.document import to_json
from dynaorm.layout.markdown import render_markdown, render_mermaid
from dynaorm.layout.text import render_svg, render_text
from dynaorm.layout.view import view_of
from tests.cli.conftest import Command
from tests.cli.desk import Case, desk

AT = "tests.cli.desk"
DRAWN = {
    "text": lambda: render_text(view_of(describe(desk), samples(desk))),
    "md": lambda: render_markdown(describe(desk)),
    "mermaid": lambda: render_mermaid(describe(desk)),
    "svg": lambda: render_svg(view_of(describe(desk), samples(desk))),
    "html": lambda: render_html(describe(desk), samples(desk)),
    "json": lambda: json.dumps(to_json(describe(desk), samples(desk))) + "\n",
}
WITH_ITEMS = ("text", "html", "json", "svg")
SUFFIXES = {"text": ".txt", "md": ".md", "mermaid": ".mmd", "svg": ".svg", "html": ".html", "json": ".json"}


@pytest.fixture(autouse=True)
def _80_columns(dynaorm: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")


@pytest.mark.parametrize("name", DRAWN)
def test_every_format_is_what_the_library_draws(dynaorm: Command, tmp_path: Path, name: str) -> None:
    expected = DRAWN[name]()
    run = dynaorm("layout", f"{AT}:desk", "--format", name)
    assert (run.returncode, run.stdout.rstrip("\n"), run.stderr) == (0, expected.rstrip("\n"), "")
    for more in (["-o", str(tmp_path / "it")], ["-o", str(tmp_path / f"it{SUFFIXES[name]}")]):
        asked = ["--format", name] if more[1].endswith("it") else []
        run = dynaorm("layout", f"{AT}:desk", *asked, *more)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", f"written to {more[1]}\n")
        written = Path(more[1]).read_text(encoding="utf-8")
        assert json.loads(written) == json.loads(expected) if name == "json" else written == expected


def test_seeds_take_the_place_of_samples(dynaorm: Command, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.jsonl"
    seeds.write_text('{"Guide": {"slug": "how", "title": "How"}}\n')
    run = dynaorm("layout", f"{AT}:desk", "--seeds", str(seeds))
    assert "GUIDE#how" in run.stdout
    assert "AGENT#" not in run.stdout
    seeds.write_text('{"Giude": {"slug": "how"}}\n')
    run = dynaorm("layout", f"{AT}:desk", "--seeds", str(seeds))
    assert run.returncode == 2
    assert "line 1: 'Giude' is not a class of desk" in run.stderr


def test_a_browser_is_opened(dynaorm: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {seen}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("webbrowser._tryorder", None)
    run = dynaorm("layout", f"{AT}:desk", "--open")
    assert run.returncode == 0
    url = seen.read_text().strip()
    assert url.startswith("file:///")
    assert Path(url.removeprefix("file://")).read_text(encoding="utf-8") == DRAWN["html"]()


# -- the items of a real table -----------------------------------------------------------------------------------------

VALUES = (
    "AGENT#liz",
    "Liz@x",
    "bob@x",
    "Acme",
    "acme",
    "Case 1",
    "hush",
    "tok-1",
    "Oslo",
    "GUIDE#first",
    "Begin here",
)


@pytest.mark.parametrize("name", WITH_ITEMS)
def test_items_of_a_table_are_drawn_without_their_values_and_say_where_they_are_from(
    ask: Command, name: str
) -> None:
    run = ask("layout", f"{AT}:desk", "--from-table", "3", "--format", name)
    assert (run.returncode, run.stderr) == (0, "")
    assert [value for value in VALUES if value in run.stdout] == []
    # A picture breaks its lines.
    said = " ".join(re.sub(r"(</?t(ext|span)[^>]*>\s*)+", " ", run.stdout).split())
    if name == "json":
        source = json.loads(run.stdout)["source"]
        assert source["table"].startswith("desk-")
        assert (source["with_values"], source["read"], source["is_all"]) == (False, 13, True)
    else:
        assert "Items of the table desk-" in said
        assert "The table has 13 items, and all are read. Their values are replaced by their types." in said


@pytest.mark.parametrize(("most", "read"), [("1", 1), ("6", 6), ("7", 7), ("20", 13)])
def test_no_more_items_are_read_than_allowed(ask: Command, most: str, read: int) -> None:
    run = ask("layout", f"{AT}:desk", "--from-table", "9", "--read-at-most", most, "--json")
    found = json.loads(run.stdout)
    assert (found["source"]["read"], found["source"]["is_all"]) == (read, read == 13)
    assert len(found["entries"]) <= read


@pytest.mark.parametrize("name", WITH_ITEMS)
def test_items_of_a_table_are_drawn_with_their_values_and_without_secrets(ask: Command, name: str) -> None:
    run = ask("layout", f"{AT}:desk", "--from-table", "3", "--with-values", "--format", name)
    assert run.returncode == 0, run.stderr
    assert "Liz@x.com" in run.stdout
    assert "hush" not in run.stdout
    assert "tok-1" not in run.stdout


def test_so_many_entities_of_each_class_are_drawn(ask: Command, desk_session: Session) -> None:
    for most in (1, 2, 5):
        run = ask("layout", f"{AT}:desk", "--from-table", str(most), "--with-values", "--json")
        found = [one["class"] for one in json.loads(run.stdout)["entries"] if one["kind"] == "entity"]
        stored = {"Org": 1, "Agent": 2, "Case": 3, "Guide": 1, "Login": 1}
        assert {name: found.count(name) for name in stored} == {
            name: min(most, count) for name, count in stored.items()
        }
    desk_session.delete_many(list(desk_session.scan(Case)))
    assert ask("layout", f"{AT}:Case", "--from-table", "1").returncode == 1


# -- what cannot be drawn ----------------------------------------------------------------------------------------------


def test_a_table_without_classes_has_nothing_to_draw(dynaorm: Command) -> None:
    run = dynaorm("layout", "tests.cast.tables:locks")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "the table locks has no class, so there is nothing to draw\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--index", "GSI9"], "the table desk has no index 'GSI9'; did you mean 'GSI2'?"),
        (
            ["--index", "GSI1", "--format", "html"],
            "--index is for text and SVG, and html has every index; leave it out",
        ),
        (["--class", "Cas"], "the table has no class 'Cas'; did you mean 'Case'?"),
        (["--with-values"], "--with-values belongs to --from-table"),
        (["--read-at-most", "9"], "--read-at-most belongs to --from-table"),
        (["--from-table", "2", "--format", "md"], "--from-table is about items, and md shows none; leave"),
        (
            ["--seeds", "pyproject.toml", "--format", "mermaid"],
            "--seeds is about items, and mermaid shows none",
        ),
        (["--from-table", "0"], "Invalid value for '--from-table'"),
        (["--from-table", "2", "--seeds", "pyproject.toml"], "contradict each other"),
        (["--json", "--format", "md"], "--json and --format md contradict each other"),
        (["-o", "picture.foo"], "does not say which format; give --format"),
        (["-o", "no/such/folder/a.md"], "No such file or directory"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_what_cannot_be_drawn_says_why(dynaorm: Command, arguments: list[str], says: str) -> None:
    run = dynaorm("layout", f"{AT}:desk", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert "Traceback" not in run.stderr

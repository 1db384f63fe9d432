"""The documents: their Python runs from top to bottom and leaves sound tables, and their links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Session, Table, tools
from dynaorm.testing import assert_consistent, strict_moto
from dynaorm.testing.moto_engine import MotoTransport
from tools.make_pictures import RECIPES, picture_of, programs, recipe

pytestmark = pytest.mark.usefixtures("one_loader")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    "name",
    [
        "aggregates",
        "changing-a-model",
        "concepts",
        "description",
        "entities",
        "existing-tables",
        "from-boto3",
        "from-electrodb",
        "from-onetable",
        "from-typedorm",
        "pynamodb",
        "queries",
        "streams",
        "telemetry",
        "typing",
        "versions",
        "writing",
    ],
)
def test_a_document_runs_and_leaves_a_consistent_table(name: str) -> None:
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    with strict_moto(), Session(transport=MotoTransport(region="us-east-1")) as session:
        names: dict[str, Any] = {"__name__": f"docs.{name}", "session": session}
        exec(compile("\n\n".join(found), f"{name}.md", "exec"), names)
        tables = [value for value in names.values() if isinstance(value, Table)]
        assert tables
        assert_consistent(session, *tables)
        assert list(tools.verify(session, *tables)) == []


def test_the_page_about_vectors_runs_on_a_server_that_has_them(ministack_endpoint: str) -> None:
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / "vectors.md").read_text(), re.MULTILINE | re.DOTALL)
    with Session(endpoint=ministack_endpoint, region="us-east-1") as session:
        names: dict[str, Any] = {"__name__": "docs.vectors", "session": session}
        exec(compile("\n\n".join(found), "vectors.md", "exec"), names)
        assert_consistent(session, names["library"])
        session.delete_table(names["library"], name="library")


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_runs_and_its_picture_is_what_it_stores(page: Path) -> None:
    ran = recipe(page)
    assert page.with_suffix(".svg").read_text("utf-8") == picture_of(ran), "run make pictures"
    assert f"![The items that this page stores]({page.stem}.svg)" in page.read_text("utf-8")


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_asserts_its_price_and_says_what_it_is_not_for(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "| call | requests | units |" in text
    assert any(".write_units == " in program for program in programs(text))
    assert "**Not for**" in text


def test_every_recipe_is_in_the_list() -> None:
    text = (DOCS / "recipes" / "index.md").read_text("utf-8")
    assert [page.stem for page in RECIPES if f"]({page.name})" not in text] == []


def test_the_explanation_in_concepts_is_what_the_example_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (DOCS / "concepts.md").read_text()
    (example,) = programs(page)
    with strict_moto(), Session(transport=MotoTransport(region="us-east-1")) as session:
        exec(example, {"__name__": "docs.concepts", "session": session})
    assert re.sub(r"\b[0-9a-f]{32}\b", "5bfd…", capsys.readouterr().out) in page


def test_contributing_names_modules_that_exist() -> None:
    text = (
        (ROOT / "CONTRIBUTING.md").read_text().partition("## How a save travels")[2].partition("## Gloss")[0]
    )
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))
    stored = [path.relative_to(ROOT).as_posix() for path in (ROOT / "dynaorm").rglob("*")]
    gone = [name for name in named if not any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in stored)]
    assert len(named) > 20
    assert gone == []


def test_every_law_is_on_the_page_of_laws() -> None:
    folder = ROOT / "tests" / "laws"
    text = (folder / "README.md").read_text()
    assert [law.name for law in folder.glob("test_*.py") if f"({law.name})" not in text] == []


PAGES = [
    page
    for folder in (
        ".",
        "docs",
        "docs/recipes",
        "docs/tutorial",
        "examples",
        "benchmarks",
        "benchmarks/peers",
        "tests",
        "tests/laws",
    )
    for page in (ROOT / folder).glob("*.md")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_the_cells_of_its_head(page: Path) -> None:
    # GitHub divides a cell at a | in code, and shows the rest of the row in other columns. A backslash before it is
    # shown on the site. Write <code>X &#124; None</code>.
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for grid in re.findall(r"^\|.*(?:\n\|.*)*", text, flags=re.MULTILINE):
        rows = grid.splitlines()
        assert {row.count("|") for row in rows} == {rows[0].count("|")}, grid


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_document_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

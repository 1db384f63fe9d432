"""The pages of the examples and of every table of the cast: each item, write and question is drawn without an error."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from dynaorm import Table
from dynaorm.description import samples
from dynaorm.layout import render_html
from tests.browser.conftest import Pages, skip_unless_wanted
from tests.cast import tables

skip_unless_wanted()

EXAMPLES = Path(__file__).parents[2] / "examples"
# They need more than dynaorm, or declare no table.
LEFT_OUT = {"fastapi_service", "lambda_function", "lambda_powertools", "raw"}
CAST = ("documents", "events", "orders", "others", "people", "tickets")

WALK = """() => {
  const wide = [], ends = one => one.closest("td, th").getBoundingClientRect().right;
  const look = where => {
    if (document.documentElement.scrollWidth > innerWidth) wide.push(where);
    for (const one of document.querySelectorAll("table.items .key > *"))
      if (one.getBoundingClientRect().right > ends(one)) wide.push(one.textContent);
  };
  for (const view of ["keys", "questions", "items"]) { change({ view }); look(view); }
  for (const { index } of VIEWS) { change({ index, all: true }); look(index); }
  change({ index: null, all: false });
  for (const item of ITEMS) {
    choose(item.id, true);
    look(item.name);
    for (let write = 0; write < writesOf(item).list.length; write++) change({ write });
    for (const [ask, answer] of ASKED(item)) { asked(ask, answer, item); look(ask.id); }
    change({ index: null, ask: null, write: 0 });
  }
  return [ITEMS.length, document.querySelectorAll("tr.row").length, wide];
}"""


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in LEFT_OUT)


def tables_in(name: str) -> list[Table]:
    """The tables of an example, or of the cast with all its classes."""
    if name != "cast":
        return tables_of(importlib.import_module(name))
    for each in CAST:
        importlib.import_module(f"tests.cast.{each}")
    return tables_of(tables)


def tables_of(module: ModuleType) -> list[Table]:
    return [*{one.name: one for one in vars(module).values() if isinstance(one, Table)}.values()]


@pytest.mark.parametrize("name", ["cast", *NAMES])
def test_everything_on_a_page_can_be_chosen(pages: Pages, name: str) -> None:
    found = tables_in(name)
    assert found
    for table in found:
        entries = samples(table)
        text = render_html(table, entries)
        for width in (390, 1280):
            items, rows, wide = pages.open(text, width=width).evaluate(WALK)
            assert items == rows == len(entries)
            assert wide == []

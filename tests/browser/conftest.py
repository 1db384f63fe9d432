"""A real browser for the page of a table. ``make test-browser`` starts it; without one, its tests are skipped."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from dynaorm.description.entry import Entry
from dynaorm.layout import ItemSource, render_html
from tests.layout import page_tables

BROWSERS: Final = (
    "chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome",
    "google-chrome-stable",
)  # fmt: skip

SIZES: Final = {390: 844, 768: 1024, 1280: 900}


def skip_unless_wanted() -> None:
    """Skip a whole module, in one line of the report, in a run that does not ask for a browser."""
    if not os.environ.get("DYNAORM_BROWSER"):
        pytest.skip("a browser is started only by make test-browser", allow_module_level=True)


class Pages:
    """Opens files in new tabs, and notes what goes wrong there and what they request."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self.problems: list[str] = []
        self.requests: list[str] = []

    def open(self, text: str, hash_: str = "", *, width: int = 1280, scheme: str = "light") -> Any:
        """A tab with the page, at a state of it."""
        path = self._folder / f"page{abs(hash(text))}.html"
        path.write_text(text, encoding="utf-8")
        size = {"width": width, "height": SIZES[width]}
        tab = self._browser.new_context(viewport=size, color_scheme=scheme).new_page()
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("dialog", self._asked)
        tab.on("console", self._said)
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.goto(f"{path.as_uri()}{hash_}")
        return tab

    def _asked(self, dialog: Any) -> None:
        self.problems.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason='pip install "dynaorm[browser]"')
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"there is none of {', '.join(BROWSERS)} on PATH")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def pages(browser: Any, tmp_path: Path) -> Iterator[Pages]:
    """Opens pages. A test that used one fails if the page failed, or requested anything but itself."""
    found = Pages(browser, tmp_path)
    yield found
    for context in browser.contexts:
        context.close()
    assert not found.problems
    assert all(url.startswith(tmp_path.as_uri()) for url in found.requests)


_TABLES: Final[Mapping[str, tuple[Any, Callable[[], Sequence[Entry]]]]] = {
    "desk": (page_tables.desk, page_tables.desk_entries),
    "many": (page_tables.desk, page_tables.many_desk_entries),
    "vault": (page_tables.vault, page_tables.vault_entries),
    "town": (page_tables.town, page_tables.town_entries),
    "evil": (page_tables.evil_description(), page_tables.evil_entries),
    "empty": (page_tables.desk, list),
}


@pytest.fixture(scope="session")
def html() -> Callable[[str], str]:
    """The pages of tables, each made once."""
    made: dict[str, str] = {}

    def of(name: str) -> str:
        if name not in made:
            table, entries = _TABLES[name]
            source = (
                ItemSource("town-prod", "123456789012", "eu-west-1", page_tables.NOW)
                if name == "town"
                else None
            )
            made[name] = render_html(table, entries(), source)
        return made[name]

    return of

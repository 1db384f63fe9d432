"""The site has every public name and every page, and is built strictly, without a network."""

import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from dynaorm import Session, errors
from dynaorm.failure import place_of
from tests.test_public_names import PUBLIC_MODULES
from tools.site.pages import configuration, pages, write_site
from tools.site.reference import IN_SIGNATURES, METHODS, TOPICS, methods

ROOT = Path(__file__).parents[2]


def test_every_public_name_stands_on_one_page_of_the_reference() -> None:
    listed = Counter(name for topic in TOPICS.values() for name in topic.names)
    whole = {name for name in listed if name in PUBLIC_MODULES}
    named = {
        f"{module}.{name}"
        for module in PUBLIC_MODULES - whole
        for name in importlib.import_module(module).__all__
    }
    assert {name for name, times in listed.items() if times > 1} == set()
    assert listed.keys() - whole == named


def test_every_method_of_a_session_stands_on_one_page() -> None:
    listed = Counter(name for names in methods().values() for name in names)
    assert {name for name, times in listed.items() if times > 1} == set()
    public = {name for name in vars(Session) if not name.startswith("_")}
    assert listed.keys() == public - {"close"}


def test_every_page_is_in_the_navigation_once() -> None:
    listed = Counter(_leaves(yaml.safe_load(configuration())["nav"]))
    made = {name for name in pages() if name.endswith(".md")}
    assert {name for name, times in listed.items() if times > 1} == set()
    assert listed.keys() == made


def _leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [leaf for one in (nav.values() if isinstance(nav, dict) else nav) for leaf in _leaves(one)]


def test_a_link_to_a_file_without_a_page_leads_to_the_repository() -> None:
    (line,) = (
        one
        for one in str(pages("https://example.org/us/it")["laws.md"]).splitlines()
        if "[test_reads]" in one
    )
    assert "[test_reads](https://example.org/us/it/blob/main/tests/laws/test_reads.py)" in line


def test_a_link_to_a_file_without_a_page_leads_to_a_copy_until_the_repository_has_an_address() -> None:
    made = pages("")
    (line,) = (one for one in str(made["laws.md"]).splitlines() if "[test_reads]" in one)
    assert "[test_reads](source/tests/laws/test_reads.py.txt)" in line
    assert made["source/tests/laws/test_reads.py.txt"] == (ROOT / "tests/laws/test_reads.py").read_bytes()


# ``make docs`` takes the other builder, too.
def test_the_site_is_built_strictly_and_asks_no_other_server(tmp_path: Path) -> None:
    write_site(tmp_path)
    # The configuration names the folder of the code as the one above its own.
    (tmp_path / "mkdocs.yml").write_text(
        (tmp_path / "mkdocs.yml").read_text().replace("paths: [..]", f"paths: [{ROOT}]")
    )
    run = subprocess.run(
        [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "--config-file", "mkdocs.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "griffe:" not in run.stdout + run.stderr
    built = {path: path.read_text() for path in (tmp_path / "html").rglob("*.html")}
    assert len(built) > len(TOPICS)
    assert _asked_of_others(built) == set()
    anchors = {anchor for page in built.values() for anchor in re.findall(r'id="?(dynaorm[\w.]+)', page)}
    assert {name for topic in TOPICS.values() for name in topic.names} - anchors == set()
    paragraphs = [text for page in built.values() for text in re.findall(r"<p>.*?</p>", page, re.DOTALL)]
    # A list without an empty line before it is a part of the paragraph.
    assert [text for text in paragraphs if re.search(r"\n\s*(?:- |\d+\. |\|)", text)] == []
    for page in ("queries", "session", "async"):
        text = re.sub(r"<[^>]+>", "", built[tmp_path / "html" / "reference" / page / "index.html"])
        assert [
            name for name in ("QuerySpec", "RunFlow", "wants_item", "subscriptions") if name in text
        ] == []
    unlinked = _unlinked(
        "".join(built[tmp_path / "html" / "reference" / page / "index.html"] for page in METHODS)
    )
    listed = (IN_SIGNATURES, *(topic.names for topic in TOPICS.values()))
    assert {name.rpartition(".")[2] for names in listed for name in names} & unlinked == set()
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.DynaormError):
            page, _, anchor = place_of(error).partition("#")
            assert re.search(
                rf'id="?{re.escape(anchor)}[" >]', built[tmp_path / "html" / page / "index.html"]
            )


def _asked_of_others(built: dict[Path, str]) -> set[tuple[str, str]]:
    """The addresses of other servers that a page loads something from, with the page."""
    asked = r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"?(https?:[^\">\s]+)"
    return {
        (path.parent.name, address)
        for path, page in built.items()
        for address in re.findall(asked, page)
        if "rel=canonical" not in page
    }


def _unlinked(page: str) -> set[str]:
    """The capitalized names in the signatures of a page that lead nowhere."""
    signatures = re.findall(r"doc-signature.*?</pre>", page, re.DOTALL)
    assert len(signatures) > 40
    without_links = [re.sub(r"<a [^>]*>.*?</a>", "", one, flags=re.DOTALL) for one in signatures]
    return {name for one in without_links for name in re.findall(r">([A-Z]\w+)<", one)}

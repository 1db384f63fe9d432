"""The pages of the site, made from the files of the repository.

Rule 1. A page of ``docs/`` keeps its name. A document of the root, an example and the reference get pages of their own.
Rule 2. A link to a file that has a page leads to that page. A link to any other file leads to the repository, or to a
        copy of the file until the repository has an address: ``[tool.dynaorm] repository`` in pyproject.toml.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dynaorm import failure
from tools.package_page import settings
from tools.site.reference import reference_pages

ROOT: Final = Path(__file__).parents[2]

FIRST_PAGE: Final = "tools/site/index.md"

OF_ROOT: Final = {
    FIRST_PAGE: "index.md",
    "tools/site/site.css": "site.css",
    "dynaorm/guide.md": "guide.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples/index.md",
    "benchmarks/peers/README.md": "benchmarks.md",
    "benchmarks/RESULTS.md": "results.md",
    "tests/laws/README.md": "laws.md",
    "tests/MUTATION.md": "mutation.md",
}
"""The files outside of ``docs/`` that the site has, by their path in the repository."""

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def write_site(target: Path) -> None:
    """Write ``mkdocs.yml`` and the folder ``site``, which is emptied first."""
    shutil.rmtree(target / "site", ignore_errors=True)
    for name, page in pages().items():
        path = target / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page if isinstance(page, bytes) else page.encode())
    # Zensical builds only what lies beside its configuration.
    (target / "mkdocs.yml").write_text(configuration(), encoding="utf-8")


def configuration() -> str:
    """The configuration of both builders, with the site's address and every example in its navigation."""
    text = (ROOT / "tools" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    if failure.SITE:
        text += f"site_url: {failure.SITE}\n"
    overview = "          - examples/index.md\n"
    examples = (f"          - examples/{one.stem}.md\n" for one in sorted((ROOT / "examples").glob("*.py")))
    return text.replace(overview, overview + "".join(examples))


def repository() -> str:
    """The address of the repository, without a slash at its end; empty if it is not known."""
    return str(settings(ROOT)["repository"]).rstrip("/")


def pages(home: str | None = None) -> dict[str, str | bytes]:
    """Every file of the site, by its path.

    Args:
        home: the address of the repository, or nothing for copies of the files; that of pyproject.toml by default.
    """
    found: dict[str, str | bytes] = {}
    places = dict(_places())
    home = repository() if home is None else home
    for path, page in places.items():
        source = ROOT / path
        if source.suffix == ".md":
            found[page], copied = linked(source.read_text(encoding="utf-8"), path, places, home)
            found |= {_copy(name): (ROOT / name).read_bytes() for name in copied}
        elif source.suffix == ".py":
            found[page] = _example(source)
        else:
            found[page] = source.read_bytes()
    return found | reference_pages() | {"llms.txt": (ROOT / "dynaorm" / "guide.md").read_bytes()}


def _made() -> dict[str, str]:
    """The pages that no file of the repository holds, by the path that a link in ``docs/`` would have."""
    return {f"docs/{page}": page for page in (*reference_pages(), "llms.txt")}


def _places() -> Iterator[tuple[str, str]]:
    """Each file of the repository that has a page, and the page."""
    for source in sorted((ROOT / "docs").rglob("*")):
        if source.is_file():
            yield source.relative_to(ROOT).as_posix(), source.relative_to(ROOT / "docs").as_posix()
    yield from OF_ROOT.items()
    for source in sorted((ROOT / "examples").glob("*.py")):
        yield f"examples/{source.name}", f"examples/{source.stem}.md"


def _copy(name: str) -> str:
    """Where a copy of a file of the repository lies. The name ends so that browsers show it."""
    return f"source/{name}.txt"


def linked(text: str, path: str, places: Mapping[str, str], home: str) -> tuple[str, set[str]]:
    """The text of a document with links that lead somewhere from the site, and the files that it needs copies of."""
    fences: list[str] = []
    copied: set[str] = set()
    made = _made()

    def kept(fence: re.Match[str]) -> str:
        fences.append(fence[0])
        return f"\0{len(fences) - 1}\0"

    # The first page of the site is written as if it stood beside the others.
    folder = ROOT / "docs" if path == FIRST_PAGE else (ROOT / path).parent

    def replaced(link: re.Match[str]) -> str:
        mark, words, target, anchor = link.groups()
        file = folder.joinpath(target).resolve()
        named = file.relative_to(ROOT).as_posix()
        page = places.get(f"{named}/README.md", places.get(named, made.get(named)))
        if named == "README.md":  # the site has a first page of its own
            page, anchor = "index.md", ""
        if page is None and home:
            return f"{mark}[{words}]({home}/blob/main/{named}{anchor or ''})"
        if page is None:
            copied.add(named)
            page = _copy(named)
        here = Path(places[path]).parent
        up = "../" * len(here.parts)
        return f"{mark}[{words}]({up}{page}{anchor or ''})"

    # A link in a program is a text of the program.
    outside = _LINK.sub(replaced, _FENCE.sub(kept, text))
    return re.sub("\0(\\d+)\0", lambda number: fences[int(number[1])], outside), copied


def _example(source: Path) -> str:
    """The page of an example: the first sentences of its module as the text, then the program."""
    code = source.read_text(encoding="utf-8")
    doc = re.match(r'"""(.*?)"""', code, re.DOTALL)
    said = doc[1].strip() if doc else ""
    title, _, more = said.partition("\n")
    return f"# {source.name}\n\n{title}\n{more}\n\n```python\n{code.rstrip()}\n```\n"

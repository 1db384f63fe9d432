"""Writes what ``[tool.dynaorm]`` of pyproject.toml says about the project's home into the files that name it.

A release fills in the settings and runs ``python -m tools.contact``. Where a setting is empty, its sentence is absent.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tools.package_page import settings

ROOT: Final = Path(__file__).parents[1]


def texts(given: Mapping[str, Any]) -> dict[str, str]:
    """The files with a part between ``<!-- contact: begin -->`` and its end, and that part."""
    reporting = "Report a vulnerability privately, not in an issue."
    if contact := given["security-contact"]:
        reporting = f"Report a vulnerability privately to {contact}, not in an issue."
    by = [f"dynaorm is maintained by {', '.join(given['maintainers'])}."] if given["maintainers"] else []
    at = [f"Its repository is <{given['repository']}>."] if given["repository"] else []
    return {"SECURITY.md": reporting, "docs/support.md": " ".join([*by, *at])}


def filled(page: str, text: str) -> str:
    """A page with another text between its markers."""
    part = f"<!-- contact: begin -->\n{text}\n" if text else "<!-- contact: begin -->\n"
    return re.sub(
        r"<!-- contact: begin -->\n.*?(?=<!-- contact: end -->)", lambda _: part, page, flags=re.DOTALL
    )


def files(given: Mapping[str, Any]) -> dict[Path, str]:
    """Every file that a setting is written to, with its whole text."""
    pages = {
        ROOT / name: filled((ROOT / name).read_text("utf-8"), text) for name, text in texts(given).items()
    }
    failure = ROOT / "dynaorm" / "failure.py"
    site = re.sub(
        r'^SITE = ".*"$', f'SITE = "{given["documentation"]}"', failure.read_text("utf-8"), flags=re.MULTILINE
    )
    return {**pages, failure: site}


if __name__ == "__main__":
    for path, text in files(settings(ROOT)).items():
        path.write_text(text, encoding="utf-8")

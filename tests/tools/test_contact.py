"""What the project's home is stands in one setting, and in the texts only where it is known."""

import pytest

from tools.contact import ROOT, files, filled, texts
from tools.package_page import settings

KNOWN = {
    "repository": "https://example.org/us/dynaorm",
    "documentation": "https://docs.example.org/",
    "security-contact": "security@example.org",
    "maintainers": ["Ada", "Grace"],
}


def test_the_files_say_what_the_settings_say() -> None:
    assert [
        path.name for path, text in files(settings(ROOT)).items() if path.read_text("utf-8") != text
    ] == []


def test_what_is_known_is_said() -> None:
    said = texts(KNOWN)
    assert said["SECURITY.md"] == "Report a vulnerability privately to security@example.org, not in an issue."
    assert said["docs/support.md"] == (
        "dynaorm is maintained by Ada, Grace. Its repository is <https://example.org/us/dynaorm>."
    )
    assert 'SITE = "https://docs.example.org/"\n' in files(KNOWN)[ROOT / "dynaorm" / "failure.py"]


def test_what_is_unknown_is_absent() -> None:
    unknown = {name: type(value)() for name, value in KNOWN.items()}
    assert texts(unknown)["docs/support.md"] == ""


@pytest.mark.parametrize("name", texts(KNOWN))
def test_a_page_can_be_filled_and_emptied_again(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    assert "example.org" in filled(page, texts(KNOWN)[name])
    assert filled(filled(page, "Something."), "") == filled(page, "")

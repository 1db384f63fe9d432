"""The description of the package has no dead links, and the source distribution has what its tests need."""

import re
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from tools.package_page import description

ROOT = Path(__file__).parents[2]


def test_the_description_of_the_package_has_no_dead_links() -> None:
    readme = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert readme.startswith("# dynaorm\n")
    assert [target for target in targets if not target.startswith("https://")] == []


def test_without_a_repository_relative_links_are_plain_text() -> None:
    text = "See [the docs](docs/a.md), [AWS](https://aws.amazon.com) and [below](#limits)."
    assert description(text, None) == "See the docs, [AWS](https://aws.amazon.com) and [below](#limits)."


def test_with_a_repository_relative_links_lead_there() -> None:
    home = "https://example.com/dynaorm/"
    assert description("[a](docs/a.md#b)", home) == "[a](https://example.com/dynaorm/blob/main/docs/a.md#b)"


def test_a_picture_is_left_out_or_read_from_the_repository() -> None:
    text = "One.\n\n![Items](docs/start.svg)\n\nTwo.\n"
    assert description(text, None) == "One.\n\nTwo.\n"
    found = description(text, "https://example.com/dynaorm")
    assert found == text.replace("docs/", "https://example.com/dynaorm/raw/main/docs/")


def test_the_source_distribution_has_what_its_tests_read() -> None:
    files = {one.distribution_path for one in SdistBuilder(str(ROOT)).recurse_included_files()}
    for needed in (
        "README.md",
        "CONTRIBUTING.md",
        "Makefile",
        "docs/concepts.md",
        "examples/bobby_tables.py",
    ):
        assert needed in files
    assert "tools/package_page.py" in files

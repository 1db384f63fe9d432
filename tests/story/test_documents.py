"""Runs the Python blocks of the documents that teach by example, from top to bottom, and checks the stored items."""

import re
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Session, Table
from dynaorm.testing import assert_consistent, strict_moto

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["aggregates", "concepts", "entities", "versions", "writing"])
def test_a_document_runs_and_leaves_a_table_in_which_everything_fits(name: str) -> None:
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    with strict_moto(), Session(region="us-east-1") as session:
        names: dict[str, Any] = {"__name__": f"docs.{name}", "session": session}
        exec(compile("\n\n".join(found), f"{name}.md", "exec"), names)
        tables = [value for value in names.values() if isinstance(value, Table)]
        assert tables
        assert_consistent(session, *tables)
        assert list(session.verify(*tables)) == []

"""The Python of the documents that teach by example, run from top to bottom, and what it leaves behind."""

import re
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Session, Table
from dynaorm.testing import assert_consistent, strict_moto

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["entities", "writing", "versions"])
def test_a_document_runs_and_leaves_a_table_in_which_everything_fits(name: str) -> None:
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) > 3
    with strict_moto(), Session(region="us-east-1") as session:
        names: dict[str, Any] = {"__name__": f"docs.{name}", "session": session}
        exec(compile("\n\n".join(found), f"{name}.md", "exec"), names)
        table = names["app"]
        assert isinstance(table, Table)
        assert_consistent(session, table)
        assert list(session.verify(table)) == []

"""Every case of the golden files sends what stands there, and comes out as it stands there."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.requests.golden import Case, File, files, names_of, recorded

FILES = files()


@cache
def names(path: Path) -> dict[str, Any]:
    return names_of(next(file for file in FILES if file.path == path))


@pytest.mark.parametrize(
    ("file", "case"),
    [pytest.param(file, case, id=f"{file.path.stem}: {case.claim}") for file in FILES for case in file.cases],
)
def test_a_case_comes_out_as_it_is_written(file: File, case: Case) -> None:
    assert recorded(case, names(file.path)) == case.text, (
        "python -m tests.requests writes it: read the difference"
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.stem)
def test_claims_are_short_and_differ(file: File) -> None:
    claims = [case.claim for case in file.cases]
    assert [claim for claim in claims if len(claim) > 60] == []
    assert len({*claims}) == len(claims)

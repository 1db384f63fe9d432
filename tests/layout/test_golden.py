"""The samples of six examples in every form, as reviewed; ``make pictures`` writes them anew."""

import pytest

from tools.make_pictures import GOLDEN, golden_files

FILES = dict(golden_files())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_looks_as_reviewed(path: object) -> None:
    assert FILES[path].splitlines() == path.read_text(encoding="utf-8").splitlines()  # type: ignore[attr-defined,index]  # a path


def test_no_golden_file_is_left_over() -> None:
    assert {*GOLDEN.iterdir()} == {*FILES}


@pytest.mark.parametrize("path", [one for one in FILES if one.suffix == ".txt"], ids=lambda path: path.name)
def test_no_line_is_longer_than_80_columns(path: object) -> None:
    assert max(map(len, FILES[path].splitlines())) <= 80  # type: ignore[index]  # a path

"""What is named on the command line."""

import sys

import pytest

from dynaorm.cli.target import importable, load_target, table_names
from dynaorm.errors import UsageError
from tests.integrity.zoo import Member, app


def test_tables_and_classes_are_found() -> None:
    assert load_target("tests.integrity.zoo:app") is app
    assert load_target("tests.integrity.zoo:Member") is Member


@pytest.mark.parametrize(
    "name", ["zoo", "zoo:", ":app", "tests.integrity.zoo:Raw", "tests.integrity.zoo:TOMORROW"]
)
def test_nothing_else_is(name: str) -> None:
    with pytest.raises(UsageError):
        load_target(name)


def test_an_error_of_the_module_itself_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moto", None)
    monkeypatch.delitem(sys.modules, "dynaorm.testing.moto_engine", raising=False)
    with pytest.raises(ModuleNotFoundError, match="moto"):
        load_target("dynaorm.testing.moto_engine:strict_moto")


def test_the_working_directory_is_importable_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["elsewhere"])
    importable()
    importable()
    assert len(sys.path) == 2


def test_physical_names_come_in_pairs() -> None:
    assert table_names(("a=b", "c=d=e")) == {"a": "b", "c": "d=e"}
    with pytest.raises(UsageError, match="declared=physical"):
        table_names(("a",))

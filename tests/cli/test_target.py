"""What is named on the command line."""

import sys
from pathlib import Path
from typing import Annotated

import pytest

from dynaorm import Aggregate, Entity, Table, Unique
from dynaorm.cli.target import load_target, table_names, tell_of_empty
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


def test_an_error_of_the_module_itself_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moto", None)
    monkeypatch.delitem(sys.modules, "dynaorm.testing.moto_engine", raising=False)
    with pytest.raises(UsageError, match=r"ModuleNotFoundError: .*moto.* \(.*moto_engine\.py, line \d+\)"):
        load_target("dynaorm.testing.moto_engine:strict_moto")


def test_a_module_that_is_missing_is_to_be_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "shop.py").write_text("import helper_beside_it")
    monkeypatch.syspath_prepend(tmp_path)
    for module, missing in (("package.shop", "helper_beside_it"), ("nowhere", "nowhere")):
        with pytest.raises(UsageError, match=f"add the folder of '{missing}' to PYTHONPATH"):
            load_target(f"{module}:app")


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "1 / 0", "x = (", "raise KeyError"])
def test_a_module_cannot_end_the_command(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"ending_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="cannot be imported"):
        load_target(f"{name}:app")


def test_physical_names_are_of_tables_that_have_to_do_with_what_is_named() -> None:
    guards, totals = Table("guards"), Table("totals")
    app = Table("app", guard_table=guards)

    class Team(Entity, table=totals, pk="TEAM#{team}", sk="INFO"):
        team: str
        members: int = 0

    class Player(Entity, table=app, pk="PLAYER#{name}", sk="INFO"):
        name: Annotated[str, Unique()]
        team: str
        members_of_team = Aggregate(Team, count="members")

    pairs = tuple(f"{name}=prod-{name}" for name in ("app", "guards", "totals"))
    for named in (app, guards, totals, Player, Team):
        assert set(table_names(pairs, [named])) == {"app", "guards", "totals"}
    with pytest.raises(UsageError) as caught:
        table_names(("ap=prod-app",), [app])
    assert str(caught.value) == (
        "--table-name ap=prod-app: no table called 'ap' is declared here; map one of app, guards, totals"
    )


def test_a_table_without_a_class_is_said_to_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Table("forgotten")
    tell_of_empty([empty, empty, app])
    assert capsys.readouterr().err == (
        "no class of the table forgotten is loaded; name the module of its classes with --import\n"
    )

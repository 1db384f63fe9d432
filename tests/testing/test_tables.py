"""A table is found by whatever names it, once, with those its totals are kept in."""

import sys
from types import ModuleType

import pytest

from dynaorm import Aggregate, Entity, Table
from dynaorm.errors import UsageError
from dynaorm.testing import tables_of
from dynaorm.testing.tables import related

guards, app, tallies = Table("tst-guards"), Table("tst-app"), Table("tst-tallies", sk=None)
guarded = Table("tst-guarded", guard_table=guards)


class Tally(Entity, table=tallies, pk="TALLY#{day}"):
    day: str
    total: int = 0


class Visit(Entity, table=app, pk="VISIT#{visit_id}", sk="VISIT"):
    visit_id: str
    day: str
    on_day = Aggregate(Tally, count="total")


class Base(Entity):
    lent: str


def module(name: str, **content: object) -> ModuleType:
    found = ModuleType(name)
    vars(found).update(content)
    return found


def test_tables_classes_modules_and_their_names_are_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "tst_entities", module("tst_entities", Tally=Tally, Base=Base, Entity=Entity)
    )
    for source in (tallies, Tally, sys.modules["tst_entities"], "tst_entities", "tst_entities:Tally"):
        assert tables_of(source) == (tallies,)
    assert tables_of(guarded, Tally, tallies) == (guarded, tallies)
    assert tables_of() == ()


def test_the_tables_of_totals_come_along() -> None:
    assert tables_of(Visit) == (app, tallies)


def test_a_table_that_only_holds_guards_comes_with_those_whose_guards_they_are() -> None:
    assert tables_of(module("m", guards=guards, guarded=guarded)) == (guarded,)


def test_tables_that_have_to_agree_are_related_either_way_round() -> None:
    class Member(Entity, table=guarded, pk="M#{name}", sk="M", unique={"name_of": ("name",)}):
        name: str

    assert set(related([tallies])) == set(related([app])) == {app, tallies}
    assert set(related([guards])) == set(related([guarded])) == {guards, guarded}


@pytest.mark.parametrize("name", ["json", "json:dumps", "json:nothing"])
def test_what_names_no_table_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"json.*name"):
        tables_of(name)

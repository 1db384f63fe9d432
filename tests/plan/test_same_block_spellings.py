"""The fingerprints of a block are those of its values, not of how these are spelled, and of every earlier formula."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.fingerprint import revision_under_token
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Save, UnitOfWork
from dynaorm.plan.plan import Planned
from dynaorm.plan.same_block import TokenMatch, compare
from tests.plan.compiling import NOW, stored

app = Table("spellings", indexes=[GlobalIndex("GSI1")])


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    size: Annotated[Decimal, InKey()] = Decimal(0)
    at: Annotated[datetime, InKey()]
    weight: Decimal = Decimal(0)
    parts: dict[str, int] = Field(default_factory=dict)
    tags: set[str] = Field(default_factory=set)
    by_size = Index("GSI1", pk="SIZE#{size}", sk="{at}")


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str
    weight: Decimal = Decimal(0)
    parts: dict[str, int] = Field(default_factory=dict)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DECIMALS = st.decimals(-1000, 1000, places=2)
PARTS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))


def token_action(*intents: Intent) -> Planned:
    unit = UnitOfWork(NOW, "w2", str, "T", remember=3600.0)
    found = compile_plan(merge_intents(intents, NOW), NOTHING_READ, unit).token_item
    assert found is not None
    return found


def revision(*intents: Intent) -> str:
    unit = UnitOfWork(NOW, "w2", str, "T")
    return revision_under_token(merge_intents(intents, NOW), unit)


def match(first: Intent, second: Intent) -> TokenMatch:
    return compare(token_action(second), token_action(first).after, NOW)


def otherwise(value: Decimal) -> Decimal:
    """The same number with another exponent."""
    return (
        value.normalize()
        if value != value.normalize() or str(value) != str(value.normalize())
        else value + Decimal("0.000")
    )


def loaded(entity: Shelf, **changes: Any) -> Save:
    found: Any = mapping_of(Shelf).loader.hydrate(stored(entity))
    for name, value in changes.items():
        setattr(found, name, value)
    return Save(found)


@st.composite
def spelled_twice(draw: st.DrawFn) -> list[tuple[Intent, Intent]]:
    """Intents of every kind, each with another one that says the same in other words."""
    size, weight = draw(DECIMALS), draw(DECIMALS)
    hours, parts = draw(st.integers(-12, 12)), draw(PARTS)
    there, turned = NOON.astimezone(timezone(timedelta(hours=hours))), dict(reversed(parts.items()))
    big, heavy = otherwise(size), otherwise(weight)
    key, old, day = Key(Shelf, name="a"), Shelf(name="a", at=NOON), timedelta(1)
    bare = Key(Plain, name="a")
    return [
        (
            Save(Shelf(name="a", size=size, at=NOON, weight=weight, parts=parts)),
            Save(Shelf(name="a", size=big, at=there, weight=heavy, parts=turned)),
        ),
        (
            loaded(old, size=size, at=NOON + day, parts=parts),
            loaded(old, size=big, at=there + day, parts=turned),
        ),
        (
            Edit(key, (F.size.set(size), F.at.set(NOON), F.parts.set(parts), F.weight.add(weight))),
            Edit(key, (F.weight.add(heavy), F.parts.set(turned), F.at.set(there), F.size.set(big))),
        ),
        (
            Check(key, (F.parts == parts) & (F.weight > weight)),
            Check(key, (F.parts == turned) & (F.weight > heavy)),
        ),
        (
            Edit(bare, (F.parts.set(parts), F.weight.add(weight)), F.parts != parts),
            Edit(bare, (F.weight.add(heavy), F.parts.set(turned)), F.parts != turned),
        ),
        (
            Edit(bare, (F.parts.set(parts), F.weight.set(weight)), creates=True),
            Edit(bare, (F.parts.set(turned), F.weight.set(heavy)), creates=True),
        ),
        (Deletion(bare, F.parts == parts), Deletion(bare, F.parts == turned)),
    ]


@given(spelled_twice())
def test_an_equal_block_is_recognised_however_its_values_are_spelled(
    pairs: list[tuple[Intent, Intent]],
) -> None:
    for one, other in pairs:
        assert match(one, other) is TokenMatch.SAME


@given(spelled_twice())
def test_an_equal_block_has_an_equal_revision_however_its_values_are_spelled(
    pairs: list[tuple[Intent, Intent]],
) -> None:
    for one, other in pairs:
        assert revision(one) == revision(other)


@given(size=DECIMALS, other=DECIMALS)
def test_another_value_that_lives_in_a_key_is_another_block(size: Decimal, other: Decimal) -> None:
    said = match(Save(Shelf(name="a", size=size, at=NOON)), Save(Shelf(name="a", size=other, at=NOON)))
    assert said is (TokenMatch.SAME if size == other else TokenMatch.OTHER)


# -- earlier formulas --------------------------------------------------------------------------------------------------

SHELF = Save(Shelf(name="a", size=Decimal("1.0"), at=NOON, parts={"b": 1, "a": 2}))
EDIT = Edit(Key(Shelf, name="a"), (F.parts.set({"b": 1, "a": 2}),))
SORTED = Edit(Key(Shelf, name="a"), (F.parts.set({"a": 2, "b": 1}), F.tags.discard({"x", "y"})))
# What the first formula stored for these blocks.
FIRST: dict[str, tuple[Intent, str]] = {
    "shelf": (
        SHELF,
        "7b1fee195b7fb450448e707affbd7443:45104565611103cc048e001737cfe821:45104565611103cc048e001737cfe821:given",
    ),
    "edit": (
        EDIT,
        "974c2ab8df09090f0465c969a3551aa0:4f53cda18c2baa0c0354bb5f9a3ecbe5:4f53cda18c2baa0c0354bb5f9a3ecbe5:given",
    ),
    "sorted": (
        SORTED,
        "7239c0cda9a7f0469264dc629f264b01:4f53cda18c2baa0c0354bb5f9a3ecbe5:4f53cda18c2baa0c0354bb5f9a3ecbe5:given",
    ),
    "plain": (
        Save(Plain(name="a", weight=Decimal(2))),
        "b09b36f27d1857468b117a021f0f7120:640f43794b031cd5b323790d4fff4721:640f43794b031cd5b323790d4fff4721:given",
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_a_block_that_was_applied_before_the_formula_changed_is_recognised(name: str) -> None:
    intent, text = FIRST[name]
    ours = token_action(intent)
    before = {**(ours.after or {}), "_block": {"S": text}}
    assert compare(ours, before, NOW) is TokenMatch.SAME
    other = Save(Shelf(name="a", size=Decimal(3), at=NOON))
    assert compare(token_action(other), before, NOW) is TokenMatch.OTHER


@pytest.mark.parametrize("name", FIRST)
def test_an_item_has_the_mark_of_its_formula_only_where_the_first_gives_another_text(name: str) -> None:
    intent, text = FIRST[name]
    (block,) = (token_action(intent).after or {})["_block"].values()
    if name in ("plain", "sorted"):
        assert block == text
    else:
        assert block.startswith("2:")
        assert len(block.split(":")) == 5


# -- other processes ---------------------------------------------------------------------------------------------------

_BLOCK = """
from dynaorm import F
from tests.plan.test_same_block_spellings import Check, Edit, Key, Plain, Shelf, revision, token_action
words = {"one", "two", "three", "four"}
block = (
    Edit(Key(Shelf, name="a"), (F.tags.discard(words),)),
    Check(Key(Shelf, name="b"), F.name.is_in(words)),
    Edit(Key(Plain, name="c"), (F.parts.set(dict.fromkeys(words, 1)),), F.parts != dict.fromkeys(words, 2)),
)
print(token_action(*block).after["_block"]["S"], revision(*block))
"""


def test_the_order_of_a_set_in_a_process_makes_no_other_block() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", _BLOCK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1

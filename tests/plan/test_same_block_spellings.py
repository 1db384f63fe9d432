"""The fingerprints of a block are those of its values, not of how these are spelled."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Save, UnitOfWork
from dynaorm.plan.plan import Planned
from dynaorm.plan.token import TokenMatch, compare
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


@given(size=DECIMALS, other=DECIMALS)
def test_another_value_that_lives_in_a_key_is_another_block(size: Decimal, other: Decimal) -> None:
    said = match(Save(Shelf(name="a", size=size, at=NOON)), Save(Shelf(name="a", size=other, at=NOON)))
    assert said is (TokenMatch.SAME if size == other else TokenMatch.OTHER)


# -- other processes ---------------------------------------------------------------------------------------------------

_BLOCK = """
from dynaorm import F
from tests.plan.test_same_block_spellings import Check, Edit, Key, Plain, Shelf, token_action
words = {"one", "two", "three", "four"}
block = (
    Edit(Key(Shelf, name="a"), (F.tags.discard(words),)),
    Check(Key(Shelf, name="b"), F.name.is_in(words)),
    Edit(Key(Plain, name="c"), (F.parts.set(dict.fromkeys(words, 1)),), F.parts != dict.fromkeys(words, 2)),
)
print(token_action(*block).after["_block"]["S"])
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

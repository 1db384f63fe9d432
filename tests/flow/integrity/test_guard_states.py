"""What is wrong with a guard item follows from the live holders of its value and what it says, and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, ExpiresAt, Key, Table, Unique
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.integrity.judge import judge_items

app = Table("guards-in-states")
NOW = datetime(2024, 1, 1, tzinfo=UTC).timestamp()


class Page(Entity, table=app, pk="PAGE#{name}", sk="PAGE"):
    name: str
    slug: Annotated[str, Unique()]
    until: Annotated[datetime | None, ExpiresAt()] = None


EXPIRIES = st.sampled_from([None, -86_400, 86_400, 172_800])
"""Seconds from now; None for no expiry."""


def page(name: str, slug: str, expiry: int | None) -> dict[str, Any]:
    item = {"PK": {"S": f"PAGE#{name}"}, "SK": {"S": "PAGE"}, "_type": {"S": "Page"}, "_rev": {"S": "r"}}
    return {**item, "name": {"S": name}, "slug": {"S": slug}, **until(expiry)}


def until(expiry: int | None) -> dict[str, Any]:
    return {} if expiry is None else {"until": {"N": str(int(NOW) + expiry)}}


def guard(owner: str | None, expiry: int | None) -> dict[str, Any]:
    found = {"PK": {"S": "slug#s"}, "SK": {"S": "slug#s"}, **until(expiry)}
    named = {"M": {"PK": {"S": f"PAGE#{owner}"}, "SK": {"S": "PAGE"}}}
    return found if owner is None else {**found, "owner": named}


def is_live(expiry: int | None) -> bool:
    return expiry is None or expiry > 0


def expected(
    pages: dict[str, int | None], stored: tuple[str | None, int | None] | None
) -> FindingKind | None:
    """The table, once more: by the names and expiries of those that hold the value, and the guard's."""
    live = [name for name, expiry in pages.items() if is_live(expiry)]
    if len(live) > 1:
        return FindingKind.DUPLICATE
    if stored is not None and live and stored[0] == live[0]:
        return None if stored[1] == pages[live[0]] else FindingKind.GUARD_EXPIRY
    if stored is None or not is_live(stored[1]):
        return FindingKind.MISSING_GUARD if live else None
    if not live:
        return FindingKind.ORPHAN_GUARD
    return None if stored[0] is None else FindingKind.WRONG_OWNER


@settings(max_examples=400)
@given(
    pages=st.dictionaries(st.sampled_from("abc"), EXPIRIES, max_size=3),
    others=st.dictionaries(st.sampled_from("xy"), EXPIRIES, max_size=2),
    stored=st.none() | st.tuples(st.sampled_from([None, *"abcxyz"]), EXPIRIES),
    order=st.permutations(range(6)),
)
def test_there_is_one_answer_for_the_holders_and_the_guard(
    pages: dict[str, int | None],
    others: dict[str, int | None],
    stored: tuple[str | None, int | None] | None,
    order: Sequence[int],
) -> None:
    items = [page(name, "s", expiry) for name, expiry in pages.items()]
    # They hold another value, whose guard is left out.
    items += [page(name, f"other-{name}", expiry) for name, expiry in others.items()]
    items += [] if stored is None else [guard(*stored)]
    ordered = [items[place] for place in order if place < len(items)]
    found = [one.kind for one in judge_items({app: ordered}, NOW) if one.item_key["PK"] == {"S": "slug#s"}]
    kind = expected(pages, stored)
    event("sound" if kind is None else kind.value)
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize("owner", ["a", "b", "c"])
def test_a_duplicate_names_first_the_owner_in_the_guard(owner: str) -> None:
    items = [*(page(name, "s", None) for name in "abc"), guard(owner, None)]
    (finding,) = judge_items({app: items}, NOW)
    assert finding.kind is FindingKind.DUPLICATE
    assert finding.owners[0] == Key(Page, name=owner)

"""What is wrong with versions follows from what stands in place of the latest copy, and which versions exist."""

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Table
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.integrity.judge import judge_items
from tests.flow.integrity.damaged import NOW

app = Table("versions-in-states")
AT = {"S": "2024-01-01T00:00:00.000000Z"}
Found = set[tuple[FindingKind, str]]


class Page(Entity, table=app, pk="PAGE#{name}", sk="PAGE", versioned=True):
    name: str
    text: str = ""


def stored(sort: str, number: int | None, text: str) -> dict[str, Any]:
    item = {
        "PK": {"S": "PAGE#a"},
        "SK": {"S": sort},
        "_rev": {"S": "r"},
        "name": {"S": "a"},
        "text": {"S": text},
    }
    return item if number is None else {**item, "version": {"N": str(number)}, "version_at": AT}


def tombstone(number: int) -> dict[str, Any]:
    item = stored("v0_PAGE", number, "")
    return {name: item[name] for name in item if name not in {"name", "text"}} | {"deleted": {"BOOL": True}}


def expected(copy: str, counted: int, versions: dict[int, str]) -> Found:
    """The same for all items of the entity at a time. ``counted``: the number of the copy; 0 for none."""
    newest = max(versions, default=0)
    kind = _at_the_copy(copy, counted, versions)
    at = f"v{newest}_PAGE" if kind is FindingKind.NO_LATEST else "v0_PAGE"
    found: Found = set() if kind is None else {(kind, at)}
    last = [one for one in versions if one + 1 not in versions and one != counted]
    return found | {
        (FindingKind.VERSION_GAP, f"v{one}_PAGE") for one in last if one + 1 < max(newest, counted)
    }


def _at_the_copy(copy: str, counted: int, versions: dict[int, str]) -> FindingKind | None:
    newest = max(versions, default=0)
    if copy == "nothing":
        return FindingKind.NO_LATEST if newest else None
    if copy == "live" and not counted:
        return FindingKind.VERSION_MISSING
    if newest > counted or (copy == "live" and versions.get(counted) == "other"):
        return FindingKind.VERSION_DIFFERS
    return FindingKind.VERSION_MISSING if counted and counted not in versions else None


@settings(max_examples=400)
@given(
    copy=st.sampled_from(["live", "tombstone", "nothing"]),
    number=st.none() | st.integers(0, 5),
    versions=st.dictionaries(st.integers(1, 5), st.sampled_from(["same", "other"]), max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_there_is_one_answer_for_the_latest_copy_and_the_versions(
    copy: str, number: int | None, versions: dict[int, str], order: Any
) -> None:
    items = [stored(f"v{one}_PAGE", one, text) for one, text in versions.items()]
    if copy == "live":
        items.append({**stored("v0_PAGE", number, "same"), "_type": {"S": "Page"}})
    elif copy == "tombstone":
        items.append(tombstone(number or 0))
    order.shuffle(items)
    found = [(one.kind, one.item_key["SK"]["S"]) for one in judge_items({app: items}, NOW)]
    for kind, _ in found:
        event(kind.value)
    assert sorted(found, key=str) == sorted(
        expected(copy, 0 if copy == "nothing" else number or 0, versions), key=str
    )

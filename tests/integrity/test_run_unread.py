"""Items that cannot be read silence nothing: what is found without them is found beside them, or is not judged."""

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Table
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.tools import Finding
from dynaorm.transport import Transport
from tests.dynamodb_json import Item
from tests.integrity.conftest import created
from tests.integrity.damages import DAMAGES, together
from tests.integrity.zoo import TABLES, TODAY, Raw, app, key_of, text
from tests.memory import MEMORY

Items = dict[Table, list[Any]]
NAMES = ["Group", "Member", "Book", "Page", "Voucher", "Scroll"]


def judged(items: Items) -> list[Finding]:
    return judge_items(items, TODAY.timestamp())


def said_of(finding: Finding) -> list[tuple[str, Item]]:
    """The items that a finding names."""
    return [(finding.table, dict(one)) for one in finding.stored_keys]


@settings(max_examples=25)
@given(
    damages=st.lists(st.sampled_from(DAMAGES), max_size=8, unique_by=lambda one: one.name),
    added=st.lists(st.sampled_from(NAMES), max_size=3),
    spoiled=st.lists(st.integers(0, 60), max_size=3),
)
def test_what_cannot_be_read_silences_no_finding(
    moto_line: tuple[Transport, Any], damages: Any, added: list[str], spoiled: list[int]
) -> None:
    with MEMORY.empty():
        for raw in created(Raw(moto_line[1], str, moto_line[0])):
            raw.fill()
            for damage in together(damages):
                damage.do(raw)
            stored = raw.items(*TABLES)
    items: Items = {table: stored[table.name] for table in TABLES}
    before = judged(items)
    unread = []
    for number, name in enumerate(added):
        unread.append({**key_of(f"ODD{number}", "ODD"), "_type": text(name)})
        items[app].append(unread[-1])
    entities = [item for item in items[app] if "_type" in item and item not in unread]
    for place in spoiled:
        item = entities[place % len(entities)]
        item.update({name: {"BOOL": True} for name in item if name not in ("PK", "SK", "_type", "_rev")})
        unread.append(item)
    after = judged(items)
    event(f"{len(before)} findings, {len(unread)} unread")
    keys = {(one["PK"]["S"], one["SK"]["S"]) for one in unread}
    told = {(one.kind, one.table, repr(dict(one.item_key))) for one in after}
    excused = [said for one in after if one.kind is FindingKind.NOT_JUDGED for said in said_of(one)]
    for one in before:
        of_unread = any(
            (key.get("PK", {}).get("S"), key.get("SK", {}).get("S")) in keys for _, key in said_of(one)
        )
        # What cannot be read is reported itself; everything else is found as before.
        is_told = (one.kind, one.table, repr(dict(one.item_key))) in told
        assert is_told or of_unread or any(said in excused for said in said_of(one)), str(one)
    assert {("PK", name) for name, _ in keys} <= {
        ("PK", str(one.item_key["PK"]["S"]))
        for one in after
        if one.kind in (FindingKind.UNREADABLE, FindingKind.UNKNOWN_ITEM) and "PK" in one.item_key
    }

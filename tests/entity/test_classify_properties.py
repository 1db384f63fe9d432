"""For any classes that share a table, every item that is written is classified correctly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import BinaryKey, Entity, NumberKey, Table
from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.declare.catalog import overlapping_classes
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DeclarationError, InvalidValue
from dynaorm.item.action import Put
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.guards import GuardPurpose
from dynaorm.plan.intent import NOTHING_READ, Deletion, Intent, Save, UnitOfWork
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.plan import Planned
from dynaorm.plan.versions import VersionPurpose
from tests.dynamodb_json import Item

NOW = 1_700_000_000.0
WHAT = {
    VersionPurpose.KEEP: NotAnEntity.VERSION,
    GuardPurpose.CLAIM: NotAnEntity.GUARD,
    ItemPurpose.TOMBSTONE: NotAnEntity.TOMBSTONE,
}

# Texts that look like guards, versions, escapes and other classes' keys.
_texts = st.text(st.sampled_from("abT#_%0v1é"), min_size=1, max_size=5) | st.sampled_from(
    ["a#b", "b#", "v0_a", "v1_a", "T#a", "C0#a", "K0", "a_v0", "a_v12"]
)
_PARTITIONS = ["C{place}#{{name}}", "T#{{name}}", "{{name}}", "{{name}}", "{{name:raw}}"]
_SORTS = {
    "S": ["K{place}", "K{place}#{{part}}", "K{place}#{{number:04d}}", "{{name}}", "{{part}}", "{{part:raw}}"],
    "N": ["{{number}}"],
    "B": ["{{part}}"],
}


@dataclass(frozen=True)
class Declared:
    """A class to be: it is left out where the classes before it forbid it."""

    partition: str
    sort: str | None
    versioned: bool | str
    padding: int
    constraint: str | None

    def on(self, table: Table, place: int) -> Callable[..., Entity] | None:
        keys: dict[str, Any] = {"pk": self.partition.format(place=place)}
        if self.sort is not None:
            keys["sk"] = self.sort.format(place=place)
        if self.versioned:
            keys |= {"versioned": self.versioned, "version_padding": self.padding}
        unique = {self.constraint: ("code",)} if self.constraint is not None else {}
        try:

            class One(Entity, table=table, name=f"C{place}", unique=unique, **keys):
                name: str
                part: str
                number: int
                code: str

        except DeclarationError:
            return None
        return One


@st.composite
def _families(draw: st.DrawFn) -> list[Callable[..., Entity]]:
    sort = draw(st.sampled_from(["S", "S", "S", "N", "B", None]))
    binary = draw(st.booleans()) and draw(st.booleans())
    specs = {"S": "SK", "N": NumberKey("SK"), "B": BinaryKey("SK"), None: None}
    table = Table(
        "random",
        pk=BinaryKey("PK") if binary else "PK",
        sk=specs[sort],
        type_attribute=draw(st.sampled_from(["_type", None])),
        guard_table=Table("guards", sk=draw(st.sampled_from(["SK", None]))) if draw(st.booleans()) else None,
    )
    classes = st.builds(
        Declared,
        st.just("{{name}}") if binary else st.sampled_from(_PARTITIONS),
        st.sampled_from(_SORTS[sort]) if sort is not None else st.none(),
        st.sampled_from([False, True, "{sk}_v{version}"]) if sort in ("S", "B") else st.just(False),
        st.sampled_from([0, 4]),
        st.sampled_from([None, "a", "b", "C9"]),
    )
    wanted = draw(st.lists(classes, min_size=1, max_size=5))
    found = [one.on(table, place) for place, one in enumerate(wanted)]
    return [one for one in found if one is not None]


def written(intent: Intent, number: int) -> Iterator[Planned]:
    plan = compile_plan(merge_intents([intent], NOW), NOTHING_READ, UnitOfWork(NOW, f"w{number}", str))
    yield from plan.actions
    for effect in plan.effects:
        effect.apply()


def life_of(entity: Entity, changed: str) -> Iterator[Planned]:
    """Everything that is put for an entity that is made, changed and deleted."""
    yield from written(Save(entity), 1)
    vars(entity)["code"] = changed
    yield from written(Save(entity), 2)
    yield from written(Deletion(entity), 3)


def may_be_a_guard(mapping: EntityMapping, key: Item) -> bool:
    """Whether the class has opted out of telling its keys from those of guards, and this key is like theirs."""
    texts = {value.get("S", "") for value in key.values()}
    is_raw = all(part.text.endswith(":raw}") for part in mapping.primary_parts)
    return is_raw and len(texts) == 1 and "#" in next(iter(texts))


def check(planned: Planned) -> None:
    assert isinstance(planned.action, Put)
    mapping, item = planned.mapping, planned.action.item
    event(planned.purpose.name)
    if planned.purpose is GuardPurpose.CLAIM:
        home = mapping.table.guards
        assert classify(home, item) is NotAnEntity.GUARD
        assert classify(home, {name: item[name] for name in home.key_names}) is NotAnEntity.GUARD
        return
    expected = WHAT.get(planned.purpose, mapping)
    assert classify(mapping.table, item) is expected
    key = mapping.key_of(item)
    if expected is NotAnEntity.TOMBSTONE:
        assert classify(mapping.table, {**key, "deleted": item["deleted"]}) is NotAnEntity.TOMBSTONE
    elif not may_be_a_guard(mapping, key) and not any(
        one.key_matches(key) for one in overlapping_classes(mapping)
    ):
        # An index that carries keys alone says no more. If the key could be that of several classes, it says less.
        assert classify(mapping.table, key) is expected


@settings(max_examples=100)
@given(classes=_families().filter(bool), data=st.data())
def test_every_item_that_is_written_is_found_to_be_what_it_is(
    classes: list[Callable[..., Entity]], data: st.DataObject
) -> None:
    for make in classes:
        name, part, code, changed = (data.draw(_texts) for _ in range(4))
        entity = make(name=name, part=part, number=data.draw(st.integers(0, 9999)), code=code)
        try:
            for planned in life_of(entity, changed):
                if isinstance(planned.action, Put):
                    check(planned)
        except InvalidValue:
            # A bare key refuses what looks like a guard or a version.
            event("refused")

"""Law: an attribute that no field reads is not looked into. It survives as it is, whatever another program stored.

It may be of a type that DynamoDB has only tomorrow, or of a form that it never has, as an emulator may return it. It
stands beside the fields, or in a nested record. Every operation has its result, or ends in an error of dynaorm's own.
"""

import copy
import json
import pickle
from base64 import b64encode
from binascii import crc32
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Session, detached, entity_of, inspect, item_of, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError
from dynaorm.item.json_body import encode_body
from dynaorm.streams import changes
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Reply
from dynaorm.transport.answer import reply_of
from tests.dynamodb_json import AttributeValue, Item
from tests.fuzz.fixtures import CHANGES, SOUND, TABLES, Address, Chest, key_of
from tests.fuzz.shelf import Shelf

ENTITIES = (*SOUND, Chest(name="b", home=Address(city="Bonn"), homes=[Address(city="x"), Address(city="y")]))


def deep(levels: int) -> Any:
    found: Any = {"N": "x"}
    for level in range(levels):
        found = {"L": [found]} if level % 2 else {"M": {"k": found}}
    return found


_TEXTS = st.sampled_from(
    ["", "abc", "NaN", "sNaN", "1E999999999999999999999", "9" * 40, "***", "AA", "AA==", "\ud800"]
)
_PARTS = st.none() | st.booleans() | st.integers(-5, 5) | _TEXTS | st.builds(deep, st.integers(1, 60))
_TAGS = st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M", "V", ""])
ODD: st.SearchStrategy[Any] = st.recursive(
    _PARTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TAGS, inner, max_size=2),
    max_leaves=4,
)


class Strange:
    """Answers reads with the items of a shelf and something strange in each, and accepts every write."""

    def __init__(self, shelf: Shelf, strange: Any, *, is_nested: bool) -> None:
        self._shelf, self._strange, self._is_nested = shelf, strange, is_nested
        self.written: list[bytes] = []

    def call(self, call: Call, /) -> Reply:
        content = self._content(call)
        raw = json.dumps(content, separators=(",", ":"), default=lambda one: b64encode(one).decode()).encode()
        return reply_of(call.operation, 200, {"x-amz-crc32": str(crc32(raw))}, raw)

    def _content(self, call: Call) -> dict[str, Any]:
        if call.operation in ("PutItem", "DeleteItem", "UpdateItem", "TransactWriteItems"):
            self.written.append(encode_body(call.request))
            if call.operation != "UpdateItem":
                return {}
            found = self._shelf.call(Call("GetItem", call.request))
            return {"Attributes": self.strange(found["Item"])} if found else {}
        if call.operation == "TransactGetItems":
            gets = [one["Get"] for one in call.request["TransactItems"]]
            replies = [self._shelf.call(Call("GetItem", one)) for one in gets]
            return {"Responses": [{"Item": self.strange(one["Item"])} if one else {} for one in replies]}
        reply: dict[str, Any] = dict(self._shelf.call(call))
        if "Item" in reply:
            reply["Item"] = self.strange(reply["Item"])
        if "Items" in reply:
            reply["Items"] = [self.strange(one) for one in reply["Items"]]
        if "Responses" in reply:
            reply["Responses"] = {
                name: [*map(self.strange, items)] for name, items in reply["Responses"].items()
            }
        return reply

    def strange(self, item: Item) -> Mapping[str, Any]:
        more = {"unknown": self._strange}
        if not self._is_nested:
            return {**item, **more}

        def within(value: AttributeValue) -> AttributeValue:
            return {"M": {**value["M"], **more}}

        def every(value: AttributeValue) -> AttributeValue:
            return {"L": [*map(within, value["L"])]}

        homes: dict[str, Callable[[AttributeValue], AttributeValue]] = {"home": within, "homes": every}
        return {name: homes[name](value) if name in homes else value for name, value in item.items()}


def changed(loaded: Any, step: int) -> Any:
    vars(loaded).update(CHANGES[type(loaded)][step])
    return loaded


def explained(session: Session, loaded: Any) -> object:
    plan = session.plan(changed(loaded, 1))
    return plan.explain(), plan.to_request(), plan.write_units


WORK: Mapping[str, Callable[[Session, Any], object]] = {
    "inspect": lambda _, loaded: repr(inspect(loaded)),
    "save": lambda session, loaded: session.save(changed(loaded, 0)),
    "save what is derived": lambda session, loaded: session.save(changed(loaded, 1)),
    "plan": explained,
    "update": lambda session, loaded: session.update(loaded, CHANGES[type(loaded)][0]),
    "update by key": lambda session, loaded: session.update(key_of(loaded), CHANGES[type(loaded)][1]),
    "delete": lambda session, loaded: session.delete(loaded),
    "delete by key": lambda session, loaded: session.delete(key_of(loaded)),
    "delete a copy": lambda session, loaded: session.delete(
        pickle.loads(pickle.dumps(copy.deepcopy(loaded)))
    ),
    "overwrite": lambda session, loaded: session.save(detached(loaded), overwrite=True),
    "refresh": lambda session, loaded: session.refresh(loaded),
    "verify": lambda session, loaded: list(tools.verify(session, mapping_of(type(loaded)).table)),
    "backfill": lambda session, loaded: list(tools.backfill(session, mapping_of(type(loaded)).table)),
    "repair": lambda session, loaded: list(
        tools.repair(session, mapping_of(type(loaded)).table, dry_run=True)
    ),
    "scan": lambda session, loaded: session.scan(type(loaded)).all(),
    "history": lambda session, loaded: list(session.history(key_of(loaded))),
}


@given(
    strange=ODD, entity=st.sampled_from(ENTITIES), work=st.sampled_from(sorted(WORK)), is_nested=st.booleans()
)
def test_an_attribute_that_no_field_reads_fails_no_operation(
    strange: Any, entity: Any, work: str, is_nested: bool
) -> None:
    shelf, clock = Shelf(TABLES), FakeClock(ids="id-", jitter=0)
    shelf.fill(entity, Session(transport=shelf, clock=clock))
    transport = Strange(shelf, strange, is_nested=is_nested)
    session = Session(transport=transport, clock=clock)
    with suppress(DynaormError):
        loaded: Any = session.get_one(key_of(entity))
        stored = item_of(loaded)
        assert item_of(pickle.loads(pickle.dumps(loaded))) == stored
        assert is_nested or encode(stored["unknown"]) == encode(strange)
        assert not inspect(loaded).changes
        session.save(loaded)
        assert not transport.written
        WORK[work](session, loaded)


def encode(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda one: b64encode(one).decode()))


@given(strange=ODD, entity=st.sampled_from(ENTITIES), is_nested=st.booleans())
def test_a_foreign_item_is_an_entity_or_a_named_error(strange: Any, entity: Any, is_nested: bool) -> None:
    shelf, table = Shelf(TABLES), mapping_of(type(entity)).table
    shelf.fill(entity, Session(transport=shelf, clock=FakeClock(ids="id-", jitter=0)))
    item = Strange(shelf, strange, is_nested=is_nested).strange(item_of(entity))
    key = {name: item[name] for name in table.key_names}
    with suppress(DynaormError):
        found = entity_of(item, table)
        assert found == entity
        assert not inspect(found).changes
    images = {"Keys": key, "OldImage": item, "NewImage": {**item, "more": {"S": "x"}}}
    record = {"eventName": "MODIFY", "dynamodb": {**images, "SequenceNumber": "1"}}
    assert len(list(changes({"Records": [record]}, table))) <= 1

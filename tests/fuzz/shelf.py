"""A read-only DynamoDB with a few items in a dict: it answers reads by key, and refuses writes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dynaorm import Entity, GlobalIndex, Session, Table
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.item.value import Item

_PARTITION = re.compile(r"\(?(#\w+) = (:\w+)")


class Shelf:
    """A ``Transport``: items by table, answered as DynamoDB does, on one page."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = {table.name: table for table in tables}
        self.items: dict[str, list[Item]] = {name: [] for name in self.tables}

    def fill(self, entity: Entity, session: Session) -> None:
        """Hold what saving a new entity stores, and nothing else."""
        self.items = {name: [] for name in self.tables}
        request = session.plan(entity).to_request()
        for action in request.get("TransactItems", [{"Put": request}]):
            self.items[action["Put"]["TableName"]].append(action["Put"]["Item"])

    def call(self, call: Call, /) -> Reply:
        request = call.request
        if call.operation == "BatchGetItem":
            asked = request["RequestItems"].items()
            found = {name: self._by_keys(name, keys["Keys"]) for name, keys in asked}
            return {"Responses": found, "UnprocessedKeys": {}}
        if call.operation == "GetItem":
            return self._by_key(request)
        if call.operation == "TransactGetItems":
            return {"Responses": [self._by_key(one["Get"]) for one in request["TransactItems"]]}
        if call.operation in ("Query", "Scan"):
            items = [_projected(request, item) for item in self._asked(request)]
            return {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        raise AssertionError(f"{call.operation} was sent")

    def _by_key(self, get: Mapping[str, Any]) -> dict[str, Item]:
        items = self._by_keys(get["TableName"], [get["Key"]])
        return {"Item": items[0]} if items else {}

    def _by_keys(self, name: str, keys: Iterable[Item]) -> list[Item]:
        names = self.tables[name].key_names
        wanted = [{one: key[one] for one in names} for key in keys]
        return [item for item in self.items[name] if {one: item[one] for one in names} in wanted]

    def _asked(self, request: Mapping[str, Any]) -> list[Item]:
        table = self.tables[request["TableName"]]
        found = self.items[table.name] if not request.get("Segment") else []
        if "IndexName" in request:
            index = table.indexes[request["IndexName"]]
            assert isinstance(index, GlobalIndex)
            names = [key.name for key in (*index.pk, *index.sk)]
            found = [item for item in found if all(name in item for name in names)]
            if index.projection == "KEYS_ONLY":
                kept = {*names, *table.key_names}
                found = [{name: item[name] for name in item.keys() & kept} for item in found]
        if "KeyConditionExpression" in request:
            match = _PARTITION.match(request["KeyConditionExpression"])
            assert match is not None
            name, value = request["ExpressionAttributeNames"][match[1]], request["ExpressionAttributeValues"]
            found = [item for item in found if item[name] == value[match[2]]]
        return found


def _projected(request: Mapping[str, Any], item: Item) -> Item:
    if "ProjectionExpression" not in request:
        return item
    names = [
        request.get("ExpressionAttributeNames", {}).get(one.strip(), one.strip())
        for one in request["ProjectionExpression"].split(",")
    ]
    return {name: item[name] for name in names if name in item}

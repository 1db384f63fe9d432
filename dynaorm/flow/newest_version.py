"""Find the newest version that is stored of an entity, whatever its latest copy says.

Versions are read by the number in the latest copy. Only where that is missing or wrong, the keys of the versions are
read with a Query. They are texts, which do not sort as numbers, so all of them are read.
"""

from typing import Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.protocol.call import Call, Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.paging import PageKeys
from dynaorm.flow.protocol.reply_keys import check_keys
from dynaorm.flow.read import repeat
from dynaorm.item.condition import And, BeginsWith, equals, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import Item


def newest_version(
    mapping: EntityMapping, key: Item, context: Context, cost: ReadCost | None = None
) -> Flow[int]:
    """The highest number of a version stored beside a latest copy's key, strongly consistent; 0 if there is none.

    ``cost``: counts the requests and capacity, if given.
    """
    table = mapping.table
    request = _request(mapping, key, context)
    page_keys: PageKeys[Item] = PageKeys()
    found = 0
    while True:
        reply = yield from repeat(Call("Query", request), context)
        if cost is not None:
            cost.add(reply)
        items = reply.get("Items", ())
        check_keys("Query", items, table.keys)
        found = max([found, *(version_beside(mapping, key, one) for one in items)])
        after = page_keys.checked("Query", reply.get("LastEvaluatedKey"))
        if after is None:
            return found
        request = {**request, "ExclusiveStartKey": after}


def version_beside(mapping: EntityMapping, key: Item, item: Item) -> int:
    """The number of the version in an item, if it is one of the entity with this latest copy's key; otherwise 0."""
    assert mapping.versioning is not None and mapping.sort is not None
    sort, template = mapping.sort.attribute, mapping.versioning.template
    if item[mapping.table.pk.name] != key[mapping.table.pk.name]:
        return 0
    stored = item[sort.name].get(sort.kind)
    if stored is None or template.latest_of(stored) != key[sort.name][sort.kind]:
        return 0
    return template.number_in(stored) or 0


def _request(mapping: EntityMapping, key: Item, context: Context) -> dict[str, Any]:
    assert mapping.versioning is not None and mapping.sort is not None
    table, sort, template = mapping.table, mapping.sort.attribute, mapping.versioning.template
    latest = key[sort.name][sort.kind]
    # What the keys of all its versions begin with: those of two that differ from the first digit on.
    beginning = _common(template.rewrap(latest, 1), template.rewrap(latest, 2 * 10**template.padding))
    condition = equals(table.pk.name, key[table.pk.name])
    if beginning:
        condition = And((condition, BeginsWith((sort.name,), {sort.kind: beginning})))
    placeholders = Placeholders()
    return {
        "TableName": context.table_name(table.name),
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
        "KeyConditionExpression": render(condition, placeholders),
        "ProjectionExpression": ", ".join(placeholders.name(name) for name in table.key_names),
        "ExpressionAttributeNames": placeholders.names,
        "ExpressionAttributeValues": placeholders.values,
    }


def _common(one: str | bytes, other: str | bytes) -> str | bytes:
    length = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return one[:length]

"""Shared by the two aiodynamo clients. aiodynamo does not map items: it takes and returns dicts."""

import json
from typing import Any

from aiodynamo.client import Client as Dynamodb
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.types import HttpImplementation
from aiodynamo.models import BatchGetRequest, BatchWriteRequest
from aiodynamo.operations import Put
from yarl import URL

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, AsyncClient
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "created_at": values["created_at"].isoformat()}


class Aiodynamo(AsyncClient):
    gives = "dicts"
    note = "gives numbers as floats"

    def connect(self, http: HttpImplementation, endpoint: str) -> None:
        credentials = StaticCredentials(Key(order.ACCESS_KEY, order.SECRET_KEY))
        self.dynamodb = Dynamodb(http, credentials, order.REGION, endpoint=URL(endpoint))
        self.table = self.dynamodb.table(TABLE)

    async def get(self) -> Any:
        return await self.table.get_item({"pk": order.partition(order.PAGE), "sk": order.sort(order.ORDER)})

    async def put(self) -> None:
        await self.table.put_item(_storable(VALUES))

    async def transact3(self) -> None:
        condition = F("pk").does_not_exist()
        await self.dynamodb.transact_write_items(
            [Put(TABLE, _storable(values), condition) for values in THREE]
        )

    async def query(self, size: int) -> Any:
        return (await self.table.query_single_page(HashKey("pk", order.partition(size)))).items

    async def batch_get100(self) -> Any:
        request = BatchGetRequest([{"pk": pk, "sk": sk} for pk, sk in KEYS])
        return (await self.dynamodb.batch_get({TABLE: request})).items[TABLE]

    async def batch_write25(self) -> None:
        request = BatchWriteRequest(items_to_put=[_storable(values) for values in MANY])
        await self.dynamodb.batch_write({TABLE: request})

    async def change(self, found: Any) -> None:
        await self.table.update_item({"pk": found["pk"], "sk": found["sk"]}, F("status").set(CHANGED))

    def json(self, found: Any) -> str:
        return json.dumps(found)

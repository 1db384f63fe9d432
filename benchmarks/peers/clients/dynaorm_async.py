"""dynaorm in an event loop, with the default transport."""

from typing import Any

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, AsyncClient
from benchmarks.peers.clients.by_hand import KEYS, MANY, THREE, VALUES
from benchmarks.peers.clients.dynaorm_entities import declared, own_table
from benchmarks.peers.clients.responses import json_of
from dynaorm import AsyncSession, Key


class DynaormAsync(AsyncClient):
    name = "dynaorm-async"
    gives = "validated"
    imports = "from dynaorm import AsyncSession, Entity, Key, Table"
    distributions = ("dynaorm", "pydantic")

    async def setup(self, endpoint: str) -> None:
        self.order = declared(own_table())
        self.session = self.open(endpoint)

    def open(self, endpoint: str) -> AsyncSession:
        return AsyncSession(region=order.REGION, endpoint=endpoint)

    async def close(self) -> None:
        await self.session.close()

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    async def get(self) -> Any:
        return await self.session.get(self.order, pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    async def put(self) -> None:
        await self.session.save(self.order(**VALUES))

    async def transact3(self) -> None:
        async with self.session.transaction() as tx:
            for values in THREE:
                tx.save(self.order(**values))

    async def query(self, size: int) -> list[Any]:
        return await self.session.query(self.order, pk=order.partition(size)).all()

    async def batch_get100(self) -> list[Any]:
        return await self.session.get_many([Key(self.order, pk=pk, sk=sk) for pk, sk in KEYS])

    async def batch_write25(self) -> None:
        await self.session.bulk_load([self.order(**values) for values in MANY])

    async def change(self, found: Any) -> None:
        found.status = CHANGED
        await self.session.save(found)

    def json(self, found: Any) -> bytes:
        return json_of(self.order, found)


client = DynaormAsync()

"""dynaorm in an event loop, with the default transport."""

from typing import Any

from benchmarks.peers import order
from benchmarks.peers.client import Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, THREE, VALUES
from benchmarks.peers.clients.dynaorm_entities import Order
from dynaorm import AsyncSession, Key


class DynaormAsync(Client):
    name = "dynaorm-async"
    gives = "validated"
    imports = "import dynaorm"
    distributions = ("dynaorm", "pydantic")

    async def setup(self, endpoint: str) -> None:
        self.session = AsyncSession(region=order.REGION, endpoint=endpoint)

    async def close(self) -> None:
        await self.session.close()

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    async def get(self) -> Order | None:
        return await self.session.get(Order, pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    async def put(self) -> None:
        await self.session.save(Order(**VALUES))

    async def transact3(self) -> None:
        async with self.session.transaction() as tx:
            for values in THREE:
                tx.save(Order(**values))

    async def query(self, size: int) -> list[Order]:
        return await self.session.query(Order, pk=order.partition(size)).all()

    async def batch_get100(self) -> list[Order | None]:
        return await self.session.get_many([Key(Order, pk=pk, sk=sk) for pk, sk in KEYS])

    async def batch_write25(self) -> None:
        await self.session.bulk_load([Order(**values) for values in MANY])


client = DynaormAsync()

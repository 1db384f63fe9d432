"""aiobotocore's client with attribute values written by hand. It pins its own version of botocore."""

from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from benchmarks.peers import order
from benchmarks.peers.client import AsyncClient
from benchmarks.peers.clients import by_hand


class Aiobotocore(AsyncClient):
    name = "aiobotocore (by hand)"
    gives = "attribute values"
    imports = "from aiobotocore.session import get_session"
    distributions = ("aiobotocore", "botocore", "aiohttp")

    async def setup(self, endpoint: str) -> None:
        session = get_session()
        config = AioConfig(max_pool_connections=50)
        self.context = session.create_client(
            "dynamodb", region_name=order.REGION, endpoint_url=endpoint, config=config
        )
        self.dynamodb: Any = await self.context.__aenter__()

    async def close(self) -> None:
        await self.context.__aexit__(None, None, None)

    async def get(self) -> Any:
        return (await self.dynamodb.get_item(**by_hand.get()))["Item"]

    async def put(self) -> None:
        await self.dynamodb.put_item(**by_hand.put())

    async def transact3(self) -> None:
        await self.dynamodb.transact_write_items(**by_hand.transact())

    async def query(self, size: int) -> Any:
        return (await self.dynamodb.query(**by_hand.query(size)))["Items"]

    async def batch_get100(self) -> Any:
        reply = await self.dynamodb.batch_get_item(**by_hand.batch_get())
        return reply["Responses"][by_hand.TABLE]

    async def batch_write25(self) -> None:
        await self.dynamodb.batch_write_item(**by_hand.batch_write())

    async def change(self, found: Any) -> None:
        await self.dynamodb.update_item(**by_hand.change(found))

    def json(self, found: Any) -> str:
        return by_hand.response(found)


client = Aiobotocore()

"""botocore's client with attribute values written by hand: the reference."""

from typing import Any

import botocore.session
from botocore.config import Config

from benchmarks.peers import order
from benchmarks.peers.client import Client
from benchmarks.peers.clients import by_hand


class RawBotocore(Client):
    name = "botocore (by hand)"
    gives = "attribute values"
    imports = "import botocore.session"
    distributions = ("botocore",)

    def setup(self, endpoint: str) -> None:
        session = botocore.session.get_session()
        config = Config(max_pool_connections=50)
        self.dynamodb = session.create_client(
            "dynamodb", region_name=order.REGION, endpoint_url=endpoint, config=config
        )

    def get(self) -> Any:
        return self.dynamodb.get_item(**by_hand.get())["Item"]

    def put(self) -> None:
        self.dynamodb.put_item(**by_hand.put())

    def transact3(self) -> None:
        self.dynamodb.transact_write_items(**by_hand.transact())

    def query(self, size: int) -> Any:
        return self.dynamodb.query(**by_hand.query(size))["Items"]

    def batch_get100(self) -> Any:
        return self.dynamodb.batch_get_item(**by_hand.batch_get())["Responses"][by_hand.TABLE]

    def batch_write25(self) -> None:
        self.dynamodb.batch_write_item(**by_hand.batch_write())

    def change(self, found: Any) -> None:
        self.dynamodb.update_item(**by_hand.change(found))

    def json(self, found: Any) -> str:
        return by_hand.response(found)


client = RawBotocore()

"""boto3's resource: it takes and returns dicts of Python values."""

import json
from typing import Any

import boto3
from boto3.dynamodb.conditions import Key
from botocore.config import Config

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "created_at": values["created_at"].isoformat()}


class Boto3Table(Client):
    name = "boto3 Table"
    gives = "dicts"
    imports = "import boto3"
    distributions = ("boto3",)
    shared = False

    def setup(self, endpoint: str) -> None:
        config = Config(max_pool_connections=50)
        self.resource = boto3.resource(
            "dynamodb", region_name=order.REGION, endpoint_url=endpoint, config=config
        )
        self.table = self.resource.Table(TABLE)

    def get(self) -> Any:
        return self.table.get_item(Key={"pk": order.partition(order.PAGE), "sk": order.sort(order.ORDER)})[
            "Item"
        ]

    def put(self) -> None:
        self.table.put_item(Item=_storable(VALUES))

    def transact3(self) -> None:
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        self.resource.meta.client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": _storable(values), **condition}} for values in THREE
            ]
        )

    def query(self, size: int) -> Any:
        return self.table.query(KeyConditionExpression=Key("pk").eq(order.partition(size)))["Items"]

    def batch_get100(self) -> Any:
        keys = [{"pk": pk, "sk": sk} for pk, sk in KEYS]
        return self.resource.batch_get_item(RequestItems={TABLE: {"Keys": keys}})["Responses"][TABLE]

    def batch_write25(self) -> None:
        requests = [{"PutRequest": {"Item": _storable(values)}} for values in MANY]
        self.resource.batch_write_item(RequestItems={TABLE: requests})

    def change(self, found: Any) -> None:
        self.table.update_item(
            Key={"pk": found["pk"], "sk": found["sk"]},
            UpdateExpression="SET #status = :status",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":status": CHANGED},
        )

    def json(self, found: Any) -> str:
        return json.dumps(found, default=str)


client = Boto3Table()

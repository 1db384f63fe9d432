"""dynaorm over pynamodb's Connection and botocore's client, as while a mock or a tracer needs them."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import Session
from dynaorm.transport import PynamoTransport


class DynaormOverPynamodb(Dynaorm):
    name = "dynaorm, over pynamodb"
    distributions = ("dynaorm", "pydantic", "pynamodb")

    def open(self, endpoint: str) -> Session:
        return Session(transport=PynamoTransport(region=order.REGION, endpoint=endpoint))


client = DynaormOverPynamodb()

"""dynaorm with the default transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import Session


class DynaormDefault(Dynaorm):
    name = "dynaorm"
    note = (
        "every put is a conditional insert, and every change a conditional update; "
        "items have two attributes more: the type and the revision"
    )

    def open(self, endpoint: str) -> Session:
        return Session(region=order.REGION, endpoint=endpoint)


client = DynaormDefault()

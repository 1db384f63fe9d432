"""dynaorm with the direct transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import DirectTransport, Session


class DynaormDirect(Dynaorm):
    name = "dynaorm-direct"
    imports = "from dynaorm import DirectTransport, Entity, Key, Session, Table"

    def open(self, endpoint: str) -> Session:
        return Session(transport=DirectTransport(region=order.REGION, endpoint=endpoint))


client = DynaormDirect()

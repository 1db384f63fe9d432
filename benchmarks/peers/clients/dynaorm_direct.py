"""dynaorm with the direct transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import Session
from dynaorm.transport import DirectTransport


class DynaormDirect(Dynaorm):
    name = "dynaorm-direct"
    imports = "from dynaorm import Entity, Key, Session, Table; from dynaorm.transport import DirectTransport"

    def open(self, endpoint: str) -> Session:
        return Session(transport=DirectTransport(region=order.REGION, endpoint=endpoint))


client = DynaormDirect()

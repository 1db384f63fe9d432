"""dynaorm over its own transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import Session
from dynaorm.transport.direct import DirectTransport


class DynaormDirect(Dynaorm):
    name = "dynaorm-direct"
    imports = "import dynaorm, dynaorm.transport.direct"

    def setup(self, endpoint: str) -> None:
        self.session = Session(transport=DirectTransport(region=order.REGION, endpoint=endpoint))


client = DynaormDirect()

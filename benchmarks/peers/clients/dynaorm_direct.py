"""dynaorm with the direct transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_entities import Dynaorm
from dynaorm import DirectTransport, Session


class DynaormDirect(Dynaorm):
    name = "dynaorm-direct"
    imports = "from dynaorm import DirectTransport"

    def setup(self, endpoint: str) -> None:
        self.session = Session(transport=DirectTransport(region=order.REGION, endpoint=endpoint))


client = DynaormDirect()

"""dynaorm with the direct transport, on a table that it was not made for."""

from benchmarks.peers.clients.dynaorm_direct import DynaormDirect
from benchmarks.peers.clients.dynaorm_entities import existing_table
from dynaorm import Table


class DynaormExistingDirect(DynaormDirect):
    name = "dynaorm-direct, existing table"

    def table(self) -> Table:
        return existing_table()


client = DynaormExistingDirect()

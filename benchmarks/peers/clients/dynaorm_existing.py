"""dynaorm with the default transport, on a table that it was not made for."""

from benchmarks.peers.clients.dynaorm_default import DynaormDefault
from benchmarks.peers.clients.dynaorm_entities import existing_table
from dynaorm import Table


class DynaormExisting(DynaormDefault):
    name = "dynaorm, existing table"
    note = "the items have no type and no revision"

    def table(self) -> Table:
        return existing_table()


client = DynaormExisting()

"""dynaorm with the direct transport, on a table that it was not made for."""

from benchmarks.peers.clients.dynaorm_direct import DynaormDirect
from benchmarks.peers.clients.dynaorm_existing import OnExistingTable


class DynaormExistingDirect(OnExistingTable, DynaormDirect):
    name = "dynaorm-direct, existing table"


client = DynaormExistingDirect()

"""dynaorm with the default transport, on a table that it was not made for."""

from typing import Any

from benchmarks.peers.client import Client
from benchmarks.peers.clients.dynaorm_default import DynaormDefault
from benchmarks.peers.clients.dynaorm_entities import existing_table
from dynaorm import Table


class OnExistingTable(Client):
    """Without a revision, an update asks for the item that it leaves, and the stub does not return it."""

    note = "the items have no type and no revision; changes are not measured, because the stub returns no item for them"

    def table(self) -> Table:
        return existing_table()

    def operation(self, name: str) -> tuple[Any, tuple[Any, ...]] | None:
        return None if name.endswith("_change_save") else super().operation(name)


class DynaormExisting(OnExistingTable, DynaormDefault):
    name = "dynaorm, existing table"


client = DynaormExisting()

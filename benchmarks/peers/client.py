"""The interface of a benchmark client: a name, ``setup`` and one method per operation.

A client is one file in ``clients/`` with a module variable ``client``. Its methods are all plain (``Client``) or, but
for ``json``, all ``async`` (``AsyncClient``). It leaves out the methods of operations that its library does not have.

    setup(endpoint)   create the library's client, with 50 connections if their number can be chosen; credentials and
                      region are in the environment as well
    get()             one GetItem -> the order
    put()             build one order from Python values, and store it
    transact3()       build three orders, and store them in one TransactWriteItems, each on condition that it is new
    query(size)       one Query for the whole partition -> ``size`` orders
    batch_get100()    one BatchGetItem -> 100 orders
    batch_write25()   build 25 orders, and store them in one BatchWriteItem
    change(order)     set the status of an order that was read to ``CHANGED``, and store that
    json(orders)      orders that were read as the JSON text of a response
    close()           only if connections must be closed in an event loop
"""

from typing import Any, Literal

# Import nothing else here: every import adds to the cold start of every client.

OPERATIONS = {
    "get": ("get",),
    "put": ("put",),
    "transact3": ("transact3",),
    "query1": ("query", 1),
    "query3": ("query", 3),
    "query10": ("query", 10),
    "query100": ("query", 100),
    "query1000": ("query", 1000),
    "batch_get100": ("batch_get100",),
    "batch_write25": ("batch_write25",),
    "get_change_save": ("get_and_change",),
    "query1000_change_save": ("query_and_change", 1000),
    "query100_json": ("query_to_json", 100),
}
CHANGED = "DELIVERED"
PLACE = 500
"""The place of the order to change among those of a query, and of the order to keep."""


class Client:
    """One way to use one library.

    ``gives`` says what its reads return: raw attribute values, dicts of Python values, objects with converted fields,
    or entities with every field validated. ``imports`` is the import statement of a program that uses it.
    ``shared`` is False if the library says that threads must not share what ``setup`` creates.
    """

    name: str
    gives: Literal["attribute values", "dicts", "objects", "validated"]
    imports: str
    distributions: tuple[str, ...] = ()
    note: str = ""
    shared = True

    def fields(self, found: Any) -> Any:
        """The twelve values of an order that a read returned, by name; for a client without mapping, the item."""
        return found

    def operation(self, name: str) -> tuple[Any, tuple[Any, ...]] | None:
        """The method of an operation, with its arguments; None if the library does not have the operation."""
        method, *arguments = OPERATIONS[name]
        found = getattr(self, str(method), None)
        return None if found is None else (found, tuple(arguments))

    # The library's own methods; see above.
    get: Any
    query: Any
    change: Any
    json: Any

    def get_and_change(self) -> None:
        self.change(self.get())

    def query_and_change(self, size: int) -> None:
        self.change(list(self.query(size))[PLACE])

    def query_to_json(self, size: int) -> Any:
        return self.json(self.query(size))


class AsyncClient(Client):
    """A client whose methods are asynchronous."""

    async def get_and_change(self) -> None:
        await self.change(await self.get())

    async def query_and_change(self, size: int) -> None:
        await self.change((await self.query(size))[PLACE])

    async def query_to_json(self, size: int) -> Any:
        return self.json(await self.query(size))

"""What the benchmark knows of a client: a name, ``setup`` and one method per operation.

A client is one file in ``clients/`` with a module variable ``client``. Its methods are all plain or all ``async``. An
operation that its library lacks is a method it lacks.

    setup(endpoint)   make the library's client; credentials and region are in the environment, too
    get()             one GetItem -> the order
    put()             build one order from Python values, and store it
    transact3()       build three orders, and store them in one TransactWriteItems, each on condition that it is new
    query(size)       one Query for the whole partition -> ``size`` orders
    batch_get100()    one BatchGetItem -> 100 orders
    batch_write25()   build 25 orders, and store them in one BatchWriteItem
    close()           where connections have to be closed in an event loop
"""

from typing import Any, Literal

# Nothing else is imported here: it would count as part of every client's cold start.

OPERATIONS = {
    "get": ("get",),
    "put": ("put",),
    "transact3": ("transact3",),
    "query100": ("query", 100),
    "query1000": ("query", 1000),
    "batch_get100": ("batch_get100",),
    "batch_write25": ("batch_write25",),
}


class Client:
    """One way of using one library.

    ``gives`` is what its reads return: raw attribute values, dicts of Python values, objects with converted fields, or
    entities whose every field is validated. ``imports`` is the statement a program would begin with.
    """

    name: str
    gives: Literal["attribute values", "dicts", "objects", "validated"]
    imports: str
    distributions: tuple[str, ...] = ()
    note: str = ""

    def fields(self, found: Any) -> Any:
        """The twelve values of what a read returned, by name; for attribute values, the item."""
        return found

    def operation(self, name: str) -> tuple[Any, tuple[Any, ...]] | None:
        """The method behind an operation, with its arguments; None where the library lacks it."""
        method, *arguments = OPERATIONS[name]
        found = getattr(self, str(method), None)
        return None if found is None else (found, tuple(arguments))

"""The entity that the stub's table of events holds."""

import os

from dynaorm import Entity, Table

log = Table("log")


class Event(Entity, table=log, pk="EVENT#{number:09d}", sk="EVENT"):
    number: int
    kind: str
    visitor: str
    tags: list[str]


def set_credentials() -> None:
    """Set what a transport looks up, unless it is set."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",  # pragma: allowlist secret - opens nothing
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        os.environ.setdefault(name, value)

"""A strict class with a part that is no model, and with values that are stored in another form."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict

from dynaorm import Attribute, Entity, Table


@dataclass
class Size:
    width: int = 1
    height: int = 1


class Parcel(Entity, table=Table("parcels"), pk="PARCEL#{name}", sk="P"):
    model_config = ConfigDict(strict=True)

    name: str
    weight: int = 0
    size: Size = Size()
    labels: frozenset[str] = frozenset()
    sides: dict[str, Size] = {}  # noqa: RUF012
    level: Annotated[int, Attribute(encode=lambda level: {"S": str(level)}, decode=lambda one: one["S"])] = 1

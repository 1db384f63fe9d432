"""Fields of many types, for the templates of the tests."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from dynaorm import Ksuid
from dynaorm.entity.table import KeyKind
from dynaorm.entity.template import KeyTemplate, compile_template
from tests.entity.scalars import scalars_of


class Status(Enum):
    OPEN = "open"
    ON_HOLD = "on-hold"


FIELDS: dict[str, Any] = {
    "user_id": str,
    "name": str,
    "country": str,
    "state": str,
    "city": str,
    "number": int,
    "price": Decimal,
    "at": datetime,
    "day": date,
    "id": UUID,
    "status": Status,
    "done": bool,
    "digest": bytes,
    "ksuid": Ksuid,
}
SCALARS = scalars_of(FIELDS)


def compiled(text: str, kind: KeyKind = "S", *, sort: bool = False) -> KeyTemplate:
    return compile_template(text, SCALARS, kind=kind, sort=sort)

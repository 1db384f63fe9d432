"""The text of a field with its own ``encode=`` in a key.

A spec that formats values, such as ``%Y-%m`` or ``06d``, depends on the field's type, not on ``encode=``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.codec.formed import checked
from dynaorm.entity.table import KeyKind
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace

_TYPES: Final[dict[KeyKind, type]] = {"S": str, "N": Decimal, "B": bytes}


def encoded_scalar(
    encode: Callable[[Any], AttributeValue],
    decode: Callable[[AttributeValue], Any],
    kind: KeyKind,
    formatted: Scalar | None = None,
) -> Scalar:
    """The scalar that writes a field into a key attribute of type ``kind`` with the field's own encoding.

    ``formatted``: the scalar of the field's type, for specs that format values.

    Examples:
        >>> day = encoded_scalar(lambda at: {"S": f"{at:%d.%m.%Y}"}, lambda av: parse(av["S"]), "S")
        >>> day.to_text(date(2020, 4, 24))
        '24.04.2020'
    """
    encoded = checked(encode)

    def to_text(value: Any) -> str:
        found = encoded(value)
        if found.keys() != {kind}:
            raise ValueError(f"is encoded as {'/'.join(found)}, and the key attribute is of type {kind}")
        key = found[kind]
        return key.hex() if kind == "B" else str(key)

    def from_text(text: str) -> Any:
        return decode({kind: bytes.fromhex(text) if kind == "B" else text})

    outline = scalar_of(_TYPES[kind])
    assert outline is not None
    return replace(outline, to_text=to_text, from_text=from_text, formatted=formatted)

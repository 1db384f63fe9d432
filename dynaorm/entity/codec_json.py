"""The codec of ``pydantic.JsonValue``: whatever JSON can say, told apart by what it is stored as."""

from typing import Any, Final

from dynaorm.entity.codec_value import NULL, Codec
from dynaorm.item.value import AttributeValue, number_text


def _encode(value: Any) -> AttributeValue:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | float):
        return {"N": number_text(value)}
    if isinstance(value, list):
        return {"L": [_encode(one) for one in value]}
    if isinstance(value, dict):
        return {"M": {_name(name): _encode(one) for name, one in value.items()}}
    raise ValueError(f"holds a {type(value).__name__}, which JSON has not")


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"has the key {name!r}, and JSON's keys are strings")
    return name


def _decode(stored: AttributeValue) -> Any:
    ((tag, content),) = stored.items()
    match tag:
        case "NULL":
            return None
        case "S" | "BOOL":
            return content
        case "N":
            return float(content) if "." in content or "E" in content or "e" in content else int(content)
        case "L":
            return [_decode(one) for one in content]
        case "M":
            return {name: _decode(one) for name, one in content.items()}
    raise ValueError(f"holds {tag}, which JSON has not")


JSON: Final = Codec(_encode, _decode, frozenset({"S", "N", "BOOL", "L", "M", "NULL"}), nullable=True)

"""The codecs of nested records: pydantic models, dataclasses and typed dicts, all stored as M.

Values are read attribute by attribute and never through ``model_dump``: what an application shows of a model is not
what is stored of it. Stored maps become dicts of field names, which pydantic then validates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dynaorm.entity.codec_value import NULL, Codec, content
from dynaorm.item.value import AttributeValue


@dataclass(frozen=True, slots=True)
class Member:
    """One field of a record: its attribute name, its codec, and whether it may be missing from the stored map."""

    attribute: str
    codec: Codec
    required: bool
    formerly: tuple[str, ...] = ()

    def stored_in(self, stored: Mapping[str, AttributeValue]) -> AttributeValue | None:
        names = (self.attribute, *self.formerly)
        return next((stored[name] for name in names if name in stored), None)


def record_codec(
    kind: type, members: Mapping[str, Member], get: Callable[[Any, str], Any] = getattr
) -> Codec:
    """A record of named members; ``get`` reads one of them, raising KeyError or AttributeError where it is missing."""

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, kind):
            raise ValueError(f"is a {type(value).__name__}, not a {kind.__name__}")
        found: dict[str, AttributeValue] = {}
        for name, member in members.items():
            try:
                one = get(value, name)
            except (KeyError, AttributeError):
                if member.required:
                    raise ValueError(f"has no {name}") from None
                continue
            try:
                found[member.attribute] = member.codec.encode(one)
            except ValueError as problem:
                raise ValueError(f"{name} {problem}") from problem
        return {"M": found}

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "M")
        values: dict[str, Any] = {}
        for name, member in members.items():
            one = member.stored_in(found)
            if one is None:
                if not (member.required and (member.codec.nullable or member.codec.is_set)):
                    continue
                one = NULL if member.codec.nullable else {"L": []}
            try:
                values[name] = member.codec.decode(one)
            except ValueError as problem:
                raise ValueError(f"{name} {problem}") from problem
        return values

    paths = {name: (member.attribute, member.codec) for name, member in members.items()}
    return Codec(encode, decode, frozenset({"M"}), members=paths)

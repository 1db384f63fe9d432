"""Which codec a type has: resolved once, when a class is declared.

Rule 1. ``load(save(x)) == x`` for every type that has one; a type for which that cannot be kept has none.
Rule 2. Values are checked, not converted: a str field that holds 5 is refused.
Rule 3. The stored type alone tells the members of a union apart.
"""

import dataclasses
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import AnyUrl, BaseModel, Discriminator, JsonValue, SecretBytes
from pydantic.fields import FieldInfo
from pydantic_core import MultiHostUrl, Url
from typing_extensions import ReadOnly, TypeAliasType

from dynaorm.entity.codec_container import dict_codec, list_codec, set_codec, tuple_codec, union_codec
from dynaorm.entity.codec_json import JSON
from dynaorm.entity.codec_model import Member, record_codec
from dynaorm.entity.codec_value import Codec, Unstorable, content, optional, scalar_codec, text_codec
from dynaorm.entity.marker import Attribute
from dynaorm.entity.scalar import scalar_of
from dynaorm.item.value import AttributeValue

__all__ = ["Codec", "Unstorable", "codec_of"]

_TEXTS: Final = (
    IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network, PurePath, AnyUrl, Url, MultiHostUrl,
)  # fmt: skip
_REMEDY: Final = "use a type that DynamoDB has, or Attribute(encode=..., decode=...)"

_Seen = dict[Any, Codec]


def codec_of(annotation: Any, metadata: Sequence[object] = ()) -> Codec:
    """The codec of a field's type.

    Raises:
        Unstorable: it has none; the sentence says why and ends with the remedy.
    """
    return _resolve(annotation, metadata, {})


def _resolve(annotation: Any, metadata: Sequence[object], seen: _Seen) -> Codec:
    if annotation is JsonValue:
        return JSON
    if isinstance(annotation, TypeAliasType):
        return _once(annotation, seen, lambda: _resolve(annotation.__value__, metadata, seen))
    if isinstance(annotation, NewType):
        return _resolve(annotation.__supertype__, metadata, seen)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(arguments, metadata, seen)
    if origin in (Required, NotRequired, ReadOnly):
        return _resolve(arguments[0], metadata, seen)
    if origin in (Union, UnionType):
        return _union(arguments, metadata, seen)
    if (scalar := scalar_of(annotation)) is not None:
        codec = scalar_codec(scalar)
        return optional(codec) if None in arguments else codec
    if origin is not None:
        return _container(origin, arguments, seen)
    if isinstance(annotation, type):
        return _class(annotation, seen)
    raise Unstorable(f"{_name(annotation)} has no type to store it by; {_REMEDY}")


def _annotated(arguments: tuple[Any, ...], metadata: Sequence[object], seen: _Seen) -> Codec:
    inner, *own = arguments
    attribute = next((one for one in own if isinstance(one, Attribute) and one.encode and one.decode), None)
    if attribute is not None and attribute.encode is not None and attribute.decode is not None:
        return Codec(attribute.encode, attribute.decode, frozenset())
    return _resolve(inner, (*metadata, *own), seen)


def _union(arguments: tuple[Any, ...], metadata: Sequence[object], seen: _Seen) -> Codec:
    members = [one for one in arguments if one is not NoneType]
    if len(members) > 1 and _is_discriminated(metadata):
        codec = _discriminated(members, seen)
    else:
        codecs = [_resolve(one, metadata, seen) for one in members]
        codec = codecs[0] if len(codecs) == 1 else union_codec(codecs)
    return optional(codec) if len(members) < len(arguments) else codec


def _is_discriminated(metadata: Sequence[object]) -> bool:
    return any(
        isinstance(one, Discriminator) or (isinstance(one, FieldInfo) and one.discriminator is not None)
        for one in metadata
    )


def _discriminated(members: Sequence[Any], seen: _Seen) -> Codec:
    """Models told apart by a field: pydantic chooses among them when the whole entity is validated."""
    codecs = {one: _resolve(one, (), seen) for one in members}
    if any(codec.tags != {"M"} for codec in codecs.values()):
        raise Unstorable(
            "a discriminated union holds something that is no model; use models, or another union"
        )

    def encode(value: Any) -> AttributeValue:
        codec = codecs.get(type(value))
        if codec is None:
            raise ValueError(f"is a {type(value).__name__}, not one of {', '.join(map(_name, members))}")
        return codec.encode(value)

    def decode(stored: AttributeValue) -> Any:
        problems = []
        for member, codec in codecs.items():
            try:
                values = codec.decode(stored)
                member.__pydantic_validator__.validate_python(values, by_alias=False, by_name=True)
            except ValueError as problem:
                problems.append(str(problem))
            else:
                return values
        raise ValueError(f"fits none of {', '.join(map(_name, members))}: {problems[0]}")

    return Codec(encode, decode, frozenset({"M"}))


def _container(origin: Any, arguments: tuple[Any, ...], seen: _Seen) -> Codec:
    if origin is dict:
        key = scalar_of(arguments[0])
        if key is None or key.tag == "B":
            raise Unstorable(f"a dict with {_name(arguments[0])} keys; use str or another key with one text")
        return dict_codec(key, _resolve(arguments[1], (), seen))
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return tuple_codec([_resolve(one, (), seen) for one in arguments])
    if origin in (list, tuple):
        return list_codec(origin, _resolve(arguments[0], (), seen))
    if origin in (set, frozenset):
        return set_codec(origin, _resolve(arguments[0], (), seen))
    raise Unstorable(f"{_name(origin)} has no type to store it by; use list, tuple, set or dict")


def _class(kind: type, seen: _Seen) -> Codec:
    if kind in (dict, list, tuple, set, frozenset):
        raise Unstorable(f"a bare {kind.__name__} does not say what it holds; write {kind.__name__}[...]")
    if issubclass(kind, SecretBytes):
        return Codec(
            lambda value: {"B": value.get_secret_value()},
            lambda stored: SecretBytes(bytes(content(stored, "B"))),
            frozenset({"B"}),
        )
    if issubclass(kind, _TEXTS):
        return text_codec(kind)
    if issubclass(kind, BaseModel):
        return _once(kind, seen, lambda: record_codec(kind, _model_members(kind, seen)))
    if dataclasses.is_dataclass(kind):
        return _once(kind, seen, lambda: record_codec(kind, _dataclass_members(kind, seen)))
    if is_typeddict(kind):
        return _once(
            kind, seen, lambda: record_codec(dict, _dict_members(kind, seen), lambda value, name: value[name])
        )
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind, include_extras=True)
        elements = [_resolve(hints[name], (), seen) for name in kind._fields]
        return tuple_codec(elements, lambda members: kind(*members), kind)
    raise Unstorable(f"{kind.__name__} has no type to store it by; {_REMEDY}")


def _model_members(model: type[BaseModel], seen: _Seen) -> dict[str, Member]:
    if not model.__pydantic_complete__:
        model.model_rebuild()
    if model.model_config.get("extra") == "allow":
        raise Unstorable(
            f"{model.__name__} has extra='allow', and fields without a type cannot be stored; declare a dict field"
        )
    members: dict[str, Member] = {}
    for name, info in model.model_fields.items():
        mark = next((one for one in info.metadata if isinstance(one, Attribute)), None)
        codec = _resolve(_with_metadata(info), (), seen)
        attribute = mark.name if mark is not None and mark.name is not None else name
        members[name] = Member(
            attribute, codec, info.is_required(), mark.formerly if mark is not None else ()
        )
    return members


def _with_metadata(info: FieldInfo) -> Any:
    extra = [*info.metadata, *([info] if info.discriminator is not None else [])]
    return Annotated[info.annotation, *extra] if extra else info.annotation


def _dataclass_members(kind: type, seen: _Seen) -> dict[str, Member]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        one.name: Member(one.name, _resolve(hints[one.name], (), seen), _is_required(one))
        for one in dataclasses.fields(kind)
        if one.init
    }


def _is_required(one: "dataclasses.Field[Any]") -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def _dict_members(kind: Any, seen: _Seen) -> dict[str, Member]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: Member(name, _resolve(hint, (), seen), name in kind.__required_keys__)
        for name, hint in hints.items()
    }


def _once(kind: Any, seen: _Seen, build: Callable[[], Codec]) -> Codec:
    """The codec of a type that may contain itself: inside of it, one that looks the finished one up."""
    if kind in seen:
        return seen[kind]
    finished: list[Codec] = []
    seen[kind] = Codec(
        lambda value: finished[0].encode(value), lambda stored: finished[0].decode(stored), frozenset({"M"})
    )
    finished.append(build())
    seen[kind] = finished[0]
    return finished[0]


def _name(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)

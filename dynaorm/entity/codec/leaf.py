"""The codecs of classes that contain no other types: scalars, enums, secrets, URLs, addresses, paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from functools import partial
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from pathlib import PurePath
from types import NoneType
from typing import Any, Final

import pydantic
from pydantic_core import MultiHostUrl, Url

from dynaorm.entity.codec.choice import enum_codec
from dynaorm.entity.codec.value import (
    NONE,
    SECRET_BYTES,
    Codec,
    codec_of_parts,
    merge,
    mistyped,
    printed_codec,
    scalar_codec,
    text_codec,
)
from dynaorm.entity.text.scalar import STR, is_of_networks, only_written, scalar_of
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace

_ADDRESSES: Final = (IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network)
_SUBCLASSED: Final = (str, int, float, Decimal, bytes)


def leaf_codec(kind: type) -> Codec | None:
    """The codec of a class; None if it has none."""
    if kind is NoneType:
        return NONE
    if issubclass(kind, pydantic.SecretBytes):
        return SECRET_BYTES
    if issubclass(kind, Enum):
        return enum_codec(kind)
    if kind in _ADDRESSES or issubclass(kind, (Url, MultiHostUrl, PurePath)):
        return printed_codec(kind.__name__, (kind,), kind)
    if is_of_networks(kind) and (codec := _network_codec(kind)) is not None:
        return codec
    scalar = scalar_of(kind)
    if scalar is None:
        return None
    # For a subclass (pydantic's ByteSize, a user's subclass of str), decoding must return an instance of it.
    if kind is scalar.python or not issubclass(kind, scalar.python):
        return scalar_codec(scalar)
    return _made(kind, scalar_codec(scalar)) if scalar.python in _SUBCLASSED else None


def _network_codec(kind: type) -> Codec | None:
    """The codec of a class of ``pydantic.networks``."""
    any_address: Mapping[Any, tuple[tuple[type, ...], Callable[[str], Any]]] = {
        pydantic.IPvAnyAddress: ((IPv4Address, IPv6Address), ip_address),
        pydantic.IPvAnyInterface: ((IPv4Interface, IPv6Interface), ip_interface),
        pydantic.IPvAnyNetwork: ((IPv4Network, IPv6Network), ip_network),
    }
    if kind in any_address:
        return printed_codec(kind.__name__, *any_address[kind])
    # All URL classes derive from one of two private classes, for URLs with one host and with several.
    known = (*pydantic.AnyUrl.__mro__, *pydantic.PostgresDsn.__mro__)
    urls = tuple(base for base in known if base is not object)
    return printed_codec(kind.__name__, (kind,), kind) if issubclass(kind, urls) else None


def secret_codec(annotation: Any, inner: Codec) -> Codec:
    """``pydantic.Secret[X]``, stored as X."""

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, pydantic.Secret):
            raise mistyped(value, "Secret")
        return inner.encode(value.get_secret_value())

    def decode(stored: AttributeValue) -> Any:
        return annotation(inner.decode(stored))

    return codec_of_parts(encode, decode, inner.tags, [inner], deeper=0, merge_parts=partial(merge, inner))


def _made(kind: type, codec: Codec) -> Codec:
    if codec.is_text:
        read = only_written(kind.__name__, STR.to_text, kind)
        return replace(text_codec(kind.__name__, "S", STR.to_text, read), is_text=True, from_text=None)
    return replace(codec, decode=lambda stored: kind(codec.decode(stored)), from_text=None)

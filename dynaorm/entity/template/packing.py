"""Binary keys: the bytes that stand for a text. They sort as the texts do.

A str is stored in UTF-8, an identifier as its own bytes.
"""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.record import record


@record
class Packing:
    """``pack`` takes a text of the type. ``unpack`` raises ValueError for bytes that stand for no text."""

    pack: Callable[[str], bytes]
    unpack: Callable[[bytes], str]


PACKINGS: Final[Mapping[type, Packing]] = {
    bytes: Packing(bytes.fromhex, bytes.hex),
    str: Packing(str.encode, bytes.decode),
    UUID: Packing(lambda text: UUID(text).bytes, lambda key: str(UUID(bytes=key))),
    Ksuid: Packing(
        lambda text: bytes(Ksuid.from_base62(text)),
        lambda key: str(Ksuid.from_bytes(key)),
    ),
    KsuidMs: Packing(
        lambda text: bytes(KsuidMs.from_base62(text)),
        lambda key: str(KsuidMs.from_bytes(key)),
    ),
}

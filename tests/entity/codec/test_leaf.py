"""Classes that hold nothing but themselves: secrets, URLs, addresses, paths, and subclasses of plain types."""

from datetime import date
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import PurePosixPath
from typing import Any

import pydantic
import pytest
from pydantic import Secret, SecretBytes, SecretStr

from dynaorm.entity.codec.of_type import Unstorable, codec_of


class Slug(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (SecretStr, SecretStr("s3cret"), {"S": "s3cret"}),
        (SecretBytes, SecretBytes(b"s3cret"), {"B": b"s3cret"}),
        (Secret[date], Secret[date](date(2024, 1, 1)), {"S": "2024-01-01"}),
        (pydantic.AnyUrl, pydantic.AnyUrl("http://a/b"), {"S": "http://a/b"}),
        (pydantic.HttpUrl, pydantic.HttpUrl("http://a"), {"S": "http://a/"}),
        (pydantic.PostgresDsn, pydantic.PostgresDsn("postgres://u@h/d"), {"S": "postgres://u@h/d"}),
        (type(ip_address("::1")), ip_address("::1"), {"S": "::1"}),
        (pydantic.IPvAnyAddress, ip_address("10.0.0.1"), {"S": "10.0.0.1"}),
        (pydantic.IPvAnyInterface, ip_interface("10.0.0.1/8"), {"S": "10.0.0.1/8"}),
        (pydantic.IPvAnyNetwork, ip_network("10.0.0.0/8"), {"S": "10.0.0.0/8"}),
        (PurePosixPath, PurePosixPath("/a/b"), {"S": "/a/b"}),
        (pydantic.ByteSize, pydantic.ByteSize(5), {"N": "5"}),
        (Slug, Slug("a"), {"S": "a"}),
        (pydantic.PastDate, date(2024, 1, 1), {"S": "2024-01-01"}),
    ],
)
def test_a_class_is_stored_by_its_text_and_made_again(annotation: Any, value: Any, stored: Any) -> None:
    codec = codec_of(annotation)
    assert codec.encode(value) == stored
    assert codec.decode(stored) == value
    assert type(codec.decode(stored)) is type(value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(SecretStr, "plain"), (SecretBytes, b"plain"), (Secret[int], 5), (pydantic.HttpUrl, "http://a/")],
)
def test_what_is_not_of_the_class_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r", not an? "):
        codec_of(annotation).encode(value)


def test_a_class_of_its_own_has_no_codec() -> None:
    class Money:
        pass

    with pytest.raises(Unstorable, match=r"Money cannot be stored; .* Attribute\("):
        codec_of(Money)

"""Requests signed by ourselves carry the signature that botocore would give them."""

from calendar import timegm
from datetime import datetime
from time import strptime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.errors import UsageError
from dynaorm.transport.http.credentials import FixedCredentials
from dynaorm.transport.http.exchange import SignedRequest, Signer
from dynaorm.transport.settings import endpoint_of

NOW = 1_700_000_000.5
KEYS = FixedCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
ENDPOINT = endpoint_of("https://dynamodb.eu-west-1.amazonaws.com")

printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=80)
URLS = st.sampled_from(
    [
        "https://dynamodb.eu-west-1.amazonaws.com",
        "https://dynamodb.eu-west-1.amazonaws.com:443/",
        "http://localhost:8000",
        "http://LOCALHOST:80",
        "https://[::1]:8443",
        "https://proxy.example.com/base/path~x/",
    ]
)


def botocores(
    url: str, operation: str, body: bytes, keys: FixedCredentials, region: str
) -> tuple[str, float]:
    """The Authorization header botocore signs with at this moment, and the moment."""
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
    }
    request = AWSRequest("POST", url, headers, body)
    SigV4Auth(Credentials(*keys), "dynamodb", region).add_auth(request)
    signed_at = timegm(strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
    return request.headers["Authorization"], signed_at


@given(
    URLS,
    st.from_regex(r"[A-Z][A-Za-z]{2,20}", fullmatch=True),
    st.binary(max_size=200),
    st.builds(FixedCredentials, printable, st.text(min_size=1, max_size=60), st.none() | printable),
    st.sampled_from(["us-east-1", "eu-west-1", "cn-north-1"]),
)
def test_a_request_is_signed_as_botocore_would(
    url: str, operation: str, body: bytes, keys: FixedCredentials, region: str
) -> None:
    endpoint = endpoint_of(url)
    theirs, signed_at = botocores(endpoint.url, operation, body, keys, region)
    ours = Signer(endpoint, region).sign(operation, body, keys, signed_at)
    assert ours.headers["Authorization"] == theirs
    assert ours.headers.get("X-Amz-Security-Token") == keys.token


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-200_000, 200_000)), min_size=1, max_size=20))
def test_a_remembered_key_is_never_one_of_another_day_or_credential(
    requests: list[tuple[int, int]],
) -> None:
    signer = Signer(ENDPOINT, "eu-west-1")
    credentials = [KEYS, KEYS._replace(secret_key="another"), KEYS._replace(token="token")]
    for which, seconds in requests:
        remembered = signer.sign("GetItem", b"{}", credentials[which], NOW + seconds)
        fresh = Signer(ENDPOINT, "eu-west-1").sign("GetItem", b"{}", credentials[which], NOW + seconds)
        assert remembered == fresh


def test_credentials_that_change_in_place_sign_the_next_request() -> None:
    changing = Credentials(*KEYS)
    signer = Signer(ENDPOINT, "eu-west-1")
    for name, value in [
        ("token", "T1"),
        ("secret_key", "another"),
        ("access_key", "AKIDOTHER"),
        ("token", None),
    ]:
        setattr(changing, name, value)
        same = FixedCredentials(changing.access_key, changing.secret_key, changing.token)
        expected = Signer(ENDPOINT, "eu-west-1").sign("GetItem", b"{}", same, NOW)
        assert signer.sign("GetItem", b"{}", changing, NOW).lines == expected.lines


def test_a_request_is_one_http_message_with_its_length() -> None:
    request = Signer(ENDPOINT, "eu-west-1").sign("GetItem", b'{"a":1}', KEYS, NOW)
    head, _, body = request.message("/").partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"POST / HTTP/1.1"
    assert head.split(b"\r\n")[-1] == b"Content-Length: 7"
    assert body == b'{"a":1}'
    assert b"Host: dynamodb.eu-west-1.amazonaws.com\r\n" in head
    assert b"X-Amz-Date: 20231114T221320Z\r\n" in head


def test_a_request_knows_when_it_was_signed() -> None:
    request = Signer(ENDPOINT, "eu-west-1").sign("GetItem", b"", KEYS, NOW)
    assert isinstance(request, SignedRequest)
    assert request.signed_at == NOW
    assert datetime.fromisoformat(request.headers["X-Amz-Date"]).timestamp() == int(NOW)


@pytest.mark.parametrize(
    "keys", [FixedCredentials("KEY\n", "s"), FixedCredentials("KEY", "s", "token\r\nHost: evil")]
)
def test_a_credential_with_a_line_break_is_refused_with_what_to_do(keys: FixedCredentials) -> None:
    with pytest.raises(UsageError, match=r"cannot stand in a header.*line break"):
        Signer(ENDPOINT, "eu-west-1").sign("GetItem", b"", keys, NOW)

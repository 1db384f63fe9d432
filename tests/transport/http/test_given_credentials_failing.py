"""Whatever a provider of credentials raises or gives is an error that names it, and nothing is sent."""

import builtins
import inspect
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore import exceptions as botocore_exceptions
from botocore.credentials import RefreshableCredentials
from botocore.httpsession import URLLib3Session
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Retry, Session
from dynaorm.errors import DynaormError, OutcomeUnknown, UsageError
from dynaorm.transport import Call, NoAnswer, Refusal
from dynaorm.transport.http.credentials import FixedCredentials
from tests.cast.orders import Stock
from tests.transport.both_ways import Wrapped
from tests.transport.each_transport import TRANSPORTS
from tests.transport.unruly import Unruly, hang_up, unruly_server

pytestmark = pytest.mark.usefixtures("one_loader")

PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}}})
SHARDS = Call("DescribeStream", {"StreamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/a/stream/2024"})
GOOD = FixedCredentials("KEY", "hush")
WAYS = [*TRANSPORTS, "default, by botocore"]


class Provider:
    """Gives what it is told to give, or raises what it is told to raise."""

    def __init__(self) -> None:
        self.gives: Any = GOOD
        self.raises: Exception | None = None

    def get_frozen_credentials(self) -> Any:
        if self.raises is not None:
            raise self.raises
        return self.gives


class Mute(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError("no text")


BUILTIN = [
    kind
    for _, kind in inspect.getmembers(builtins, inspect.isclass)
    if issubclass(kind, Exception) and not issubclass(kind, UnicodeError | ExceptionGroup)
]
OF_BOTOCORE = [
    botocore_exceptions.NoCredentialsError(),
    botocore_exceptions.ProfileNotFound(profile="shop"),
    botocore_exceptions.CredentialRetrievalError(provider="p", error_msg="e"),
    botocore_exceptions.TokenRetrievalError(provider="sso", error_msg="expired"),
    botocore_exceptions.ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole"),
]
UNANSWERED = [
    botocore_exceptions.ConnectTimeoutError(endpoint_url="http://169.254.169.254"),
    botocore_exceptions.EndpointConnectionError(endpoint_url="https://sts.amazonaws.com"),
    botocore_exceptions.HTTPClientError(error="broken"),
]
OF_DYNAORM = [
    Refusal("ConditionalCheckFailedException"),
    NoAnswer("lost"),
    OutcomeUnknown(plan=None, reason="r"),
]


def subclassed(kind: type[Exception]) -> Exception:
    own: type[Exception] = type("Own", (kind,), {})
    return own("boom")


KINDS: list[type[Exception]] = [Exception, *BUILTIN]
ERRORS: st.SearchStrategy[Exception] = st.one_of(
    st.sampled_from(BUILTIN).map(lambda kind: kind("boom")),
    st.sampled_from(KINDS).map(subclassed),
    st.sampled_from([*OF_BOTOCORE, *OF_DYNAORM, Mute()]),
)


@pytest.fixture(scope="module")
def answering() -> Iterator[Unruly]:
    with unruly_server() as server:
        yield server


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name, _, by = request.param.partition(", ")
    if by:
        monkeypatch.setattr(URLLib3Session, "send", Wrapped(URLLib3Session.send))
    return str(name)


@given(data=st.data(), works_before=st.booleans(), call=st.sampled_from([PUT, PUT, SHARDS]))
@settings(max_examples=12)
def check_failures(way: str, server: Unruly, data: st.DataObject, works_before: bool, call: Call) -> None:
    provider = Provider()
    with closing(TRANSPORTS[way](endpoint=server.endpoint, credentials=provider)) as transport:
        if works_before:
            transport.call(call)
        sent = len(server.requests)
        provider.raises = data.draw(ERRORS)
        with pytest.raises(UsageError) as caught:
            transport.call(call)
        assert "credentials= (Provider)" in str(caught.value)
        assert "~/.aws" not in str(caught.value)
        assert caught.value.__cause__ is provider.raises
        provider.raises = data.draw(st.sampled_from(UNANSWERED))
        with pytest.raises(NoAnswer, match=r"credentials= \(Provider\)") as unanswered:
            transport.call(call)
        assert not unanswered.value.sent
        assert len(server.requests) == sent
        provider.raises = None
        transport.call(call)
        assert len(server.requests) == sent + 1


def test_whatever_a_given_provider_raises_names_it_and_sends_nothing(way: str, answering: Unruly) -> None:
    check_failures(way, answering)


class Computed:
    """Credentials one member of which cannot be computed."""

    access_key, token = "KEY", None

    @property
    def secret_key(self) -> str:
        raise KeyError("hush")


BAD: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, "KEY", ("KEY", "hush", None), {}, Computed()]),
    st.builds(
        FixedCredentials,
        st.sampled_from(["KEY", "", None, 7, b"KEY"]),
        st.sampled_from(["hush", "", None, 7, b"hush"]),
        st.sampled_from([None, "hush", 7, b"hush"]),
    ).filter(lambda one: not (one[0] == "KEY" and one[1] == "hush" and one[2] in (None, "hush"))),
)


@given(bad=BAD, works_before=st.booleans())
@settings(max_examples=12)
def check_values(way: str, server: Unruly, bad: Any, works_before: bool) -> None:
    provider = Provider()
    with closing(TRANSPORTS[way](endpoint=server.endpoint, credentials=provider)) as transport:
        if works_before:
            transport.call(PUT)
        sent = len(server.requests)
        provider.gives = bad
        with pytest.raises(UsageError, match=r"credentials= \(Provider\)") as caught:
            transport.call(PUT)
        assert "hush" not in str(caught.value)
        assert len(server.requests) == sent


def test_whatever_a_given_provider_gives_is_used_or_refused_by_name(way: str, answering: Unruly) -> None:
    check_values(way, answering)


@given(error=ERRORS)
@settings(max_examples=8)
def check_refresh(way: str, server: Unruly, error: Exception) -> None:
    def refresh() -> Any:
        raise error

    over = datetime.now(UTC) - timedelta(minutes=1)
    keys = ("KEY", "hush", "t")
    credentials = RefreshableCredentials(*keys, expiry_time=over, refresh_using=refresh, method="m")
    sent = len(server.requests)
    with closing(TRANSPORTS[way](endpoint=server.endpoint, credentials=credentials)) as transport:
        with pytest.raises(UsageError, match=r"credentials= \(RefreshableCredentials\)") as caught:
            transport.call(PUT)
        assert "~/.aws" not in str(caught.value)
    assert len(server.requests) == sent


def test_whatever_a_refresh_raises_names_who_gives_the_credentials(way: str, answering: Unruly) -> None:
    check_refresh(way, answering)


# -- what it means for a write -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["default", "direct"])
@pytest.mark.parametrize("error", [KeyError("boom"), TimeoutError("slow"), StopIteration()], ids=repr)
def test_a_write_that_could_not_be_signed_was_not_made(
    kind: str, error: Exception, answering: Unruly
) -> None:
    provider = Provider()
    with closing(TRANSPORTS[kind](endpoint=answering.endpoint, credentials=provider)) as transport:
        session, note = Session(transport=transport), Stock(sku="1")
        provider.raises = error
        with pytest.raises(UsageError):
            session.save(note)
        provider.raises = None
        sent = len(answering.requests)
        session.save(note)  # it settles nothing first
        assert len(answering.requests) == sent + 1


@pytest.mark.parametrize("kind", ["default", "direct"])
def test_a_write_that_cannot_be_signed_again_after_a_lost_answer_is_unknown(
    kind: str, server: Unruly
) -> None:
    provider = Provider()

    def lose(*request: Any) -> bool:
        provider.raises = KeyError("boom")
        return hang_up(*request)

    server.will(lose)
    with closing(TRANSPORTS[kind](endpoint=server.endpoint, credentials=provider)) as transport:
        session = Session(transport=transport, retry=Retry(base=0))
        with pytest.raises(OutcomeUnknown, match=r"credentials= \(Provider\)") as caught:
            session.save(Stock(sku="1"))
    assert isinstance(caught.value, DynaormError)
    assert len(server.requests) == 1

"""Over each transport, a configuration that cannot be used is a UsageError, and no error shows a secret."""

import os
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport import AsyncDirectTransport, Call, DirectTransport, NoAnswer, PynamoTransport
from tests.transport.each_transport import Closable, Open
from tests.transport.unruly import Unruly, hang_up

pytestmark = pytest.mark.usefixtures("one_loader")

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}})


# -- configuration -----------------------------------------------------------------------------------------------------


def refused_before_sending(transport: Closable) -> str:
    with pytest.raises(UsageError) as caught:
        transport.call(GET)
    return str(caught.value)


def test_a_profile_gives_credentials_and_region(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile shop]\nregion = sa-east-1\naws_access_key_id = SHOP\naws_secret_access_key = s\n"
        "[profile half]\naws_access_key_id = HALF\n"
        "[profile gone]\ncredential_process = /nowhere/at-all\n"
        "[profile failing]\ncredential_process = false\n"
        "[profile babbling]\ncredential_process = echo not-json\n"
        "[profile silent]\ncredential_process = true\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    open_transport(endpoint=server.endpoint, profile="shop").call(GET)
    assert server.requests[0].scope == ("SHOP", "sa-east-1")
    for profile, remedy in [
        ("nobody", "name a profile"),
        ("half", "set both"),
        ("gone", "run that program by hand"),
        ("failing", "run that program by hand"),
        ("babbling", "run that program by hand"),
        ("silent", "run that program by hand"),
    ]:
        assert remedy in refused_before_sending(open_transport(endpoint=server.endpoint, profile=profile))
    assert len(server.requests) == 1


@pytest.mark.parametrize("named", ["argument", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
def test_a_profile_that_no_file_has_is_refused_beside_the_environments_credentials(
    named: str, server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named != "argument":
        monkeypatch.setenv(named, "nobody")
    given = {"profile": "nobody"} if named == "argument" else {}
    transport = open_transport(region="eu-west-1", endpoint=server.endpoint, **given)
    assert "name a profile" in refused_before_sending(transport)
    assert server.connections == 0


def test_the_region_is_the_one_given_then_the_environments_then_an_emulators(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def region(**options: Any) -> str:
        open_transport(endpoint=server.endpoint, **options).call(GET)
        return server.requests[-1].scope[1]

    assert region() == "us-east-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert region() == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert region() == "eu-west-2"
    assert region(region="eu-west-3") == "eu-west-3"


def test_credentials_that_expire_are_refreshed_for_the_next_call(
    server: Unruly, open_transport: Open, expiring_profile: str
) -> None:
    transport = open_transport(endpoint=server.endpoint, profile=expiring_profile)
    transport.call(GET)
    transport.call(GET)
    first, second = server.requests
    assert first.scope[0] != second.scope[0]
    for request in server.requests:
        assert request.headers["x-amz-security-token"] == request.scope[0].replace("KEY", "token")


def test_expired_credentials_are_refused_with_what_to_do(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    assert "expired; correct the AWS configuration" in refused_before_sending(
        open_transport(endpoint=server.endpoint)
    )
    assert server.requests == []


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (["AWS_SECRET_ACCESS_KEY"], "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_without_credentials_the_error_says_how_to_give_them(
    missing: list[str],
    remedy: str,
    server: Unruly,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transport = open_transport(endpoint=server.endpoint)
    with monkeypatch.context() as environment:
        for name in missing:
            environment.delenv(name)
        assert remedy in refused_before_sending(transport)
    assert server.connections == 0


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AWS_CONFIG_FILE", "[profile shop\nregion = eu-west-1\n"),
        ("AWS_CONFIG_FILE", "\xff[default]\n"),
        ("AWS_SHARED_CREDENTIALS_FILE", "[default\naws_access_key_id = a\n"),
        ("AWS_MAX_ATTEMPTS", "many"),
        ("AWS_RETRY_MODE", "never"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "nonsense"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://[::1"),
        ("AWS_USE_FIPS_ENDPOINT", "maybe"),
        ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "sometimes"),
        ("AWS_DEFAULTS_MODE", "none at all"),
        ("AWS_PROFILE", "nobody"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_or_not_needed(
    variable: str,
    text: str,
    server: Unruly,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A transport may do without it. If it does not, nothing was sent, and the error is dynaorm's own."""
    file = tmp_path / "file"
    file.write_bytes(text.encode("latin-1"))
    monkeypatch.setenv(variable, str(file) if variable.endswith("FILE") else text)
    endpoint = None if "ENDPOINT_URL" in variable else server.endpoint
    try:
        open_transport(endpoint=endpoint, region="eu-west-1").call(GET)
    except UsageError:
        assert server.connections == 0
    else:
        assert len(server.requests) == 1


@pytest.mark.parametrize("region", ["us-east-1\r\nX-Evil: 1", "us-east-1/x", "-a", "a-", "1", "a" * 64, "ü"])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:1"])
def test_a_region_that_cannot_be_is_refused(region: str, endpoint: str | None, open_transport: Open) -> None:
    problem = refused_before_sending(open_transport(region=region, endpoint=endpoint))
    assert problem.startswith(f"{region!r} is not the name of an AWS region; use a name like")


def test_without_any_region_or_endpoint_the_error_says_how_to_give_one(open_transport: Open) -> None:
    assert os.environ["AWS_CONFIG_FILE"] == os.devnull
    assert "No AWS region is known; name a Region" in refused_before_sending(open_transport())


def test_an_endpoint_variant_that_a_region_does_not_have_is_refused(
    open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    problem = refused_before_sending(open_transport(region="us-isof-east-1"))
    assert "leave out use_fips_endpoint or use_dualstack_endpoint" in problem


# -- secrets -----------------------------------------------------------------------------------------------------------

# pragma: allowlist nextline secret
SECRETS = {"AWS_SECRET_ACCESS_KEY": "hidden-key", "AWS_SESSION_TOKEN": "hidden-token"}


def shown_by(error: BaseException) -> str:
    """What a reporter of errors would show: messages, and the local variables of dynaorm's frames."""
    shown = []
    seen: BaseException | None = error
    while seen is not None:
        shown.append(repr(seen))
        for frame, _ in walk_tb(seen.__traceback__):
            if "/dynaorm/" in frame.f_code.co_filename:
                shown += [f"{name} = {value!r}" for name, value in frame.f_locals.items()]
        seen = seen.__cause__ or seen.__context__
    return "\n".join(shown)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"region": "no region"},
        {"endpoint": "nonsense"},
        {"endpoint": "https://127.0.0.1:1"},
        {"endpoint": "http://nowhere.invalid"},
        {"profile": "nobody"},
        {"endpoint": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("ca_bundle", ["", "/nowhere.pem"])
@pytest.mark.parametrize(
    "proxied",
    [
        "",
        "http://me:hidden-password@127.0.0.1:1",  # pragma: allowlist secret
        "the server",
    ],
)
def test_no_error_shows_credentials_or_signed_headers(
    options: dict[str, Any],
    ca_bundle: str,
    proxied: str,
    server: Unruly,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    proxy = server.endpoint.replace("http://", "http://me:hidden-password@")  # pragma: allowlist secret
    for name in ("http_proxy", "https_proxy") if proxied else ():
        monkeypatch.setenv(name, proxy if proxied == "the server" else proxied)
    monkeypatch.setenv("AWS_CA_BUNDLE", ca_bundle)
    server.otherwise = hang_up
    with pytest.raises((NoAnswer, UsageError)) as caught:
        open_transport(**{"endpoint": server.endpoint, **options}).call(PUT)
    shown = shown_by(caught.value)
    basic = "bWU6aGlkZGVu"  # "me:hidden" in base64
    for secret in ("hidden", basic, "Signature="):
        assert secret not in shown


def test_a_transport_does_not_show_the_password_of_its_endpoint() -> None:
    for kind in (PynamoTransport, DirectTransport, AsyncDirectTransport):
        # pragma: allowlist nextline secret
        assert "endpoint='localhost:8000'" in repr(kind(endpoint="http://me:hidden@localhost:8000"))

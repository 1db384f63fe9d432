"""Over each transport, credentials come from wherever botocore finds them: roles, single sign-on, files, programs."""

import json
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.transport.both_ways import GET
from tests.transport.each_transport import Open
from tests.transport.unruly import Behaviour, Request, Unruly, response

pytestmark = pytest.mark.usefixtures("one_loader")

LATER = (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ")
KEYS = {"AccessKeyId": "ROLE", "SecretAccessKey": "s", "Token": "token", "Expiration": LATER}
ASSUMED = """<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>
<AssumedRoleUser><Arn>arn:aws:sts::111122223333:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>token</SessionToken>
<Expiration>{later}</Expiration></Credentials></{action}Result></{action}Response>"""

Prepare: TypeAlias = Callable[[pytest.MonkeyPatch, Path, str], None]


def services(server: Unruly) -> Behaviour:
    """Answer as the services that give credentials do, and to all else as DynamoDB."""

    def behave(peer: socket.socket, request: Request) -> bool:
        method, path, _ = request.line.split()
        if "x-amz-target" in request.headers:
            peer.sendall(response({}))
        elif b"Action=" in request.body:
            action = "AssumeRoleWithWebIdentity" if b"WebIdentity" in request.body else "AssumeRole"
            peer.sendall(response(None, raw=ASSUMED.format(action=action, later=LATER).encode()))
        elif path.startswith("/federation/credentials"):
            keys = {"accessKeyId": "ROLE", "secretAccessKey": "s", "sessionToken": "token"}
            peer.sendall(response({"roleCredentials": {**keys, "expiration": 4_000_000_000_000}}))
        elif method == "PUT" or path.endswith("/security-credentials/"):
            peer.sendall(response(None, raw=b"text"))
        else:
            peer.sendall(response({"Code": "Success", **KEYS}))
        return True

    return behave


def container(patch: pytest.MonkeyPatch, _: Path, url: str) -> None:
    patch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/container")


def instance(patch: pytest.MonkeyPatch, _: Path, url: str) -> None:
    patch.delenv("AWS_EC2_METADATA_DISABLED")
    patch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)


def configure(patch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    (folder / "config").write_text(text)
    patch.setenv("AWS_CONFIG_FILE", str(folder / "config"))


def assumed_role(patch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    patch.setenv("AWS_ENDPOINT_URL_STS", url)
    configure(
        patch,
        folder,
        "[default]\nregion = eu-west-1\nrole_arn = arn:aws:iam::111122223333:role/r\nsource_profile = own\n"
        "[profile own]\naws_access_key_id = OWN\naws_secret_access_key = s\n",
    )


def web_identity(patch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    (folder / "identity").write_text("a token")
    patch.setenv("AWS_ENDPOINT_URL_STS", url)
    patch.setenv("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/r")
    patch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(folder / "identity"))


def single_sign_on(patch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    start = "https://shop.awsapps.example/start"
    cache = folder / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True)
    token = {"startUrl": start, "region": "eu-west-1", "accessToken": "t", "expiresAt": LATER}
    name = sha1(start.encode(), usedforsecurity=False).hexdigest()
    (cache / f"{name}.json").write_text(json.dumps(token))
    patch.setenv("HOME", str(folder))
    # botocore fixes the folder of its cache when it is imported.
    patch.setattr("botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR", str(cache))
    patch.setenv("AWS_ENDPOINT_URL_SSO", url)
    configure(
        patch,
        folder,
        f"[default]\nregion = eu-west-1\nsso_start_url = {start}\nsso_region = eu-west-1\n"
        "sso_account_id = 111122223333\nsso_role_name = r\n",
    )


@pytest.mark.parametrize(
    "prepare",
    [container, instance, assumed_role, web_identity, single_sign_on],
    ids=lambda one: one.__name__,
)
def test_a_request_is_signed_with_the_credentials_of_the_role(
    prepare: Prepare,
    open_transport: Open,
    server: Unruly,
    log: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    server.otherwise = services(server)
    prepare(monkeypatch, tmp_path, server.endpoint)
    transport = open_transport(region="eu-west-1", endpoint=server.endpoint)
    for _ in range(2):
        assert transport.call(GET) == {}
    to_dynamodb = [one for one in server.requests if "x-amz-target" in one.headers]
    assert [one.scope for one in to_dynamodb] == [("ROLE", "eu-west-1")] * 2
    assert {one.headers["x-amz-security-token"] for one in to_dynamodb} == {"token"}
    assert log() == []

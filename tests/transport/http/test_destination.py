"""Endpoint, region, credentials, trust and proxy are what botocore would find; it is asked where it must be."""

import os
import subprocess
import sys
from calendar import timegm
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from time import strptime
from typing import Any

import pytest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError
from botocore.httpsession import get_cert_path
from botocore.session import Session

from dynaorm.errors import UsageError
from dynaorm.transport.http.credentials import FixedCredentials
from dynaorm.transport.http.destination import ANY_ACCOUNT, Destination, find_destination
from dynaorm.transport.http.exchange import Signer

CONFIG = """
[default]
region = eu-south-1

[profile shop]
region = sa-east-1
aws_access_key_id = SHOP
aws_secret_access_key = s
ca_bundle = /shop.pem
services = local

[services local]
dynamodb =
  endpoint_url = http://localhost:9000/base

[profile secret]
region = us-west-2
aws_access_key_id = GOV
aws_secret_access_key = s
use_fips_endpoint = true
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    return path


def found(region: str | None = None, endpoint: str | None = None, profile: str | None = None) -> Destination:
    return find_destination(region, endpoint, profile)


def keys(destination: Destination) -> tuple[str, str, str | None]:
    frozen = destination.credentials.get_frozen_credentials()
    return frozen.access_key, frozen.secret_key, frozen.token


class Captured(Exception):
    """Raised in place of sending a request."""


def botocores_request(region: str, session: Session) -> Any:
    """A request that botocore makes and would send. Raises what botocore raises."""
    client: Any = session.create_client(
        "dynamodb", region_name=region, config=Config(retries={"total_max_attempts": 1})
    )

    def capture(request: Any, **_: object) -> None:
        raise Captured(request)

    client.meta.events.register("before-send.dynamodb", capture)
    with closing(client), pytest.raises(Captured) as caught:
        client.get_item(TableName="app", Key={"PK": {"S": "a"}})
    return caught.value.args[0]


def our_request(region: str, theirs: Any) -> tuple[str, str]:
    """The URL and the Authorization of the same request over a direct transport."""
    destination = found(region)
    signed_at = timegm(strptime(theirs.headers["X-Amz-Date"].decode(), "%Y%m%dT%H%M%SZ"))
    signer = Signer(destination.endpoint, destination.region)
    keys = destination.credentials.get_frozen_credentials()
    ours = signer.sign("GetItem", theirs.body, keys, signed_at)
    return destination.endpoint.url, ours.headers["Authorization"]


def differences(regions: Iterable[str]) -> list[object]:
    """The requests that differ from botocore's in URL or signature, or are refused by one of the two alone."""
    session = Session()
    different: list[object] = []
    for region in regions:
        try:
            theirs = botocores_request(region, session)
        except BotoCoreError as error:
            try:
                different.append((region, error, found(region)))
            except UsageError:
                continue
        else:
            expected = theirs.url, theirs.headers["Authorization"].decode()
            if (ours := our_request(region, theirs)) != expected:
                different.append((region, ours, expected))
    return different


ALL_REGIONS = [
    *(
        region
        for partition in Session().get_available_partitions()
        for region in Session().get_available_regions("dynamodb", partition, allow_non_regional=True)
    ),
    "us-newregion-9",  # of the commercial partition, by its name
    "us-gov-new-9",
    "moon-base-1",
]


@pytest.mark.parametrize("fips", ["false", "true"])
@pytest.mark.parametrize("dual_stack", ["false", "true"])
def test_requests_go_where_botocores_go_with_the_same_signature(
    fips: str, dual_stack: str, one_loader: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("AWS_USE_FIPS_ENDPOINT", fips), ("AWS_USE_DUALSTACK_ENDPOINT", dual_stack)):
        if value == "true":
            monkeypatch.setenv(name, value)
    assert differences(ALL_REGIONS) == []


@pytest.mark.parametrize("variant", ["NONE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])
@pytest.mark.parametrize("mode", ["", "preferred", "required", "disabled"])
@pytest.mark.parametrize("account", ["", "111122223333", "no label"])
def test_the_default_transport_goes_to_the_endpoint_of_the_account(
    account: str,
    mode: str,
    variant: str,
    one_loader: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCOUNT_ID", account)
    if mode:
        monkeypatch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", mode)
    monkeypatch.setenv(variant, "true")
    session = Session()
    for region in ("eu-west-1", "us-gov-west-1", "us-iso-east-1"):
        try:
            theirs = botocores_request(region, session).url
        except BotoCoreError:
            with pytest.raises(UsageError):
                find_destination(region, None, None, like_botocore=True)
        else:
            ours = find_destination(region, None, None, like_botocore=True)
            assert ours.endpoint.url == theirs, region
            assert (ours.account == account) is (bool(account) and account in theirs)


def test_the_direct_transports_go_to_the_endpoint_of_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCOUNT_ID", "111122223333")
    assert found("eu-west-1").endpoint.host == "dynamodb.eu-west-1.amazonaws.com"


@pytest.mark.parametrize("account", [None, "111122223333"])
def test_the_account_of_given_credentials_decides_over_the_default_transport(account: str | None) -> None:
    given: Any = Credentials("KEY", "s", account_id=account)
    ours = find_destination("eu-west-1", None, None, given, like_botocore=True)
    assert ours.account == account
    host = "dynamodb" if account is None else f"{account}.ddb"
    assert ours.endpoint.host == f"{host}.eu-west-1.amazonaws.com"
    named = find_destination("eu-west-1", "http://localhost:8000", None, given, like_botocore=True)
    assert named.account == ANY_ACCOUNT


def test_the_account_of_a_profile_decides_over_the_default_transport(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile shop]\nregion = eu-west-1\naws_access_key_id = A\naws_secret_access_key = s\n"
        "aws_account_id = 111122223333\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    ours = find_destination(None, None, "shop", like_botocore=True)
    assert ours.endpoint.url == botocores_request("eu-west-1", Session(profile="shop")).url
    assert ours.endpoint.host == "111122223333.ddb.eu-west-1.amazonaws.com"


def test_the_default_transport_trusts_what_botocore_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    def bundle(*, like_botocore: bool) -> str | None:
        return find_destination("eu-west-1", None, None, like_botocore=like_botocore).ca_bundle

    assert bundle(like_botocore=True) == get_cert_path(True)
    assert bundle(like_botocore=False) is None
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/requests.pem")
    assert bundle(like_botocore=True) == bundle(like_botocore=False) == "/requests.pem"


def test_models_in_aws_data_path_decide_over_the_default_transport(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dynamodb" / "2099-01-01"
    folder.mkdir(parents=True)
    folder.joinpath("service-2.json").write_text(
        '{"metadata": {"apiVersion": "2099-01-01", "protocol": "json", "jsonVersion": "1.0", "serviceId": "DynamoDB",'
        ' "endpointPrefix": "dynamodb", "signatureVersion": "v4", "targetPrefix": "X"},'
        ' "operations": {"ListTables": {"name": "ListTables", "http": {"method": "POST", "requestUri": "/"}}},'
        ' "shapes": {}}'
    )
    folder.joinpath("endpoint-rule-set-1.json").write_text(
        '{"version": "1.0", "parameters": {"Region": {"builtIn": "AWS::Region", "required": false, "type": "String"}},'
        ' "rules": [{"type": "endpoint", "conditions": [], "endpoint": {"url": "https://tables.example"}}]}'
    )
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    assert find_destination("eu-west-1", None, None, like_botocore=True).endpoint.host == "tables.example"


def test_credentials_of_the_environment_that_expire_are_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2999-01-01T00:00:00Z")
    credentials = found("us-east-1").credentials
    assert not isinstance(credentials, FixedCredentials)
    assert credentials.get_frozen_credentials().access_key == "testing"


def test_a_destination_does_not_show_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "TOKEN")
    assert "TOKEN" not in repr(found("us-east-1"))
    assert "testing" not in repr(found("us-east-1"))


@pytest.mark.parametrize(
    ("more", "imported"), [({}, False), ({"AWS_PROFILE": "default", "AWS_CONFIG_FILE": "config"}, True)]
)
def test_botocore_is_imported_only_where_the_environment_does_not_say_it_all(
    more: dict[str, str], imported: bool, config: Path
) -> None:
    program = (
        "import sys\n"
        "from dynaorm.transport.direct import DirectTransport\n"
        "from dynaorm.transport.http.destination import find_destination\n"
        "assert find_destination(None, None, None).region == 'eu-west-1'\n"
        "print('botocore' in sys.modules)"
    )
    environment = {**os.environ, "AWS_REGION": "eu-west-1", "AWS_CONFIG_FILE": os.devnull, **more}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=config.parent, capture_output=True, check=True
    )
    assert run.stdout.decode().strip() == str(imported)


@pytest.mark.parametrize("kind", ["environment", "file"])
def test_probes_of_idle_connections_are_asked_for_by_the_aws_configuration(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not find_destination("eu-west-1", None, None).keeps_alive
    if kind == "environment":
        monkeypatch.setenv("BOTOCORE_TCP_KEEPALIVE", "true")
    else:
        config = tmp_path / "config"
        config.write_text("[default]\ntcp_keepalive = true\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert find_destination("eu-west-1", None, None).keeps_alive

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

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.loaders import create_loader
from botocore.session import Session

from dynaorm.errors import UsageError
from dynaorm.transport.http.credentials import FixedCredentials
from dynaorm.transport.http.destination import Destination, find_destination
from dynaorm.transport.http.signed_request import Signer

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


@pytest.fixture
def one_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of botocore share what they read of its data files, which would take most of the time."""
    loader = create_loader()
    monkeypatch.setattr(botocore.session, "create_loader", lambda *_: loader)


@pytest.mark.parametrize("fips", ["false", "true"])
@pytest.mark.parametrize("dual_stack", ["false", "true"])
def test_requests_go_where_botocores_go_with_the_same_signature(
    fips: str, dual_stack: str, one_loader: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("AWS_USE_FIPS_ENDPOINT", fips), ("AWS_USE_DUALSTACK_ENDPOINT", dual_stack)):
        if value == "true":
            monkeypatch.setenv(name, value)
    assert differences(ALL_REGIONS) == []


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"])
@pytest.mark.parametrize("url", ["https://vpce-1.example/base", "http://[::1]:8000/"])
@pytest.mark.parametrize("variant", ["AWS_USE_FIPS_ENDPOINT", "NONE"])
def test_requests_go_to_the_endpoint_that_the_environment_names(
    name: str, url: str, variant: str, one_loader: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, url)
    monkeypatch.setenv(variant, "true")
    assert differences(["us-east-1", "us-gov-west-1", "us-east-1-fips", "local"]) == []
    for region in (None, "eu-west-1", "local"):
        assert found(region, "http://localhost:7000").endpoint.url == "http://localhost:7000/"


def test_the_services_own_endpoint_goes_before_the_general_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:8000")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://localhost:8001")
    assert found("us-east-1").endpoint.port == 8001
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert found("us-east-1").endpoint.url == "https://dynamodb.us-east-1.amazonaws.com/"


def test_a_profile_gives_credentials_region_endpoint_and_trust(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = found(profile="shop")
    assert destination.region == "sa-east-1"
    assert destination.endpoint.url == "http://localhost:9000/base"
    assert destination.ca_bundle == "/shop.pem"
    assert keys(destination) == ("SHOP", "s", None)
    monkeypatch.setenv("AWS_PROFILE", "shop")
    assert found().region == "sa-east-1"
    assert keys(found())[0] == "testing"
    with pytest.raises(UsageError, match=r"\(nobody\) could not be found; name a profile"):
        found(profile="nobody")


def test_a_profiles_kind_of_endpoint_holds(config: Path) -> None:
    destination = found(profile="secret")
    assert destination.endpoint.url == botocores_request("us-west-2", Session(profile="secret")).url
    assert destination.endpoint.url == "https://dynamodb-fips.us-west-2.amazonaws.com/"


def test_a_session_token_is_part_of_the_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("us-east-1").credentials == FixedCredentials("testing", "testing", None)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert keys(found("us-east-1")) == ("testing", "testing", "token")


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
        "from dynaorm.transport.direct.transport import DirectTransport\n"
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

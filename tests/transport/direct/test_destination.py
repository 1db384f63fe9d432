"""Endpoint, region, credentials, trust and proxy are what botocore would find; it is asked where it must be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.exceptions import NoCredentialsError, PartialCredentialsError, ProfileNotFound
from botocore.session import Session

from dynaorm.errors import UsageError
from dynaorm.transport.direct.credentials import FixedCredentials
from dynaorm.transport.direct.destination import Destination, find_destination

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
region = us-gov-west-1
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


def botocores_url(region: str, profile: str | None = None) -> str:
    client = Session(profile=profile).create_client("dynamodb", region_name=region)
    client.close()
    return str(client.meta.endpoint_url)


@pytest.mark.parametrize(
    "region", ["us-east-1", "eu-central-2", "mx-central-1", "cn-north-1", "us-gov-west-1"]
)
def test_a_regions_endpoint_is_the_one_botocore_goes_to(region: str) -> None:
    destination = found(region)
    assert destination.endpoint.url == botocores_url(region) + "/"
    assert destination.region == region
    assert destination.endpoint.is_secure


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", "http://localhost:8000"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://localhost:8001"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
    ],
)
def test_what_the_environment_says_of_the_endpoint_holds(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert found("us-east-1").endpoint.url == botocores_url("us-east-1") + "/"
    assert found("us-east-1").endpoint.url != "https://dynamodb.us-east-1.amazonaws.com/"
    assert found(endpoint="http://localhost:7000").endpoint.url == "http://localhost:7000/"


def test_the_services_own_endpoint_goes_before_the_general_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:8000")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://localhost:8001")
    assert found("us-east-1").endpoint.port == 8001
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert found("us-east-1").endpoint.url == "https://dynamodb.us-east-1.amazonaws.com/"


def test_the_region_is_the_one_given_then_the_environments_then_the_files_then_an_emulators(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = "http://localhost:8000"
    assert found().region == "eu-south-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert found().region == found(endpoint=local).region == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert found().region == found(endpoint=local).region == "eu-west-2"
    assert found("eu-west-3").region == found("eu-west-3", local).region == "eu-west-3"
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    assert found(endpoint=local).region == "us-east-1"


def test_the_environment_alone_gives_the_same_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert found().region == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert found().region == "eu-west-2"


def test_without_any_region_or_endpoint_the_error_says_how_to_give_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match=r"No AWS region is known.*region="):
        found()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError, match=r"No AWS region is known.*region="):
        found()


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
    with pytest.raises(ProfileNotFound):
        found(profile="nobody")


def test_a_profiles_kind_of_endpoint_holds(config: Path) -> None:
    assert found(profile="secret").endpoint.url == botocores_url("us-gov-west-1", "secret") + "/"
    assert found(profile="secret").endpoint.url != found("us-gov-west-1").endpoint.url


def test_a_session_token_is_part_of_the_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("us-east-1").credentials == FixedCredentials("testing", "testing", None)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert keys(found("us-east-1")) == ("testing", "testing", "token")


def test_credentials_of_the_environment_that_expire_are_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2999-01-01T00:00:00Z")
    credentials = found("us-east-1").credentials
    assert not isinstance(credentials, FixedCredentials)
    assert credentials.get_frozen_credentials().access_key == "testing"


def test_without_credentials_the_error_is_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(PartialCredentialsError):
        found("us-east-1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(NoCredentialsError):
        found("us-east-1")


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_a_bundle_of_certificates_is_the_environments(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("us-east-1").ca_bundle is None
    monkeypatch.setenv(name, "/bundle.pem")
    assert found("us-east-1").ca_bundle == "/bundle.pem"


@pytest.mark.parametrize(
    ("more", "imported"), [({}, False), ({"AWS_PROFILE": "default", "AWS_CONFIG_FILE": "config"}, True)]
)
def test_botocore_is_imported_only_where_the_environment_does_not_say_it_all(
    more: dict[str, str], imported: bool, config: Path
) -> None:
    program = (
        "import sys\n"
        "from dynaorm.transport.direct.transport import DirectTransport\n"
        "from dynaorm.transport.direct.destination import find_destination\n"
        "assert find_destination(None, None, None).region == 'eu-west-1'\n"
        "print('botocore' in sys.modules)"
    )
    environment = {**os.environ, "AWS_REGION": "eu-west-1", "AWS_CONFIG_FILE": os.devnull, **more}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=config.parent, capture_output=True, check=True
    )
    assert run.stdout.decode().strip() == str(imported)

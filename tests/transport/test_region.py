"""The Region is the one given, then the environment's, then the profile's, then one for emulators."""

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.region import region_of

LOCAL = "http://localhost:8000"


def test_the_region_is_the_one_given_then_the_environments_then_the_configured_one_then_an_emulators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert region_of(None, LOCAL, lambda: None) == "us-east-1"
    for endpoint in (None, LOCAL):
        assert region_of(None, endpoint, lambda: "eu-west-1") == "eu-west-1"
        with monkeypatch.context() as environment:
            environment.setenv("AWS_REGION", "eu-west-2")
            assert region_of(None, endpoint, lambda: "eu-west-1") == "eu-west-2"
            assert region_of("eu-west-3", endpoint, lambda: "eu-west-1") == "eu-west-3"


@pytest.mark.parametrize("configured", [None, ""])
def test_without_any_region_or_endpoint_the_error_says_how_to_give_one(configured: str | None) -> None:
    with pytest.raises(UsageError, match=r"No AWS region is known.*region="):
        region_of(None, None, lambda: configured)

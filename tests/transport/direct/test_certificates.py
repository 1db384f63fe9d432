"""Certificates are always verified, against those of the environment, the system or botocore."""

import ssl

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.direct.certificates import ssl_context


def test_a_bundle_that_is_not_there_is_named_with_what_to_correct() -> None:
    with pytest.raises(UsageError, match=r"/nowhere\.pem cannot be used.*correct AWS_CA_BUNDLE"):
        ssl_context("/nowhere.pem")


def test_certificates_and_host_names_are_verified() -> None:
    context = ssl_context(None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_system_without_certificates_trusts_those_that_botocore_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = ssl.get_default_verify_paths()._replace(cafile=None, capath=None)  # type: ignore[arg-type]
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    assert ssl_context(None).cert_store_stats()["x509_ca"] > 50

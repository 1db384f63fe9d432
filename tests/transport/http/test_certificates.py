"""Certificates are always verified, against those of the environment, the system or botocore."""

import os
import ssl
from pathlib import Path

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.http.certificates import ssl_context


def test_a_bundle_that_is_not_there_is_named_with_what_to_correct() -> None:
    with pytest.raises(UsageError, match=r"/nowhere\.pem cannot be used.*correct AWS_CA_BUNDLE"):
        ssl_context("/nowhere.pem")


def test_certificates_and_host_names_are_verified() -> None:
    context = ssl_context(None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("kind", ["nothing", "empty directory", "empty file"])
def test_a_system_without_certificates_trusts_those_that_botocore_brings(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    cafile = {"empty file": str(empty)}.get(kind)
    capath = {"empty directory": str(tmp_path)}.get(kind)
    system = ssl.get_default_verify_paths()._replace(cafile=cafile, capath=capath)  # type: ignore[arg-type]  # None for none, says Python's documentation
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: system)
    assert ssl_context(None).cert_store_stats()["x509_ca"] > 50


def test_a_system_with_certificates_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1d3472b9.0").touch()
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    assert ssl_context(None).cert_store_stats()["x509_ca"] == 0

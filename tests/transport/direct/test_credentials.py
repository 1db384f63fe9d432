"""Credentials do not show themselves."""

from dynaorm.transport.direct.credentials import FixedCredentials


def test_credentials_show_neither_secret_nor_token() -> None:
    keys = FixedCredentials("KEY", "secret", "token")
    assert repr(keys) == str(keys) == "FixedCredentials(access_key='KEY')"
    assert keys.get_frozen_credentials() is keys

"""Fixed credentials are their own frozen state, and hide it."""

from dynaorm.transport.http.credentials import FixedCredentials


def test_credentials_do_not_show_themselves() -> None:
    keys = FixedCredentials("KEY", "secret", "token")
    assert repr(keys) == str(keys) == "FixedCredentials(...)"
    assert keys.get_frozen_credentials() is keys

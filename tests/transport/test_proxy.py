"""A proxy is the one that the environment names for an endpoint."""

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.settings import endpoint_of, proxy_of


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "https://a.example", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://a.example", ("http://p:3128", "")),
        ({"https_proxy": "p:3128"}, "https://a.example", ("http://p:3128", "")),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://a.example", None),
        ({"http_proxy": "http://p"}, "http://a.example", ("http://p:80", "")),
        ({"HTTPS_PROXY": "https://p"}, "https://a.example", ("https://p:443", "")),
        ({"HTTPS_PROXY": "http://[::1]:3128"}, "https://a.example", ("http://[::1]:3128", "")),
        # pragma: allowlist nextline secret
        ({"HTTPS_PROXY": "http://me:p%40ss@p:1"}, "https://a.example", ("http://p:1", "Basic bWU6cEBzcw==")),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "https://a.example", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, "https://a.example:8000", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://a.example", None),
        ({"NO_PROXY": "b"}, "https://a.example", None),
    ],
)
def test_a_proxy_is_the_environments_and_not_for_everybody(
    environment: dict[str, str],
    url: str,
    proxy: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    chosen = proxy_of(endpoint_of(url))
    assert (chosen and (chosen.url, chosen.authorization)) == proxy


# pragma: allowlist nextline secret
@pytest.mark.parametrize("url", ["http://", "http://p:99999", "http://me:secret@"])
def test_a_proxy_that_is_no_url_is_refused_without_showing_its_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(UsageError, match="set HTTPS_PROXY") as caught:
        proxy_of(endpoint_of("https://a.example"))
    assert "secret" not in str(caught.value)

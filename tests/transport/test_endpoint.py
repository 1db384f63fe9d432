"""An endpoint's URL has parts, and what is no URL of a server is refused."""

from urllib.parse import urlsplit

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.settings import endpoint_of


def test_the_parts_of_an_endpoint() -> None:
    endpoint = endpoint_of("http://LocalHost:8000")
    assert (endpoint.url, endpoint.is_secure, endpoint.host, endpoint.port) == (
        "http://localhost:8000/",
        False,
        "localhost",
        8000,
    )
    assert (endpoint.authority, endpoint.path) == ("localhost:8000", "/")
    assert endpoint_of("https://[::1]/x").authority == "[::1]"
    assert endpoint_of("https://[::1]/x").port == 443
    assert urlsplit(endpoint_of("https://[::1]/x").url).path == "/x"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "http://a:b@localhost",
        "http://localhost:99999",
        "http://localhost?x=1",
        "http://localhost#x",
        "http://löcalhost",
        "http://local host",
        "http://localhost/\r\nx",
    ],
)
def test_what_is_no_endpoint_is_refused_with_examples(url: str) -> None:
    with pytest.raises(UsageError, match="is not an endpoint of DynamoDB; give a URL like") as caught:
        endpoint_of(url)
    assert "a:b" not in str(caught.value)

"""Which certificates a direct transport trusts."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dynaorm.errors import UsageError
from dynaorm.late import late

if TYPE_CHECKING:
    import ssl

    import botocore
else:
    late(globals(), botocore="botocore", ssl="ssl")


def ssl_context(ca_bundle: str | None) -> "ssl.SSLContext":
    """A context that trusts a bundle of certificates, else the system's; where it has none, botocore's.

    Raises:
        UsageError: the bundle cannot be read.
    """
    if ca_bundle is None:
        system = ssl.get_default_verify_paths()
        # Windows keeps its certificates where Python looks for them by itself.
        ca_bundle = None if system.cafile or system.capath or os.name == "nt" else _botocores_bundle()
    try:
        context = ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        raise UsageError(
            problem=f"The CA bundle {ca_bundle} cannot be used: {error}",
            remedy="correct AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE or the profile's ca_bundle",
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _botocores_bundle() -> str:
    return str(Path(botocore.__file__).with_name("cacert.pem"))

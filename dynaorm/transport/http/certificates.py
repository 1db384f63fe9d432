"""Which certificates own connections trust."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaorm.errors import UsageError
from dynaorm.late import late

if TYPE_CHECKING:
    import ssl
    from importlib import util as importlib_util
else:
    late(globals(), importlib_util="importlib.util", ssl="ssl")


def ssl_context(ca_bundle: str | None) -> ssl.SSLContext:
    """A context that trusts a bundle of certificates, else the system's; if the system has none, botocore's.

    Raises:
        UsageError: the bundle cannot be read.
    """
    if ca_bundle is None:
        # Windows keeps its certificates where Python looks for them by itself.
        ca_bundle = None if os.name == "nt" or _system_has_certificates() else botocores_bundle()
    try:
        context = ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        raise UsageError(
            problem=f"The CA bundle {ca_bundle} cannot be used: {error}",
            remedy="correct AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE or the profile's ca_bundle",
        ) from error
    # Set by Python 3.13 and later. botocore does without, and many a company's own authority fails it.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context


def _system_has_certificates() -> bool:
    """Whether OpenSSL would find any: it also accepts an empty file or directory, and then trusts no server."""
    system = ssl.get_default_verify_paths()
    if system.cafile and Path(system.cafile).stat().st_size:
        return True
    # OpenSSL finds the certificates of a directory by names like 1d3472b9.0 alone.
    return bool(system.capath) and any(Path(system.capath).glob("*.0"))


def botocores_bundle() -> str | None:
    """The certificates that botocore trusts: those of certifi, if it is installed; None without botocore."""
    certifi: Any = sys.modules.get("certifi")
    if certifi is not None:
        return str(certifi.where())
    # Neither of them is imported for the name of a file.
    for package in ("certifi", "botocore"):
        spec = importlib_util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            bundle = Path(folder, "cacert.pem")
            if bundle.is_file():
                return str(bundle)
    return None

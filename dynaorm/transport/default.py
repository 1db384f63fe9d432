"""The choice between own connections and pynamodb, for threads and for asyncio.

What needs pynamodb is listed where it is found:

- in the process, such as a mock or a tracer: ``botocore_hooks``;
- in the environment, the AWS configuration and the credentials: what raises ``OnlyBotocore``, in ``http/destination``
  and ``http/exchange``;
- the settings file of pynamodb, the plugins of botocore, and tables that are named by an ARN: the functions below.
"""

import os
import time
from typing import TYPE_CHECKING, Final

from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Reply
from dynaorm.flow.read import tables_in
from dynaorm.late import late
from dynaorm.transport.botocore_hooks import need_of_botocore
from dynaorm.transport.direct import DirectSettings, DirectTransport
from dynaorm.transport.http.destination import Destination, OnlyBotocore, find_destination, has_content
from dynaorm.transport.process import later
from dynaorm.transport.settings import Endpoint

if TYPE_CHECKING:
    import logging

    from pynamodb import settings as pynamodb_settings

    from dynaorm.transport import pynamodb
else:
    late(
        globals(),
        logging="logging",
        pynamodb="dynaorm.transport.pynamodb",
        pynamodb_settings="pynamodb.settings",
    )

_PYNAMODBS_FILE: Final = "/etc/pynamodb/global_default_settings.py"


class Choice(DirectSettings):
    """A direct transport that steps aside.

    Rule 1. What is set is looked at with the first call, and decides for all. What is in the process is asked at every
            call, because it can begin and end at any time.
    Rule 2. Own connections do all that botocore's client would do, or step aside.
    Rule 3. Whoever steps aside says why: one line of the log for each reason.
    """

    _aside: "pynamodb.PynamoTransport | None" = None

    _explained: frozenset[str] = frozenset()

    @property
    def server(self) -> Endpoint | None:
        """The server that requests are sent to; None before the first call."""
        return self._server or (None if self._aside is None else self._aside.server)

    def _find_destination(self) -> "Destination | pynamodb.PynamoTransport":
        reason = _setting_for_botocore()
        try:
            if not reason:
                destination = find_destination(
                    self.region, self.endpoint, self.profile, self._credentials, like_botocore=True
                )
                self._server = destination.endpoint
                return destination
        except OnlyBotocore as only:
            reason = str(only)
        return self._stepped_aside(reason)

    def _stepped_aside(self, reason: str) -> "pynamodb.PynamoTransport":
        """What carries the calls instead."""
        if reason not in self._explained:
            self._explained |= {reason}
            logging.getLogger("dynaorm").info(
                "requests go through pynamodb and botocore, which takes more CPU time, because %s", reason
            )
        try:
            # Threads that come here at once use the same one.
            return self._aside or vars(self).setdefault("_aside", self._over_pynamodb())
        except ModuleNotFoundError as error:
            raise UsageError(
                problem=f"Requests must go through pynamodb and botocore, because {reason}; {error}",
                remedy="install what is missing, or give a DirectTransport",
            ) from error


def need_of(call: Call) -> str:
    """Why pynamodb must carry a call, as the end of a sentence; "" if nothing needs it."""
    if reason := need_of_botocore():
        return reason
    # botocore sends it to the endpoint of the table's account.
    for name in tables_in(call.request):
        if name.startswith("arn:"):
            return "the name of a table is an ARN"
    return ""


def _setting_for_botocore() -> str:
    if os.environ.get("BOTOCORE_EXPERIMENTAL__PLUGINS"):
        return "BOTOCORE_EXPERIMENTAL__PLUGINS names plugins of botocore"
    file = os.environ.get("PYNAMODB_CONFIG", _PYNAMODBS_FILE)
    if has_content(file) and pynamodb_settings.get_settings_value("extra_headers"):
        return "the settings file of pynamodb has extra_headers"
    return ""


class DefaultTransport(Choice, DirectTransport):
    """Carries calls over connections of its own, or through pynamodb where something needs botocore.

    Threads may share it. Nothing is opened or read from the environment before the first call.
    """

    def call(self, call: Call, /) -> Reply:
        """Make one attempt. Raises what ``DirectTransport.call`` raises."""
        if reason := need_of(call):
            return self._stepped_aside(reason).call(call)
        began = time.monotonic()
        try:
            return super().call(call)
        except OnlyBotocore as only:
            return self._stepped_aside(str(only)).call(later(call, time.monotonic() - began))

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        super().close()
        if self._aside is not None:
            self._aside.close()

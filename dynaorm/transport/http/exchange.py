"""What is done besides sending: a call becomes a signed request, and an answer its reply.

DynamoDB refuses a signature that differs by some minutes from its own clock. That refusal brings its time along, which
is then used for signing: the call may be repeated at once, because it was not carried out.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from dynaorm.flow.protocol.call import Call, Refusal, Reply
from dynaorm.flow.protocol.retry import WRONG_CLOCK
from dynaorm.item.json_body import encode_body
from dynaorm.late import late
from dynaorm.transport.answer import reply_of
from dynaorm.transport.http.credentials import AskedCredentials, Credentials
from dynaorm.transport.http.destination import ANY_ACCOUNT, Destination, OnlyBotocore
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.http.signed_request import USER_AGENT, SignedRequest, Signer

if TYPE_CHECKING:
    from email import utils as email_utils
else:
    late(globals(), email_utils="email.utils")

SKEW_SECONDS = 60.0
"""A smaller difference is not why a signature was refused: DynamoDB allows five minutes."""

# What AWS services call a signature of another time (service-error-classification in the AWS SDK for JavaScript).
_SIGNATURE_REFUSED = frozenset(
    {
        "AuthFailure",
        "InvalidSignatureException",
        "RequestExpired",
        "RequestInTheFuture",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)

_PLAIN_IN_A_TRACE: Final = "-=;:+&[]{}\"',"
_NOT_IN_A_USER_AGENT: Final = r"[^A-Za-z0-9!$%&'*+\-.^_`|~,]"


class Exchange:
    """Makes the requests to one destination and reads its answers. It may be shared by threads."""

    def __init__(self, destination: Destination) -> None:
        self._credentials = destination.credentials
        self._account = destination.account
        self._agent = f"User-Agent: {_user_agent(destination.application)}\r\n"
        self._is_in_lambda = "AWS_LAMBDA_FUNCTION_NAME" in os.environ
        self._signer = Signer(destination.endpoint, destination.region)
        self._offset = 0.0

    @property
    def may_block(self) -> bool:
        """Whether asking for credentials now may wait for a service or a program."""
        return isinstance(self._credentials, AskedCredentials) and self._credentials.may_block()

    def credentials(self) -> Credentials:
        """The credentials of this moment.

        Raises:
            UsageError: there are none, or they have expired.
            NoAnswer: the service that gives them did not answer; nothing was sent to DynamoDB.
            OnlyBotocore: they are of another AWS account than the endpoint.
        """
        found = self._credentials.get_frozen_credentials()
        if self._account != ANY_ACCOUNT and (getattr(found, "account_id", None) or None) != self._account:
            raise OnlyBotocore("the credentials are now of another AWS account, which has another endpoint")
        return found

    def request(self, call: Call, credentials: Credentials) -> SignedRequest:
        """The request that carries a call, signed now."""
        now = time.time() + self._offset
        unsigned = self._agent + _trace_line() if self._is_in_lambda else self._agent
        return self._signer.sign(
            call.operation, encode_body(call.request), credentials, now, unsigned=unsigned
        )

    def reply(self, operation: str, request: SignedRequest, answer: HttpAnswer) -> Reply:
        """The reply in the answer to a request.

        Raises:
            Refusal: DynamoDB said no; ``WRONG_CLOCK`` if a repetition will be signed with DynamoDB's time.
            NoAnswer: the answer does not say what became of the request.
        """
        try:
            return reply_of(operation, answer.status, answer.headers, answer.body)
        except Refusal as refusal:
            date = answer.headers.get("date", "")
            if refusal.code in _SIGNATURE_REFUSED and self._set_clock(request, date):
                raise Refusal(WRONG_CLOCK, refusal.message, request_id=refusal.request_id) from refusal
            raise

    def _set_clock(self, request: SignedRequest, date: str) -> bool:
        """Use the server's time from now on; whether the request was signed with another."""
        try:
            theirs = email_utils.parsedate_to_datetime(date).timestamp()
        except (ValueError, OverflowError):
            return False
        if abs(theirs - request.signed_at) < SKEW_SECONDS:
            return False
        self._offset = theirs - time.time()
        return True


def _user_agent(application: str) -> str:
    """The User-Agent header. AWS's SDKs put the name of the program there in the same way."""
    if not application:
        return USER_AGENT
    return f"{USER_AGENT} app/{re.sub(_NOT_IN_A_USER_AGENT, '-', application)}"


def _trace_line() -> str:
    """The header line that lets X-Ray follow an invocation of Lambda, and Lambda notice a loop; "" for none."""
    trace = os.environ.get("_X_AMZN_TRACE_ID")
    # As the AWS SDKs quote it.
    return f"X-Amzn-Trace-Id: {quote(trace, safe=_PLAIN_IN_A_TRACE)}\r\n" if trace else ""

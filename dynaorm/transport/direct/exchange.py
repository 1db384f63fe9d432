"""What the direct transports do besides sending: a call becomes a signed request, and an answer its reply.

DynamoDB refuses a signature that is more than some minutes off its own clock. Such a refusal brings its time along,
which is remembered: the call may be repeated at once, because nothing of it was carried out.
"""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from dynaorm.flow.protocol.call import Call, Refusal, Reply
from dynaorm.flow.protocol.retry import WRONG_CLOCK
from dynaorm.item.json_body import encode_body
from dynaorm.transport.answer import reply_of
from dynaorm.transport.direct.credentials import Credentials
from dynaorm.transport.direct.destination import Destination
from dynaorm.transport.direct.signed_request import SignedRequest, Signer

SKEW_SECONDS = 60.0
"""Clocks that differ by less are not why a signature was refused: DynamoDB allows five minutes."""

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


class Exchange:
    """Requests to one destination and what came of them. It may be shared by threads."""

    def __init__(self, destination: Destination) -> None:
        self._signer = Signer(destination.endpoint, destination.region)
        self._offset = 0.0

    def request(self, call: Call, credentials: Credentials) -> SignedRequest:
        """The request that carries a call, signed now."""
        now = time.time() + self._offset
        return self._signer.sign(call.operation, encode_body(call.request), credentials, now)

    def reply(self, request: SignedRequest, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply in the answer to a request. ``headers`` are asked for by names in lower case.

        Raises:
            Refusal: DynamoDB said no; ``WRONG_CLOCK`` where a repetition will be signed with its time.
            NoAnswer: the answer does not tell what became of the request.
        """
        try:
            return reply_of(status, headers, body)
        except Refusal as refusal:
            if refusal.code in _SIGNATURE_REFUSED and self._set_clock(request, headers.get("date", "")):
                raise Refusal(WRONG_CLOCK, refusal.message, request_id=refusal.request_id) from refusal
            raise

    def _set_clock(self, request: SignedRequest, date: str) -> bool:
        """Take over the server's time: whether the request was signed with another."""
        try:
            theirs = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return False
        if abs(theirs - request.signed_at) < SKEW_SECONDS:
            return False
        self._offset = theirs - time.time()
        return True

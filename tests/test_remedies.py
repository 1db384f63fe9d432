"""A refusal is followed by its own remedy, whoever makes the error of it, and shows no signed header."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.errors import UnexpectedRefusal
from dynaorm.flow.call import Call, Refusal
from dynaorm.flow.read import error_of_refusal
from dynaorm.remedies import is_denial, remedy_of_refusal
from dynaorm.transport.answer import failure_of

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
OTHERWISE = "check the permissions and the table's definition"

EXPECTED = {
    "ExpiredToken": "get new credentials: log in again",
    "TokenRefreshRequired": "get new credentials: log in again",
    "UnrecognizedClient": "the access key must exist, be active",
    "InvalidClientTokenId": "the access key must exist, be active",
    "InvalidAccessKeyId": "the access key must exist, be active",
    "AuthFailure": "the access key must exist, be active",
    "InvalidSignature": "check that the secret access key belongs to the access key",
    "SignatureDoesNotMatch": "check that the secret access key belongs to the access key",
    "RequestTimeTooSkewed": "set the clock of this machine",
    "RequestExpired": "set the clock of this machine",
    "RequestInTheFuture": "set the clock of this machine",
    "MissingAuthenticationToken": "a proxy that removes or changes the header Authorization",
    "IncompleteSignature": "a proxy that removes or changes the header Authorization",
    "AccessDenied": "allow it: dynaorm.iam.iam_policy",
    "NotAuthorized": "allow it: dynaorm.iam.iam_policy",
    "OptInRequired": "enable the Region or the service",
    "SubscriptionRequired": "enable the Region or the service",
}


@pytest.mark.parametrize("suffix", ["", "Exception"])
@pytest.mark.parametrize("code", EXPECTED)
def test_each_refusal_of_credentials_signature_or_permission_has_its_own_remedy(
    code: str, suffix: str
) -> None:
    error = error_of_refusal(Refusal(code + suffix, "no"), GET)
    assert EXPECTED[code] in str(error)
    assert OTHERWISE not in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("code", ["ValidationException", "LimitExceededException", "Strange", ""])
def test_any_other_refusal_keeps_the_general_remedy(code: str) -> None:
    assert OTHERWISE in str(error_of_refusal(Refusal(code, "no"), GET))
    assert remedy_of_refusal(code, "no") is None


def test_a_remedy_that_is_given_stays() -> None:
    error = UnexpectedRefusal(
        code="ExpiredToken", message="m", request_id="", reasons=(), action="", remedy="wait"
    )
    assert error.remedy == "wait"


@pytest.mark.parametrize(
    "message", ["Signature expired: 1 is now earlier than 2", "Signature not yet current"]
)
def test_a_signature_of_another_time_is_a_matter_of_the_clock(message: str) -> None:
    assert "set the clock" in str(error_of_refusal(Refusal("InvalidSignatureException", message), GET))


def test_a_denial_names_the_operation_and_the_table() -> None:
    assert [is_denial(code) for code in ("AccessDenied", "AccessDeniedException", "ExpiredToken")] == [
        True,
        True,
        False,
    ]
    assert "these credentials may not do GetItem on 'app'" in str(
        error_of_refusal(Refusal("NotAuthorized", "no"), GET)
    )


QUOTING = [
    "{said}\n\nThe Canonical String for this request should have been\n'POST\n/\n\nx-amz-security-token:{secret}\n'",
    "{said} Authorization=AWS4-HMAC-SHA256 Credential={secret}/20260101/us-east-1/dynamodb/aws4_request",
    "{said} (hashed with SHA-256 and encoded with Base64): '{secret}'",
    "{said} The Canonical String was {secret}",
]


@given(
    st.sampled_from(sorted(set(EXPECTED) - {"AccessDenied", "NotAuthorized"})),
    st.sampled_from(["", "Exception"]),
    st.sampled_from(QUOTING),
    st.text("ABCdef0123/+=", min_size=16),
)
def test_no_refusal_repeats_what_was_signed(code: str, suffix: str, form: str, secret: str) -> None:
    message = form.format(said="The request signature does not match.", secret=secret)
    refusal = failure_of(400, {"__type": f"x#{code}{suffix}", "message": message}, "R1")
    assert isinstance(refusal, Refusal)
    assert refusal.message == "The request signature does not match."
    assert secret not in json.dumps([repr(refusal), str(error_of_refusal(refusal, GET))])


def test_the_message_of_a_denial_stays_whole() -> None:
    message = "User: arn:aws:iam::1:user/me is not authorized to perform: dynamodb:GetItem\non resource: x"
    refusal = failure_of(400, {"__type": "x#AccessDeniedException", "message": message}, "R1")
    assert refusal.args[1] == message


def test_a_missing_index_is_refused_with_how_to_create_it() -> None:
    query = Call("Query", {"TableName": "app", "IndexName": "GSI1"})
    refusal = Refusal("ValidationException", "The table does not have the specified index: GSI1")
    assert str(error_of_refusal(refusal, query)).endswith(
        "create it: apply the table, which also completes what was stored without its keys"
    )

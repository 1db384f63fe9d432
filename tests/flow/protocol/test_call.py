"""The words of a conversation carry what was said."""

from dynaorm.flow.call import NoAnswer, Reason, Refusal


def test_a_refusal_carries_everything_dynamodb_said() -> None:
    reasons = (None, Reason("ConditionalCheckFailed", "no", {"PK": {"S": "x"}}))
    refusal = Refusal("Code", "words", reasons=reasons, item={"PK": {"S": "y"}}, request_id="r")
    assert (refusal.code, refusal.message, refusal.request_id) == ("Code", "words", "r")
    assert (refusal.reasons, refusal.item) == (reasons, {"PK": {"S": "y"}})
    assert str(refusal) == "('Code', 'words')"


def test_silence_tells_whether_the_request_may_have_left() -> None:
    assert NoAnswer("timeout").sent
    assert not NoAnswer("connection refused", sent=False).sent
    assert NoAnswer("timeout").reason == "timeout"

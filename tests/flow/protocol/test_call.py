"""The words of a conversation carry what was said."""

import pickle

from dynaorm.flow.protocol.call import Call, Clock, NoAnswer, Reason, Refusal, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.scripted import ScriptedTransport
from dynaorm.transport.clock import SystemClock


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


def test_a_call_is_a_value() -> None:
    assert Call("GetItem", {"TableName": "t"}) == Call("GetItem", {"TableName": "t"})
    assert pickle.loads(pickle.dumps(Call("GetItem", {}))) == Call("GetItem", {})


def test_clocks_and_transports_fit_their_protocols() -> None:
    clocks: list[Clock] = [FakeClock(), SystemClock()]
    transports: list[Transport] = [ScriptedTransport()]
    for clock in clocks:
        assert 0 <= clock.jitter() < 1
        assert 1 <= len(clock.new_id()) <= 36
        assert clock.new_id() != clock.new_id()
        assert clock.monotonic() <= clock.monotonic()
    assert len(transports) == 1

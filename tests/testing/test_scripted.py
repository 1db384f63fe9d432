"""A scripted transport gives its answers in order, and says clearly when it has none left."""

import pytest

from dynaorm.testing import ScriptedTransport
from dynaorm.transport import Call, NoAnswer, Refusal, Reply, Transport


def test_answers_come_in_order_and_calls_are_remembered() -> None:
    transport = ScriptedTransport({"n": 1}, {"n": 2})
    heard: Transport = transport
    calls = [Call("GetItem", {"Key": {}}), Call("Query", {})]
    assert [heard.call(call) for call in calls] == [{"n": 1}, {"n": 2}]
    assert transport.calls == calls
    assert transport.remaining == 0


@pytest.mark.parametrize("failure", [Refusal("ThrottlingException"), NoAnswer("timeout")])
def test_a_failure_in_the_script_is_raised_as_it_is(failure: Refusal | NoAnswer) -> None:
    with pytest.raises(type(failure)) as caught:
        ScriptedTransport(failure).call(Call("GetItem", {}))
    assert caught.value is failure


def test_a_function_in_the_script_is_given_the_call_and_may_refuse() -> None:
    def echo(call: Call) -> Reply:
        return {"heard": call.operation}

    def refuse(call: Call) -> Reply:
        raise Refusal("ValidationException", call.operation)

    transport = ScriptedTransport(echo, refuse)
    assert transport.call(Call("Scan", {})) == {"heard": "Scan"}
    with pytest.raises(Refusal, match="Query"):
        transport.call(Call("Query", {}))


def test_an_exhausted_script_names_the_calls_made_and_the_request() -> None:
    transport = ScriptedTransport({})
    transport.call(Call("PutItem", {}))
    with pytest.raises(
        AssertionError, match=r"1 answer, and call 2 was made: PutItem, GetItem.*'app'.*Add an"
    ):
        transport.call(Call("GetItem", {"TableName": "app"}))

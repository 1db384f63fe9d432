"""A transport that answers from a script and records the calls."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dynaorm.failure import counted
from dynaorm.flow.protocol.call import Call, NoAnswer, Refusal, Reply

Answer: TypeAlias = Mapping[str, Any] | Refusal | NoAnswer | Callable[[Call], Reply]
"""A reply, a failure to raise, or a function of the call that returns or raises one."""


class ScriptedTransport:
    """A ``Transport`` that gives one answer per call, in order.

    ``calls`` holds every call, including those that were refused or not answered.

    Args:
        *answers: replies, failures, or functions of the call.

    Examples:
        >>> transport = ScriptedTransport({"Item": {"PK": {"S": "USER#1"}}}, NoAnswer("timeout"))
        >>> transport.call(Call("GetItem", {}))
        {'Item': {'PK': {'S': 'USER#1'}}}
        >>> transport.remaining
        1
    """

    def __init__(self, *answers: Answer) -> None:
        self.calls: list[Call] = []
        self._answers = deque(answers)

    @property
    def remaining(self) -> int:
        """The number of answers that are left."""
        return len(self._answers)

    def call(self, call: Call, /) -> Reply:
        """Return or raise the next answer.

        Args:
            call: the request.

        Raises:
            Refusal, NoAnswer: the next answer is one.
            AssertionError: the script has no answer left; the message lists the calls.

        Examples:
            >>> ScriptedTransport({"TableNames": []}).call(Call("ListTables", {}))
            {'TableNames': []}
        """
        self.calls.append(call)
        if not self._answers:
            raise AssertionError(self._exhausted())
        answer = self._answers.popleft()
        if isinstance(answer, Refusal | NoAnswer):
            raise answer
        return answer(call) if callable(answer) else answer

    def _exhausted(self) -> str:
        operations = ", ".join(call.operation for call in self.calls)
        answers = counted(len(self.calls) - 1, "answer")
        return (
            f"The script has {answers}, and call {len(self.calls)} was made: {operations}. "
            f"Its request: {self.calls[-1].request!r}. Add an answer, or remove the call"
        )

"""A transport that answers from a script and remembers what it heard."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dynaorm.flow.protocol.call import Call, NoAnswer, Refusal, Reply

Answer: TypeAlias = Mapping[str, Any] | Refusal | NoAnswer | Callable[[Call], Reply]
"""A reply, a failure to raise, or a function of the call that gives or raises one."""


class ScriptedTransport:
    """Gives one answer per call, in order (the ``Transport`` protocol).

    ``calls`` holds every call made, also those that were refused or went unanswered.

    Example:
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
        """How many answers nobody has asked for."""
        return len(self._answers)

    def call(self, call: Call, /) -> Reply:
        """Give the next answer.

        Raises:
            Refusal: the script says so.
            NoAnswer: the script says so.
            AssertionError: the script has no answer left; the message lists the calls made.
        """
        self.calls.append(call)
        if not self._answers:
            raise AssertionError(self._exhausted())
        answer = self._answers.popleft()
        if isinstance(answer, Refusal | NoAnswer):
            raise answer
        return answer(call) if callable(answer) else answer

    def _exhausted(self) -> str:
        heard = ", ".join(call.operation for call in self.calls)
        return (
            f"The script has {len(self.calls) - 1} answers, and call {len(self.calls)} was made: {heard}. "
            f"Its request: {self.calls[-1].request!r}. Add an answer, or find out why the call was made"
        )

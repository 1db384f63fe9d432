"""Rules of state machines that count what they did: a machine whose calls are always refused proves nothing."""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from hypothesis import settings, stateful
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


class CountingMachine(RuleBasedStateMachine):
    """A machine that counts, rule by rule, the operations that were made and those that were refused."""

    made: ClassVar[Counter[str]] = Counter()
    refused: ClassVar[Counter[str]] = Counter()
    running = "begin"

    def note(self, *, is_made: bool) -> None:
        """Count an operation of the rule that runs."""
        (self.made if is_made else self.refused)[self.running] += 1


def rule(**values: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Hypothesis's ``rule`` for a machine that counts."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(self: CountingMachine, *given: Any, **drawn: Any) -> None:
            self.running = function.__name__
            function(self, *given, **drawn)

        made: Any = stateful.rule(**values)
        return made(run)  # type: ignore[no-any-return]  # hypothesis declares no types for it

    return decorated


def run_counted(machine: type[CountingMachine], settings: settings, *, chance: int = 20) -> None:
    """Run a machine. It fails if a rule was refused more often than by chance, and never made."""
    machine.made, machine.refused = Counter(), Counter()
    run_state_machine_as_test(machine, settings=settings)
    check_made(machine.made, machine.refused, chance)


def check_made(made: Counter[str], refused: Counter[str], chance: int = 20) -> None:
    """Fails if something was refused often and never made. A few refusals may be chance."""
    never = [name for name, count in refused.items() if count >= chance and not made[name]]
    assert not never, f"refused and never made: {never}"

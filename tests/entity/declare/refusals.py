"""Tables of class declarations that must be refused, each with the problems that the error must name."""

from collections.abc import Callable
from typing import Generic, NamedTuple, ParamSpec

import pytest

from dynaorm.errors import DeclarationError

P = ParamSpec("P")


class Refusal(NamedTuple, Generic[P]):
    """A function that declares a class, and why that must fail."""

    declare: Callable[P, None]
    entity: str
    problems: tuple[str, ...]

    def check(self, *args: P.args, **kwargs: P.kwargs) -> None:
        with pytest.raises(DeclarationError) as caught:
            self.declare(*args, **kwargs)
        assert (caught.value.entity, caught.value.problems) == (self.entity, self.problems)
        assert str(caught.value) == "\n  - ".join([f"Cannot map class {self.entity}:", *self.problems])


class Refusals(Generic[P]):
    """``@refused("problem")`` adds a function to the table; ``@refused.each`` gives a test its ``case``."""

    def __init__(self, entity: str) -> None:
        self._entity = entity
        self._cases: list[Refusal[P]] = []

    def __call__(self, *problems: str) -> Callable[[Callable[P, None]], None]:
        def add(declare: Callable[P, None]) -> None:
            self._cases.append(Refusal(declare, self._entity, problems))

        return add

    @property
    def each(self) -> pytest.MarkDecorator:
        return pytest.mark.parametrize("case", self._cases, ids=[one.declare.__name__ for one in self._cases])

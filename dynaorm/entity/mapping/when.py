"""``when=``: under which condition an entity is in an index, claims a unique value, or is counted in a total.

Rule 1. It is judged on the stored item, and an absent attribute means the default of the field.
Rule 2. A condition of ``F`` names the fields that it depends on. A function may look at any field of the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynaorm.entity.failing import REMEDY
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.marker import GivenWhen
from dynaorm.errors import DynaormError, InvalidValue, UsageError
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.item import condition, field
    from dynaorm.item.condition import Condition
else:
    late(globals(), field="dynaorm.item.field", condition="dynaorm.item.condition")


@record
class When:
    """A condition as it was declared, and what it means for stored items.

    Attributes:
        owner: what is declared with it: ``Issue.open_issues``.
        given: the declared condition or function.
        fields: the fields that it depends on: those that the condition names; for a function, all of the class.
        condition: the condition on attribute names and attribute values; None for a function.
    """

    owner: str
    given: GivenWhen
    fields: frozenset[str]
    condition: Condition | None = None

    @property
    def named(self) -> frozenset[str]:
        """The fields that a condition names; none for a function, which says nothing about its fields."""
        return self.fields if self.condition is not None else frozenset()

    def holds(self, values: StoredValues) -> bool:
        """Whether it holds for a stored entity.

        Raises:
            DecodeError: the item cannot become an entity.
            InvalidValue: a function fails.
            UsageError: a function looks at a total, which changes without asking the function again.
        """
        if self.condition is not None:
            return condition.holds(self.condition, values.item)
        assert callable(self.given)  # a condition is translated, and is no function
        entity = values.entity
        try:
            return bool(self.given(entity))
        except DynaormError:
            raise
        except Exception as raised:  # noqa: BLE001 - a function of the user's may raise anything
            raise self._failed(values, raised) from values.errors.cause_of_function(raised)

    def _failed(self, values: StoredValues, raised: Exception) -> UsageError:
        keeper = values.keeper_of(raised.name) if isinstance(raised, AttributeError) else None
        if isinstance(raised, AttributeError) and keeper is not None:
            return UsageError(
                problem=f"when= of {self.owner} looks at {raised.name}, which {keeper} keeps without asking it again",
                remedy="let it look at fields that are saved",
            )
        # Only a ValueError says why it refuses a value.
        text = f": {raised}" if isinstance(raised, ValueError) and not values.errors.secrets.fields else ""
        problem = f"when= of {self.owner} raises {type(raised).__name__}{text}"
        entity = type(values.entity).__name__
        return InvalidValue(
            entity=entity, field="", value=None, has_value=False, problem=problem, remedy=REMEDY
        )

    def text(self, secret: frozenset[str] = frozenset()) -> str:
        """The condition in words: ``F.status == 'open'``; nothing for a function, which cannot be shown."""
        return "" if callable(self.given) else field.condition_text(self.given, secret)


def declared_when(owner: str, given: GivenWhen | None, known: frozenset[str]) -> When | None:
    """A condition that is not translated yet: it may depend on every field. None for none."""
    return None if given is None else When(owner, given, known)

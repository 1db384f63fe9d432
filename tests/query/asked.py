"""What is asked of one key: the keys that DynamoDB gives, and what is left of them after the tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.key_part import KeyPart
from dynaorm.item.condition import Condition, holds
from dynaorm.item.value import AttributeValue
from dynaorm.query.key_range import Bound, CompiledRange, fitting, range_condition


class Asked:
    """A key whose leading fields have values and whose next field has bounds.

    ``is_foreign``: other writers may have written the key.
    """

    def __init__(
        self,
        part: KeyPart,
        equal: Mapping[str, Any],
        bounds: Sequence[Bound],
        *,
        is_foreign: bool = False,
    ) -> None:
        bounded = bounds[0].field if bounds else None
        operators = [one.operator for one in bounds]
        self.part = part
        self.form = CompiledRange(part, equal.keys(), bounded, operators, is_foreign=is_foreign)
        self.keys = self.form.keys(equal, bounds)
        self._given = equal, bounds
        self.condition: Condition | None = (
            None if self.is_empty else range_condition(part.attribute, self.keys)
        )

    @property
    def is_empty(self) -> bool:
        return self.keys.is_empty

    def reads(self, key: AttributeValue) -> bool:
        """Whether DynamoDB gives a key."""
        return not self.is_empty and (self.condition is None or holds(self.condition, {"SK": key}))

    def finds(self, values: Mapping[str, Any]) -> bool:
        """Whether an entity is found. What its key says must not contradict its values."""
        key = self.part.value(values)
        assert key is not None
        if not self.reads(key):
            return False
        tests = self.form.tests(*self._given)
        found = self.form.is_exact or fitting(tests)(values)
        by_key = self.form.by_key(key, self.keys, tests)
        assert by_key is None or by_key == found, (key, values)
        return found

    def by_key(self, key: Any) -> bool | None:
        """Whether a key that DynamoDB gives is wanted; None if only the values tell."""
        stored: Any = {self.part.attribute.kind: key}
        return self.reads(stored) and self.form.by_key(stored, self.keys, self.form.tests(*self._given))

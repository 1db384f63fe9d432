"""How other libraries store a value: as another text or number than dynaorm would, or as JSON or compressed text.

Rule 1. A form that drops a part of a value (milliseconds drop microseconds) stores what is left, and a save puts that
        on the object.
Rule 2. A condition compares values. So a bound that a form would cut is written as something between the two stored
        values next to it.
"""

from __future__ import annotations

from collections.abc import Callable

from dynaorm.entity.text.scalar import Scalar
from dynaorm.item.value import AttributeValue
from dynaorm.record import record


@record
class StoredForm:
    """The form in which a field is stored, for ``Attribute(codec=...)``. The forms are in ``dynaorm.codecs``.

    Attributes:
        name: its name there.
        scalar: the form of a type whose values have one text, also in keys and unique values; None for a form that
            wraps what the field's type is stored as.
        wrap: what a wrapping form makes of the attribute value of the field's type; raises ValueError.
        unwrap: the reverse.
        inner: the types of attribute value that it can wrap; empty for all.
        tag: the type of attribute value that it makes.
    """

    name: str
    scalar: Scalar | None = None
    wrap: Callable[[AttributeValue], AttributeValue] = dict
    unwrap: Callable[[AttributeValue], AttributeValue] = dict
    inner: frozenset[str] = frozenset()
    tag: str = "S"

    def __repr__(self) -> str:
        return f"codecs.{self.name}"

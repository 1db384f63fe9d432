"""The errors of one class: about values that are to be stored, and about stored items. None shows a secret.

Rule 1. What is wrong with values is an InvalidValue, which names the first problem. What is wrong with a stored item is
        a DecodeError, which has every problem.
Rule 2. A function of the class that fails, and not by ValueError, is named in place of its error (``failing``).
Rule 3. The cause is what was raised, unless its traceback could show a secret: an error of pydantic quotes the values
        that were validated together, and a function may have been shown all values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from dynaorm.entity.failing import REMEDY, blamed, original
from dynaorm.entity.mapping.key_fields import KeyFields
from dynaorm.entity.mapping.secret import Secrets, masked, unsaid, unsaid_stored
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.failure import remedy_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record


@record(eq=False)
class ClassErrors:
    """Makes the errors of a class.

    Attributes:
        entity: the class.
        secrets: what is secret in it.
        key_of: the primary key of a stored item, as messages show it.
    """

    entity: type[BaseModel]
    secrets: Secrets
    key_of: Callable[[Item], Mapping[str, AttributeValue]]

    # -- values that are to be stored ----------------------------------------------------------------------------------

    def invalid(self, field: str, value: object, problem: str | Exception, remedy: str = "") -> InvalidValue:
        """The error for a value. A secret is masked; ``error.value.get_secret_value()`` returns it."""
        remedy = remedy or remedy_of(problem)
        given: dict[str, Any] = {"remedy": remedy} if remedy else {}
        text = str(problem).removesuffix(f"; {remedy}") if remedy else str(problem)
        if self.secrets.include(field):
            text, value = unsaid(text, value), masked(value)
        return InvalidValue(entity=self.entity.__name__, field=field, value=value, problem=text, **given)

    def invalid_whole(self, problem: str, remedy: str) -> InvalidValue:
        """The error for values that break a rule about several fields."""
        return InvalidValue(entity=self.entity.__name__, field="", value=None, problem=problem, remedy=remedy)

    def invalid_key(self, problem: KeyValueError) -> InvalidValue:
        """The error for a value that cannot be part of a key."""
        found = self.invalid(problem.field, problem.value, problem.problem, problem.remedy)
        found.has_value = problem.has_value
        return found

    def refused(
        self, raised: Exception, values: Mapping[str, Any], field: str | None = None, *, before: str = ""
    ) -> InvalidValue:
        """The error for values at which pydantic raises what it found, or what a function of the class raises.

        ``field``: the field, if they are those of one. ``before``: what goes before the reason of a broken rule.
        """
        if not isinstance(raised, ValidationError):
            return self._failed(raised, values, field)
        first = raised.errors(include_url=False)[0]
        name = field if field is not None else str(first["loc"][0]) if first["loc"] else ""
        text = unsaid(f"{before}{first['msg']}", self._secret_ones(values))
        if name in self.entity.model_fields:
            return self.invalid(name, values.get(name), text)
        return self.invalid_whole(text, "give its fields values that fit together")

    def _failed(self, raised: Exception, values: Mapping[str, Any], field: str | None) -> InvalidValue:
        blamed_field, function = blamed(self.entity, raised)
        name = field or blamed_field
        found = self.invalid(name, values.get(name), f"{function} raises {type(raised).__name__}", REMEDY)
        found.has_value = name in values
        return found

    # -- stored items --------------------------------------------------------------------------------------------------

    def unreadable(self, item: Item, problems: tuple[str, ...]) -> DecodeError:
        return DecodeError(entity=self.entity.__name__, key=self.key_of(item), problems=problems)

    def unloadable(
        self, raised: Exception, item: Item, values: Mapping[str, Any], in_keys: KeyFields
    ) -> DecodeError:
        """The error for an item at whose values pydantic raises what it found, or what a function raises.

        ``in_keys``: the fields that are stored in keys alone.
        """
        if isinstance(raised, ValidationError):
            return self.unreadable(item, tuple(self.sentences(raised, values, in_keys)))
        field, function = blamed(self.entity, raised)
        where = f"{field}: " if field else ""
        return self.unreadable(item, (f"{where}{function} raises {type(raised).__name__}; {REMEDY}",))

    def sentences(
        self, problem: ValidationError, values: Mapping[str, Any], in_keys: KeyFields | None = None
    ) -> Iterator[str]:
        """Every problem of values, one sentence each. ``in_keys``: as above; None for values of no item."""
        secret = self._secret_ones(values)
        for one in problem.errors(include_url=False):
            where = ".".join(map(str, one["loc"])) or "the entity"
            place = ""
            if in_keys is not None and one["loc"]:
                place = in_keys.place_of(str(one["loc"][0]), is_missing=one["type"] == "missing")
            yield f"{where}: {unsaid(one['msg'], secret)}{place}"

    def misfit(self, name: str, stored: AttributeValue | None, problem: ValueError) -> str:
        """The problem of a stored value that its field cannot have."""
        text = str(problem)
        return f"{name}: {unsaid_stored(text, stored) if name in self.secrets.fields else text}"

    def _secret_ones(self, values: Mapping[str, Any]) -> list[Any]:
        return [values.get(name) for name in self.secrets.fields]

    # -- causes --------------------------------------------------------------------------------------------------------

    def cause_of(self, field: str, problem: Exception) -> Exception | None:
        """The cause for an error of one field."""
        cause = original(problem)
        quotes = self.secrets.include(field) or (isinstance(cause, ValidationError) and self.secrets.fields)
        return None if quotes else cause

    def cause_of_function(self, raised: Exception) -> Exception | None:
        """The cause for an error of a function of the class."""
        return None if self.secrets.fields else raised

    def cause_of_refusal(self, raised: Exception, fields: Iterable[str] | None = None) -> Exception | None:
        """The cause for what ``refused`` and ``unloadable`` say. ``fields``: those validated together; None for all."""
        if not isinstance(raised, ValidationError):
            return self.cause_of_function(raised)
        together = self.entity.model_fields if fields is None else fields
        return None if not self.secrets.fields.isdisjoint(together) else raised

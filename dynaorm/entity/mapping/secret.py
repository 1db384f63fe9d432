"""Which fields are secret, and how messages do without their values.

Rule 1. A field is secret if its type is or contains ``SecretStr``, ``SecretBytes`` or ``Secret``, or if it is declared
        with ``Field(repr=False)``; in a nested record, too.
Rule 2. No ``repr``, message, log line, plan in words or cursor shows the value of a secret field. A message may name
        the field and the problem. The attributes of errors still have the value, in ``Secret`` or under a masked
        ``repr``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from dynaorm.entity.failing import REMEDY, blamed, original
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.field import KeyFields
from dynaorm.entity.template import KeyValueError
from dynaorm.entity.type_tree import type_tree
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.failure import RedactedDict, hidden_in, remedy_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

_SECRETS = (Secret, SecretStr, SecretBytes)
_UNSAID = "does not fit its field (the reason would show it)"


def secret_fields(entity: type[BaseModel]) -> frozenset[str]:
    """The secret fields of a class."""
    return frozenset(name for name, info in entity.model_fields.items() if _is_secret(info))


def secrets_among(entity: type[BaseModel], names: Iterable[str]) -> frozenset[str]:
    """The secret ones among some fields, computed fields and nested fields."""
    secret = secret_fields(entity)
    return frozenset(
        name
        for name in names
        if name in secret or (name not in entity.model_fields and _is_computed_secret(entity, name, secret))
    )


def _is_computed_secret(entity: type[BaseModel], name: str, secret: AbstractSet[str]) -> bool:
    """Whether a computed field, or a nested one, is secret."""
    info = entity.model_computed_fields.get(name)
    if info is None:
        return name.partition(".")[0] in secret
    return not info.repr or holds_secret(info.return_type)


def _is_secret(info: FieldInfo) -> bool:
    return not info.repr or holds_secret(info.annotation)


def holds_secret(annotation: Any) -> bool:
    """Whether a type is or contains a pydantic secret or a field with ``repr=False``, in a member or nested record."""
    kinds = (one.origin for one in type_tree(annotation).walk() if isinstance(one.origin, type))
    return any(issubclass(kind, _SECRETS) or _has_hidden(kind) for kind in kinds)


def _has_hidden(kind: type) -> bool:
    """Whether a nested record has a field with ``repr=False``."""
    if issubclass(kind, BaseModel):
        return not all(info.repr for info in kind.model_fields.values())
    if is_dataclass(kind):
        defaults = (field.default for field in fields(kind))
        return not all(field.repr for field in fields(kind)) or any(
            isinstance(default, FieldInfo) and not default.repr for default in defaults
        )
    return False


@record
class Secrets:
    """What is secret in a mapped class.

    Attributes:
        fields: its secret fields.
        keys: the key attributes, of the table and of indexes, with a secret field in them, and the attributes of
            computed fields that are secret.
        constraints: the unique constraints with a secret field.
    """

    fields: frozenset[str]
    keys: frozenset[str]
    constraints: frozenset[str]

    def include(self, field: str) -> bool:
        """Whether a field, or one of several (``"a, b"``), is secret."""
        return not self.fields.isdisjoint(field.split(", "))

    def hiding(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of fields, under a ``repr`` that masks those that are secret."""
        if not self.fields:
            return values
        return RedactedDict(values, self.fields | hidden_in(values))

    def hiding_key(self, key: dict[str, AttributeValue]) -> dict[str, AttributeValue]:
        """Key attributes, under a ``repr`` that masks those that have a secret field in them."""
        return RedactedDict(key, self.keys) if self.keys else key

    def hiding_guard(self, constraint: str, key: Item) -> Item:
        """The key of a guard item, under a ``repr`` that masks it if its constraint has a secret field."""
        return RedactedDict(key, frozenset(key)) if constraint in self.constraints else key


def secrets_of(
    entity: type[BaseModel],
    computed: Iterable[str],
    parts: Sequence[KeyPart],
    constraints: Mapping[str, Collection[str]],
    *,
    stored: Mapping[str, str],
) -> Secrets:
    """What is secret in a class with these computed fields, key attributes and unique constraints.

    ``constraints``: the fields of each. ``stored``: the attributes that keep computed fields.
    """
    fields = secrets_among(entity, (*entity.model_fields, *computed))
    keys = frozenset(part.attribute.name for part in parts if not fields.isdisjoint(part.fields))
    keys |= {attribute for name, attribute in stored.items() if name in fields}
    names = (name for name, one in constraints.items() if not fields.isdisjoint(one))
    return Secrets(fields, keys, frozenset(names))


def masked(value: Any) -> Any:
    """A value wrapped so that its ``repr`` does not show it; None and secrets are returned as they are."""
    return value if value is None or isinstance(value, Secret | SecretBytes | SecretStr) else Secret(value)


def is_bare(value: object) -> bool:
    """Whether the ``repr`` of a secret field's value would show it: a part is in no ``Secret`` and no nested record."""
    if (
        value is None
        or isinstance(value, Secret | SecretBytes | SecretStr | BaseModel)
        or is_dataclass(value)
    ):
        return False
    if isinstance(value, Mapping):
        return any(map(is_bare, value.values()))
    return not isinstance(value, list | tuple | AbstractSet) or any(map(is_bare, value))


def unsaid(problem: str, value: object) -> str:
    """The problem, or a general sentence if it quotes a part of the value."""
    return _UNSAID if any(text in problem for text in _texts(value)) else problem


def unsaid_stored(problem: str, stored: AttributeValue | None) -> str:
    """The problem, or a general sentence if it quotes a part of the stored value."""
    return _UNSAID if any(text in problem for part in _leaves(stored) for text in _texts(part)) else problem


def _leaves(stored: AttributeValue | None) -> Iterator[object]:
    for kind, content in (stored or {}).items():
        if kind == "M":
            yield from (leaf for name, one in content.items() for leaf in (name, *_leaves(one)))
        elif kind == "L":
            yield from (leaf for one in content for leaf in _leaves(one))
        else:
            yield content


def _texts(value: object) -> Iterator[str]:
    """The texts by which a message could quote a value or its parts."""
    if isinstance(value, Secret | SecretBytes | SecretStr):
        yield from _texts(value.get_secret_value())
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list | tuple | AbstractSet):
        yield from (text for part in value for text in _texts(part))
    elif isinstance(value, BaseModel):
        yield from _texts(vars(value))
    elif value is not None and (text := str(value)):
        yield text
        # As ``repr`` quotes it, with escapes in place of some characters.
        yield repr(value)[1:-1] or text


# The errors of one class: about values that are to be stored, and about stored items. None shows a secret.
#
# Rule 1. What is wrong with values is an InvalidValue, which names the first problem. What is wrong with a stored
#         item is a DecodeError, which has every problem.
# Rule 2. A function of the class that fails, and not by ValueError, is named in place of its error (``failing``).
# Rule 3. The cause is what was raised, unless its traceback could show a secret: an error of pydantic quotes the
#         values that were validated together, and a function may have been shown all values.


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
        for error in problem.errors(include_url=False):
            where = ".".join(map(str, error["loc"])) or "the entity"
            place = ""
            if in_keys is not None and error["loc"]:
                place = in_keys.place_of(str(error["loc"][0]), is_missing=error["type"] == "missing")
            yield f"{where}: {unsaid(error['msg'], secret)}{place}"

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

"""Loads stored items: turns the item of a class into its entity, or says what is wrong with the item.

Rule 1. An item is decoded, validated as a whole, and refused if its key is not the one that the loaded values render:
        otherwise the next save of the unchanged entity would find that its key has changed.
Rule 2. The encoded defaults of absent fields are part of the snapshot: they count as changed once they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from dynaorm.entity.expiry import Expiry
from dynaorm.entity.key_part import VERSION, differs, version_number
from dynaorm.entity.mapping.field import FieldMapping, KeyFields, with_computed
from dynaorm.entity.mapping.item_encoder import ItemEncoder
from dynaorm.entity.mapping.primary_key import PrimaryKey
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.entity.state import LOADING, Defaults, Loaded, set_state
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import InvalidValue
from dynaorm.failure import shown
from dynaorm.item.value import Item, same
from dynaorm.record import record


@record(eq=False)
class Loader:
    """Loads the items of a class.

    Attributes:
        entity: the class.
        fields: its fields.
        only_in_keys: those that are stored in keys alone.
        primary_key: its primary key.
        is_versioned: its items have version numbers.
        expires: the field with its expiry time, if there is one.
        expiry: how that is stored.
        encoder: encodes the defaults of absent fields.
        errors: makes its errors.
    """

    entity: type[BaseModel]
    fields: Mapping[str, FieldMapping]
    only_in_keys: KeyFields
    primary_key: PrimaryKey
    is_versioned: bool
    expires: FieldMapping | None
    expiry: Expiry | None
    encoder: ItemEncoder
    errors: ClassErrors

    def hydrate(self, item: Item, *, read_only: bool = False) -> Any:
        """The entity of an item, fully validated, with the item as its snapshot. Raises DecodeError."""
        values = self.decode(item)
        if self.is_versioned:
            # For its errors alone.
            self.version_of(item)
        try:
            entity = self.validate(values)
        except Exception as raised:  # noqa: BLE001 - a validator of the user's may raise anything
            cause = self.errors.cause_of_refusal(raised, values)
            raise self.errors.unloadable(raised, item, values, self.only_in_keys) from cause
        self._refuse_other_key(item, entity.__dict__)
        missing = [field for field in self.fields.values() if field.attribute not in item]
        absent = [field for field in missing if not field.in_key and field.stored_in(item) is None]
        set_state(entity, Loaded(item, self.defaults_of(absent, item, entity.__dict__), read_only))
        return entity

    def decode(self, item: Item) -> dict[str, Any]:
        """The field values of an item, without those that take their default. Raises DecodeError."""
        values: dict[str, Any] = {}
        problems: list[str] = []
        cause: Exception | None = None
        for name, field in self.fields.items():
            if field.in_key:
                continue
            found = item.get(field.attribute) if not field.formerly else field.stored_in(item)
            if found is None:
                found = field.implied
                if found is None:
                    continue
            try:
                values[name] = field.codec.decode(found)
            except ValueError as problem:
                problems.append(self.errors.misfit(name, found, problem))
                cause = cause or self.errors.cause_of(name, problem)
        if self.only_in_keys.names:
            found_in_keys, strange = self.only_in_keys.values_in(item, self.errors.secrets.keys)
            values |= found_in_keys
            problems += strange
        if problems:
            raise self.errors.unreadable(item, tuple(problems)) from cause
        return values

    def validate(self, values: Mapping[str, Any]) -> Any:
        """The entity of decoded field values. Raises ValidationError."""
        # Codecs give nested dataclasses as dicts, which a strict model would refuse.
        # By name: aliases belong to the JSON of the application.
        return self.entity.__pydantic_validator__.validate_python(
            values, strict=False, context=LOADING, by_alias=False, by_name=True
        )

    def defaults_of(self, absent: Sequence[FieldMapping], item: Item, values: Mapping[str, Any]) -> Defaults:
        """The encoded defaults of fields that are absent from a loaded item. Raises DecodeError."""
        try:
            return {field.attribute: self.encoder.encode_field(field, values) for field in absent}
        except InvalidValue as problem:
            text = f"{problem.field}: is absent, and its default {problem.value!r} {problem.problem}"
            raise self.errors.unreadable(item, (text,)) from problem

    def _refuse_other_key(self, item: Item, values: Mapping[str, Any]) -> None:
        """Raise DecodeError if the key of an item differs from the key that its values render."""
        computed, secrets = self.primary_key.computed, self.errors.secrets
        for part in self.primary_key.parts:
            stored = item.get(part.attribute.name)
            try:
                rendered = part.value(
                    with_computed(computed, values, part.fields, secrets.fields) if computed else values
                )
            except KeyValueError as problem:
                wrong = self.errors.invalid_key(problem)
                value = f"is {shown(wrong.value)}, which " if wrong.has_value else ""
                text = f"{wrong.field}: {value}{wrong.problem}"
                raise self.errors.unreadable(item, (text,)) from wrong
            if not same(stored, rendered):
                raise self.errors.unreadable(item, (differs(part, stored, rendered, secrets.keys),))

    def version_of(self, item: Item) -> int | None:
        """The version number in a latest copy or version item. Raises DecodeError."""
        found = item.get(VERSION) if self.is_versioned else None
        try:
            return version_number(found) if found is not None else None
        except ValueError as problem:
            raise self.errors.unreadable(item, (f"{VERSION}: {problem}",)) from problem

    def expiry_of(self, item: Item) -> int | None:
        """When an item expires, in its unit since the epoch; None for never. Raises DecodeError."""
        if self.expiry is None or self.expires is None:
            return None
        try:
            return self.expiry.time_in(item)
        except ValueError as problem:
            raise self.errors.unreadable(item, (f"{self.expires.name}: {problem}",)) from problem

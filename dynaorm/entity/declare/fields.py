"""Turns the annotated fields of a class into their mappings: codec, default, and how absence is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dynaorm.entity.annotation import Marked
from dynaorm.entity.codec.expiry import EXPIRIES, is_expiry
from dynaorm.entity.codec.of_type import Codec, Unstorable, codec_of
from dynaorm.entity.codec.type_name import other_type_codec
from dynaorm.entity.codec.value import optional
from dynaorm.entity.codec.vector import searched_codec, vector_codec
from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.declare.choices import choices_of
from dynaorm.entity.declare.class_keys import KeysOf, attribute_of, vector_index_of
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.declare.prefixes import prefixed_codec
from dynaorm.entity.index import Index
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.mapping.field import FieldAroundRevision, FieldMapping
from dynaorm.entity.marker import MARKERS, Attribute, ExpiresAt, InKey, Vector, Versioned
from dynaorm.entity.revision import NestedRevision
from dynaorm.item.prefix import Prefix
from dynaorm.record import record


@record
class FieldCompiler:
    """Compiles the fields of a class, and adds their problems to ``keys.problems``.

    Attributes:
        entity: the class.
        options: the keywords of its statement.
        marks: its fields, as they are annotated.
        keys: its keys.
    """

    entity: type[BaseModel]
    options: ClassOptions
    marks: Mapping[str, Marked]
    keys: KeysOf

    def fields(self) -> dict[str, FieldMapping]:
        """The mappings of the fields that have one."""
        return {name: found for name in self.marks if (found := self._field(name)) is not None}

    def _field(self, name: str) -> FieldMapping | None:
        mark, info = self.marks[name], self.entity.model_fields[name]
        if mark.tree.plain in (Index, Aggregate):
            kind = mark.tree.name
            self.keys.problems.append(
                f"{name}: an {kind} is not a field; write {name}: ClassVar = {kind}(...)"
            )
            return None
        codec = None if mark.problems else self._codec(name, mark)
        if codec is None:
            return None
        default = None if info.default is PydanticUndefined else info.default
        static_none = not info.is_required() and info.default_factory is None and default is None
        has_static_value = not (info.is_required() or static_none or info.default_factory)
        # Pydantic takes such a default as it is, so nothing else would find one that no write can store.
        if has_static_value and not validates_default(self.entity, name):
            self._check_default(name, codec, default)
        attribute, in_key = attribute_of(name, mark, self.keys.table), self._in_key(name, mark)
        if has_static_value and isinstance(attribute, Prefix) and default:
            # An empty dict is no attribute either, so absence could mean both.
            self.keys.problems.append(
                f"{name}: its default {default!r} could not be told from an empty dict, because both would be "
                "absent; write = {}, and let the program give new entities their members"
            )
        return self._kind_of_field(attribute, is_stored=not in_key)(
            name=name,
            attribute=attribute,
            codec=codec,
            formerly=next((one.formerly for one in mark.find(Attribute)), ()),
            default=default,
            required=info.is_required(),
            defaults_to_none=static_none,
            in_key=in_key,
            versioned=bool(mark.find(Versioned)),
            exact=codec.exact and not (mark.find(ExpiresAt) or mark.find(Vector)),
        )

    def _kind_of_field(self, attribute: str, *, is_stored: bool) -> Callable[..., FieldMapping]:
        revision = self.keys.table.revision
        if is_stored and isinstance(revision, NestedRevision) and revision.attribute == attribute:
            return partial(FieldAroundRevision, revision=revision)
        return FieldMapping

    def _check_default(self, name: str, codec: Codec, default: object) -> None:
        if isinstance(default, MARKERS):
            return
        try:
            codec.encode(default)
        except ValueError as problem:
            self.keys.problems.append(
                f"{name}: its default {default!r} could not be stored: it {problem}; change the default or the type"
            )

    def _in_key(self, name: str, mark: Marked) -> bool:
        by_table = self.keys.table.key_fields == "in_key" and name in self.keys.in_primary_key
        if mark.find(InKey) and name not in self.keys.lossless:
            self.keys.problems.append(
                f"{name}: InKey(), but the field cannot be read back exactly from any key of the class; "
                f"write {{{name}}} without a spec in pk= or sk=, or store the field"
            )
        return bool(mark.find(InKey)) or by_table

    def _codec(self, name: str, mark: Marked) -> Codec | None:
        attribute = next(iter(mark.find(Attribute)), None)
        if mark.find(ExpiresAt):
            if attribute is not None and attribute.codec is not None:
                self.keys.problems.append(f"{name}: ExpiresAt() says how it is stored; drop codec=")
            if is_expiry(mark.tree):
                codec = EXPIRIES[mark.find(ExpiresAt)[0].unit]
                return optional(codec) if mark.tree.accepts_none else codec
            self.keys.problems.append(
                f"{name}: ExpiresAt() needs a field that is a time; write datetime | None"
            )
            return None
        try:
            if (index := vector_index_of(mark, self.keys.table)) is not None:
                return vector_codec(mark.tree, index)
            info = self.entity.model_fields[name]
            strict = bool(self.entity.model_config.get("strict"))
            codec = codec_of(mark.tree, (*mark.metadata, *mark.find(Attribute), info), strict=strict)
            attribute = attribute_of(name, mark, self.keys.table)
            if attribute == self.options.own_type and not choices_of(mark):
                codec = other_type_codec(codec, self.keys.table, self.options.name)
            if isinstance(attribute, Prefix):
                return prefixed_codec(codec)
            return searched_codec(codec) if attribute in self.keys.table.searched else codec
        except Unstorable as problem:
            self.keys.problems.append(f"{name}: {problem}")
            return None

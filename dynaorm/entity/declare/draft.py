"""The draft of a class: what its statement says, and what the rules of ``entity`` have compiled of it so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo
from typing_extensions import Format, get_annotations

from dynaorm.entity.key_part import (
    BOOKKEEPING,
    PARTITION_KEY_LIMIT,
    SORT_KEY_LIMIT,
    KeyPart,
    VersionTemplate,
    encoded_scalar,
)
from dynaorm.entity.mapping.aggregate import Aggregate, AggregateMapping
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import ComputedValue, FieldMapping, computed_field_value, nested_value
from dynaorm.entity.mapping.index_places import IndexMapping, StoredComputedField, UndeclaredKey, places_of
from dynaorm.entity.marker import (
    AnnotatedField,
    Attribute,
    Computed,
    Declaration,
    InKey,
    Unique,
    Vector,
    declarations_of,
    parse_markers,
)
from dynaorm.entity.table import UNSET, Index, KeyAttribute, Table, VectorIndex
from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template, is_template
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.failure import nearest, shown
from dynaorm.record import record, replace

# The keywords of a class statement: ``class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE")``.

ANY: Final = "*"
"""The name of a class that takes the types that nobody declared."""


def misnamed(body: Mapping[str, Any]) -> Iterator[str]:
    """The declarations of a class body under such names, and the values in place of methods."""
    for name, value in body.items():
        if isinstance(value, Declaration) and _is_taken(name):
            kind = type(value).__name__.removesuffix("Of")
            yield f"{name}: the name is Python's or pydantic's own; give the {kind} another"
        elif _hides_a_method(name, value):
            yield f"{name}={shown(value)} hides what every class has; drop it, or give a function"


def misnamed_fields(entity: type[BaseModel]) -> Iterator[str]:
    """The annotations of a class and its bases under such names."""
    for base in entity.__mro__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            yield from misnamed_in(get_annotations(base, format=Format.FORWARDREF))


def misnamed_in(annotations: Mapping[str, Any]) -> Iterator[str]:
    """The same among the annotations of one class."""
    for name, annotation in annotations.items():
        # pydantic makes no field of a name with two underscores, and says nothing.
        if _is_taken(name) and "ClassVar" not in str(annotation):
            yield f"{name}: the name is Python's or pydantic's own; give the field another"


def _is_taken(name: str) -> bool:
    return name.startswith("__") or (name.startswith("model_") and hasattr(BaseModel, name))


def _hides_a_method(name: str, value: object) -> bool:
    # Python itself takes None: there is no such method. A configuration is a value.
    is_method = value is None or callable(value) or hasattr(type(value), "__get__")
    if is_method or name == "model_config" or not _is_taken(name):
        return False
    return name.startswith("model_") or callable(getattr(BaseModel, name, None))


KEYWORDS: Final = ("table", "pk", "sk", "name", "formerly", "unique", "versioned", "version_padding")
OPTIONS: Final = "__dynaorm_options__"
_KEYS: Final = ("pk", "sk", "versioned", "version_padding")
_WIDEST: Final = 20


@record
class ClassOptions:
    """The options of a class, its own and inherited ones.

    Attributes:
        name: what messages, versions and tools call the class.
        is_told: a field of the class is the type attribute.
        root: the class that declared the keys.
        problems: the problems of the keywords.
    """

    table: Table | None = None
    pk: str | None = None
    sk: str | None = None
    name: str = ""
    is_told: bool = False
    formerly: tuple[str, ...] = ()
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    versioned: bool | str = False
    version_padding: int = 0
    root: type | None = None
    problems: tuple[str, ...] = ()

    @property
    def own_type(self) -> str | None:
        """The type attribute, if it is a field of the class; None where dynaorm writes it."""
        if self.table is None or not self.is_told:
            return None
        return self.table.type_attribute


def declared_options(entity: type) -> ClassOptions:
    """The options of a class that has been declared."""
    found: ClassOptions = vars(entity).get(OPTIONS) or ClassOptions()
    return found


def options_of(entity: type, given: Mapping[str, Any]) -> ClassOptions:
    """The options of a class, from its own keywords and those of its bases."""
    own = {name: value for name, value in given.items() if name in KEYWORDS and value is not UNSET}
    problems = list(_keyword_problems(own, [name for name in given if name not in KEYWORDS]))
    own = {name: value for name, value in own.items() if name not in _KEYS or _is_key_option(name, value)}
    bases = [declared_options(base) for base in entity.__bases__]
    mapped = [base for base in bases if base.table is not None]
    inherited = mapped[0] if mapped else None
    if "table" not in own and inherited is not None:
        problems += _family_problems(inherited, mapped[1:])
    table = own.get("table", inherited.table if inherited else None)
    if table is None and (idle := [name for name in own if name != "table"]):
        problems.append(f"{_keywords(idle)} without a table; add table=...")
    if table is not None and not isinstance(table, Table):
        problems.append(f"table={shown(table)} is not a Table; write table=Table({str(table)!r})")
        table = None
    # With table=None, a class is a plain model: nothing of the mapping is inherited.
    base = inherited if inherited is not None and table is not None else ClassOptions()
    # A keyword that repeats the inherited one changes nothing.
    own_keys = [name for name in _KEYS if name in own and own[name] != getattr(base, name)]
    # With table= and keys of its own, a class begins a new family, also in the table of its base.
    inherits = base.table is not None and (base.table is table and not ("table" in own and own_keys))
    if inherits and own_keys:
        assert base.root is not None
        problems.append(
            f"{_keywords(own_keys)} would change the key that {base.root.__name__} declared and its subclasses share; "
            f"drop {'it' if len(own_keys) == 1 else 'them'}, or give the class a table= of its own"
        )
    families = mapped if table is not None else []
    shared = {name: fields for family in families for name, fields in family.unique.items()}
    return replace(
        base,
        table=table,
        root=base.root if inherits else entity,
        **_named(own, entity.__name__, is_told=base.is_told),
        formerly=_names(own.get("formerly", ())) or (),
        pk=own.get("pk", base.pk),
        sk=own.get("sk", base.sk),
        unique={**shared, **_unique(own.get("unique", {}))},
        versioned=own.get("versioned", base.versioned),
        version_padding=own.get("version_padding", base.version_padding),
        problems=tuple(problems),
    )


def _named(own: Mapping[str, Any], default: str, *, is_told: bool) -> dict[str, Any]:
    """What ``name=`` says. A class whose base has its type in a field has so, too."""
    name = own.get("name", None if is_told else default)
    if name is not None and not isinstance(name, str):
        name = default  # it is a problem of the class
    if name is None:
        return {"name": default, "is_told": True}
    return {"name": name, "is_told": False}


def _keywords(names: Sequence[str]) -> str:
    return ", ".join(f"{name}=" for name in names)


def _family_problems(first: ClassOptions, others: Sequence[ClassOptions]) -> Iterator[str]:
    for other in others:
        if other.root is not first.root:
            assert first.root is not None and other.root is not None
            yield (
                f"it derives from {first.root.__name__} and {other.root.__name__}, which have different keys; "
                f"derive from one of them, or give the class a table= and keys of its own"
            )


def _unique(given: Any) -> dict[str, tuple[str, ...]]:
    return (
        {name: found for name, fields in given.items() if (found := _names(fields))}
        if _is_mapping(given)
        else {}
    )


def _is_mapping(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(name, str) for name in given)


def _names(fields: Any) -> tuple[str, ...] | None:
    """The fields of one constraint; None if they are not names."""
    if isinstance(fields, str):
        return (fields,)
    if isinstance(fields, Sequence) and all(isinstance(one, str) for one in fields):
        return tuple(fields)
    return None


def _keyword_problems(own: Mapping[str, Any], unknown: list[str]) -> Iterator[str]:
    known = [*KEYWORDS, *ConfigDict.__annotations__]
    for name in unknown:
        close = nearest(name, known)
        remedy = f"did you mean {close}=?" if close else f"the keywords are {', '.join(KEYWORDS)}"
        yield f"unknown keyword {name}=; {remedy}"
    for name in ("pk", "sk"):
        if name in own and not _is_key_option(name, own[name]):
            yield f'{name}={shown(own[name])} is not a key template; write {name}="..."'
    if own.get("name") is not None and not (isinstance(own["name"], str) and own["name"]):
        yield f'name={shown(own["name"])} is not the name of an entity; write name="..."'
    if "formerly" in own and not _names(own["formerly"]):
        yield f'formerly={shown(own["formerly"])} names no former class; write formerly=("OldName",)'
    yield from _unique_problems(own.get("unique", {}))
    yield from _version_problems(own)


def _unique_problems(unique: Any) -> Iterator[str]:
    if not _is_mapping(unique):
        yield f'unique={shown(unique)} is not a mapping; write unique={{"name": ("field", "field")}}'
        return
    for name, fields in unique.items():
        if not _names(fields):
            yield f'unique={{{name!r}: {fields!r}}} names no fields; write unique={{{name!r}: ("field", "field")}}'


def _version_problems(own: Mapping[str, Any]) -> Iterator[str]:
    versioned, padding = own.get("versioned", False), own.get("version_padding", 0)
    if not _is_key_option("versioned", versioned):
        yield f"versioned={shown(versioned)}; write True, or a sort key template with {{version}}"
    if not _is_key_option("version_padding", padding):
        yield f"version_padding={shown(padding)}; write a number of digits from 0 to {_WIDEST}"
    elif padding and not versioned:
        yield "version_padding= in a class without versions; add versioned=True"


def _is_key_option(name: str, value: object) -> bool:
    """Whether a keyword for the key has a value of the right type."""
    if name == "versioned":
        return isinstance(value, bool) or (isinstance(value, str) and value != "")
    if name == "version_padding":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _WIDEST
    return value is None or is_template(value)


_IN_BRACES: Final = re.compile(r"\{([^\W\d]\w*(?:\.[^\W\d]\w*)+)")


class Draft:
    """A class that is being declared.

    Attributes:
        entity: the class.
        options: the keywords of its statement.
        problems: what is wrong with the declaration, one sentence each.
        partition: its partition key, and so on: what could be compiled, as in ``EntityMapping``.
    """

    def __init__(self, entity: type[BaseModel], options: ClassOptions) -> None:
        self.entity = entity
        self.options = options
        self.problems: list[str] = []
        self.partition: KeyPart | None = None
        self.sort: KeyPart | None = None
        self.version_template: VersionTemplate | None = None
        self.indexes: dict[str, IndexMapping] = {}
        self.undeclared: dict[str, UndeclaredKey] = {}
        self.aggregates: dict[str, AggregateMapping] = {}
        self.fields: dict[str, FieldMapping] = {}
        self.constraints: dict[str, Constraint] = {}
        self.stored_places: dict[str, StoredComputedField] = {}

    # -- what is declared ----------------------------------------------------------------------------------------------

    @property
    def table(self) -> Table:
        assert self.options.table is not None
        return self.options.table

    @cached_property
    def marks(self) -> Mapping[str, AnnotatedField]:
        """The fields of the class, as they are annotated."""
        return {name: parse_markers(name, info) for name, info in self.entity.model_fields.items()}

    @cached_property
    def computed_marks(self) -> Mapping[str, AnnotatedField]:
        """The types of computed fields without their markers, and the markers."""
        fields = self.entity.model_computed_fields.items()
        return {
            name: parse_markers(name, FieldInfo.from_annotation(info.return_type)) for name, info in fields
        }

    @cached_property
    def computed(self) -> Mapping[str, ComputedValue]:
        """The computed fields, and the nested fields that declarations name, if their values have one text."""
        return {value.name: value for value in (*self._nested_fields(), *self._computed_fields())}

    @cached_property
    def scalars(self) -> Mapping[str, Scalar]:
        """The types of the fields that have a text form, or of the forms they are stored in."""
        scalars = {name: _scalar(mark) for name, mark in self.marks.items()}
        scalars |= {name: value.scalar for name, value in self.computed.items()}
        return {name: scalar for name, scalar in scalars.items() if scalar is not None}

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The stored names of the fields."""
        return {name: self._attribute_of(name, mark) for name, mark in self.marks.items()}

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The fields that accept None."""
        nullable = {name for name, mark in self.marks.items() if mark.tree.accepts_none}
        return frozenset(nullable | {name for name, value in self.computed.items() if value.nullable})

    @cached_property
    def in_key(self) -> frozenset[str]:
        """The fields with ``InKey()``."""
        return frozenset(name for name, mark in self.marks.items() if mark.find(InKey))

    @cached_property
    def reserved(self) -> Mapping[str, str]:
        """The attributes that dynaorm writes into every item of the class, and what each holds."""
        revision = self.table.revision
        known = (
            (None if self.options.own_type else self.table.type_attribute, "the entity's name"),
            (None if revision is None else revision.attribute, "the revision"),
        )
        reserved = {name: what for name, what in known if name is not None}
        return {**reserved, **BOOKKEEPING} if self.options.versioned else reserved

    def _attribute_of(self, name: str, mark: AnnotatedField) -> str:
        if (index := self.vector_index_of(mark)) is not None:
            return index.vector
        markers = mark.find(Attribute)
        return markers[0].name if markers and markers[0].name is not None else name

    def vector_index_of(self, mark: AnnotatedField) -> VectorIndex | None:
        """The index whose vectors a field holds; None if it holds none, or if there is no such index."""
        named = [self.table.indexes.get(vector.index) for vector in mark.find(Vector)]
        return next((index for index in named if isinstance(index, VectorIndex)), None)

    def has(self, name: str) -> bool:
        """Whether the class has such a field, computed field or nested field."""
        return name in self.attributes or name in self.computed

    def stored(self, names: Iterable[str]) -> frozenset[str]:
        """The fields that some fields, computed fields and nested fields are made of."""
        fields = (self.computed[name].fields if name in self.computed else (name,) for name in names)
        return frozenset().union(*fields)

    def own_field(self, attribute: KeyAttribute) -> str | None:
        """The field stored under a key attribute."""
        return next((name for name, stored in self.attributes.items() if stored == attribute.name), None)

    # -- computed and nested fields ------------------------------------------------------------------------------------

    def _computed_fields(self) -> Iterator[ComputedValue]:
        for name, mark in self.computed_marks.items():
            if (scalar := mark.scalar) is not None:
                named = [field for marker in mark.find(Computed) for field in marker.of]
                fields = frozenset(named or self.entity.model_fields)
                value = computed_field_value(self.entity, name, fields)
                yield ComputedValue(name, scalar, mark.tree.accepts_none, fields, value, is_told=bool(named))

    def _nested_fields(self) -> Iterator[ComputedValue]:
        for name in dict.fromkeys(name for name in self._named() if isinstance(name, str) and "." in name):
            path = tuple(name.split("."))
            tree: TypeTree | None = self.marks[path[0]].tree if path[0] in self.marks else None
            nullable = False
            for step in path[1:]:
                nullable |= tree is not None and tree.accepts_none
                part = tree.without_none.member(step) if tree is not None else None
                tree = None if part is None else part.tree
            if tree is not None and (scalar := scalar_of(tree)) is not None:
                nullable, fields = nullable or tree.accepts_none, frozenset(path[:1])
                yield ComputedValue(name, scalar, nullable, fields, nested_value(path), is_told=True)

    def _named(self) -> Iterator[Any]:
        """What its declarations name; what they are given may be of any type."""
        options = self.options
        templates: list[Any] = [options.pk, options.sk, options.versioned]
        for _, index in declarations_of(self.entity, Index):
            templates += [index.pk_text, index.sk_text]
        for members in options.unique.values():
            yield from members
        for unique in (marker for mark in self.marks.values() for marker in mark.find(Unique)):
            templates += [unique.pk, unique.sk]
            yield from unique.scope
        for _, aggregate in declarations_of(self.entity, Aggregate):
            key: Any = aggregate.key
            sums: Any = aggregate.sums
            yield from key.values() if isinstance(key, Mapping) else ()
            yield from sums if isinstance(sums, Mapping) else ()
        for template in templates:
            for text in template if isinstance(template, tuple) else (template,):
                yield from _IN_BRACES.findall(text) if isinstance(text, str) else ()

    # -- keys ----------------------------------------------------------------------------------------------------------

    @property
    def primary(self) -> tuple[KeyPart, ...]:
        return tuple(part for part in (self.partition, self.sort) if part is not None)

    @property
    def in_primary_key(self) -> frozenset[str]:
        """The fields that can be read back exactly from the rendered parts of the primary key."""
        return frozenset(name for part in self.primary if part.synthetic for name in part.lossless)

    @property
    def lossless(self) -> frozenset[str]:
        """The fields that can be read back exactly from a key whenever they are not None."""
        lossless = set(self.in_primary_key)
        for index in places_of(self.indexes.values()).values():
            # An index with a condition has not every item, so its key may be absent.
            for part in index.places[0].parts if index.is_plain else ():
                # If one field of an index key is None, the key is absent, and the other fields are lost with it.
                others = {name: index.fields - {name} for name in part.lossless if part.synthetic}
                lossless |= {name for name, rest in others.items() if not rest & self.nullable}
        return frozenset(lossless)

    @property
    def synthetic(self) -> frozenset[str]:
        """The key attributes that no field may be stored under."""
        parts = [*self.primary, *(part for index in self.indexes.values() for part in index.parts)]
        return frozenset(part.attribute.name for part in parts if part.synthetic)

    @cached_property
    def _own_codecs(self) -> list[tuple[str, Any]]:
        markers = ((name, marker) for name, mark in self.marks.items() for marker in mark.find(Attribute))
        return [(name, marker) for name, marker in markers if marker.encode and marker.decode]

    @cached_property
    def encoded(self) -> Mapping[str, Scalar]:
        """The fields with their own ``encode=`` that are stored in a key attribute."""
        kinds = self.table.kinds
        return {
            name: encoded_scalar(marker.encode, marker.decode, kind)
            for name, marker in self._own_codecs
            if (kind := kinds.get(self.attributes[name]))
        }

    @cached_property
    def texts(self) -> Mapping[str, Scalar]:
        """All fields with their own ``encode=``, as they stand in string keys."""
        return {
            name: encoded_scalar(marker.encode, marker.decode, "S", scalar_of(self.marks[name].tree))
            for name, marker in self._own_codecs
        }

    def template(
        self, where: str, text: str, attribute: KeyAttribute, *, sort: bool, home: Table | None = None
    ) -> KeyTemplate | None:
        """A compiled template; None if it is refused. ``home``: the table with the key, if it is another one."""
        scalars = {**self.scalars, **self.texts} if attribute.kind == "S" else self.scalars
        if home is None and (own := self._own(text, attribute)) is not None and own in self.encoded:
            scalars = {**scalars, own: self.encoded[own]}
        try:
            return compile_template(
                text,
                scalars,
                kind=attribute.kind,
                sort=sort,
                known=self.attributes.keys(),
                escape=(home or self.table).escape,
            )
        except TemplateError as error:
            self.problems += [f"{where}={text!r}: {problem}" for problem in error.problems]
            return None

    def part(self, where: str, text: str, attribute: KeyAttribute, *, sort: bool) -> KeyPart | None:
        template = self.template(where, text, attribute, sort=sort)
        if template is None:
            return None
        # An attribute may be the partition key here and a sort key there.
        is_sort_key = sort or any(attribute in index.sk for index in self.table.indexes.values())
        limit = SORT_KEY_LIMIT if is_sort_key else PARTITION_KEY_LIMIT
        return KeyPart(attribute, template, limit, synthetic=self._own(text, attribute) is None)

    def _own(self, text: str, attribute: KeyAttribute) -> str | None:
        """The field stored in a key attribute, if the template is that field alone."""
        own = self.own_field(attribute)
        # The field that is stored in the primary key alone does not write the attribute, so the index does.
        if own is None or (attribute not in self.table.keys and self._is_in_key(own)):
            return None
        return own if text in (f"{{{own}}}", f"{{{own}:raw}}") else None

    def _is_in_key(self, name: str) -> bool:
        return name in self.in_key or (self.table.key_fields == "in_key" and name in self.in_primary_key)


def _scalar(mark: AnnotatedField) -> Scalar | None:
    form = next((marker.codec for marker in mark.find(Attribute)), None)
    return mark.scalar if form is None else form.scalar

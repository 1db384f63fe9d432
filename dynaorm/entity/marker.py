"""The markers inside ``Annotated`` that say how a field is stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, Union

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from dynaorm.entity.expiry import WORDS, Unit
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.entity.type_tree import TypeTree, type_tree
from dynaorm.errors import DeclarationError
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue
from dynaorm.record import record, replace

if TYPE_CHECKING:
    from dynaorm.item.condition import Condition


# How other libraries store a value: as another text or number than dynaorm would, or as JSON or compressed text.
#
# Rule 1. A form that drops a part of a value (milliseconds drop microseconds) stores what is left, and a save puts
#         that on the object.
# Rule 2. A condition compares values. So a bound that a form would cut is written as something between the two stored
#         values next to it.


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
        spellings_of: the types whose values it reads in every spelling, and writes in their own; empty for none.
    """

    name: str
    scalar: Scalar | None = None
    wrap: Callable[[AttributeValue], AttributeValue] = dict
    unwrap: Callable[[AttributeValue], AttributeValue] = dict
    inner: frozenset[str] = frozenset()
    tag: str = "S"
    spellings_of: tuple[type, ...] = ()

    def __repr__(self) -> str:
        return f"codecs.{self.name}"


# A text cannot be joined with "|" where it is used, and importing the class would load what most requests do without.
GivenWhen: TypeAlias = Union["Condition", Callable[[Any], bool]]
"""What ``when=`` takes: a condition of ``F``, or a pure function of the entity."""


class Declaration(property):
    """A class attribute, annotated as ``ClassVar`` or not at all.

    It derives from ``property`` so that pydantic does not make it a field.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attribute_name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute_name = name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        # A field annotated with the declaration's own class gets this far; ``declare`` refuses it with a clear error.
        return core_schema.any_schema()


D = TypeVar("D", bound=Declaration)


def declarations_of(entity: type, kind: type[D]) -> Iterator[tuple[str, D]]:
    """The declarations of one kind in a class and its bases, by attribute name."""
    seen: set[str] = set()
    for base in entity.__mro__:
        for name, value in vars(base).items():
            if name not in seen and isinstance(value, kind):
                yield name, value
            seen.add(name)


@record
class Unique:
    """No two live entities hold the same value of this field.

    Args:
        name: the constraint's name, the part before ``#`` in the guard item's key; default the stored name.
        scope: fields within which the value is unique (``scope=("tenant",)``).
        normalize: a pure function of the value, applied before comparing (``str.casefold``).
        when: a condition (``F.active == True``), or a pure function of the entity. The value of an entity for which
            it does not hold is not claimed.
        shared: several classes of the table share this constraint. Every one of them must declare it so.
        pk: the template of the guard item's partition key, for guard items that another library writes too:
            ``pk="_unique#User#email#{email}", sk="_unique#"``. The fields in it are unique together.
        sk: the template of the guard item's sort key.

    Examples:
        >>> class Account(Entity, table=app, pk="ACCOUNT#{id}", sk="ACCOUNT"):
        ...     id: str
        ...     login: Annotated[str, Unique(normalize=str.casefold)]
        >>> ada = session.save(Account(id="1", login="Ada"))
        >>> session.get_by(Account, login="ADA")
        Account(id='1', login='Ada')
    """

    name: str | None = None
    scope: tuple[str, ...] = ()
    normalize: Callable[[Any], Any] | None = None
    when: GivenWhen | None = None
    shared: bool = False
    pk: str | None = None
    sk: str | None = None

    def __init__(
        self,
        name: str | None = None,
        *,
        scope: str | tuple[str, ...] = (),
        normalize: Callable[[Any], Any] | None = None,
        when: GivenWhen | None = None,
        shared: bool = False,
        pk: str | None = None,
        sk: str | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "scope", _names(scope))
        object.__setattr__(self, "normalize", normalize)
        object.__setattr__(self, "when", when)
        object.__setattr__(self, "shared", shared)
        object.__setattr__(self, "pk", pk)
        object.__setattr__(self, "sk", sk)


@record
class Versioned:
    """Changing this field writes a new version. In a class with such fields, changing any other field writes none.

    Examples:
        >>> class Page(Entity, table=app, pk="PAGE#{id}", sk="PAGE", versioned=True):
        ...     id: str
        ...     text: Annotated[str, Versioned()]
        ...     views: int = 0
        >>> page = session.save(Page(id="1", text="a"))
        >>> page.views = 1
        >>> inspect(session.save(page)).version
        1
        >>> page.text = "b"
        >>> inspect(session.save(page)).version
        2
    """


@record
class InKey:
    """The field is stored in the key alone. It is read back by matching the key.

    Examples:
        >>> class Visit(Entity, table=app, pk="VISITOR#{visitor}", sk="VISIT#{number:04d}"):
        ...     visitor: str
        ...     number: Annotated[int, InKey()]
        >>> "number" in item_of(Visit(visitor="v", number=1))
        False
    """


@record
class ExpiresAt:
    """The time at which DynamoDB may delete the item, stored as epoch seconds in the table's TTL attribute.

    From then on the entity is absent. A time of 0 or less, and one that is more than five years past, never expires,
    because DynamoDB's TTL ignores it.

    DynamoDB's TTL reads no other unit. With ``unit="ms"``, for a table whose program keeps milliseconds, DynamoDB
    deletes nothing: no TTL is declared on the attribute. The entity is absent from then on all the same, however long
    ago that was, until somebody deletes or replaces the item.

    Args:
        unit: ``"s"``, or ``"ms"`` for epoch milliseconds.

    Examples:
        >>> class Login(Entity, table=app, pk="LOGIN#{token}", sk="LOGIN"):
        ...     token: str
        ...     until: Annotated[datetime, ExpiresAt()]
        >>> item_of(Login(token="t", until=datetime(2024, 5, 1, tzinfo=UTC)))["until"]
        {'N': '1714521600'}
    """

    unit: Unit = "s"

    def __init__(self, *, unit: Unit = "s") -> None:
        object.__setattr__(self, "unit", unit)


@record
class Computed:
    """What a computed field looks at, in the type that it returns.

    Without it, a computed field may look at every field. So a write by key that changes any field, or a key that the
    computed field is a part of, needs all of them. A function that reads another field raises ``InvalidValue`` when it
    is first called.

    Args:
        of: the fields that the function reads.

    Examples:
        >>> from pydantic import computed_field
        >>> class Reading(Entity, table=app, pk="SENSOR#{sensor}", sk="{bucket}#{number:06d}"):
        ...     sensor: str
        ...     number: int
        ...     value: float = 0.0
        ...     @computed_field
        ...     @property
        ...     def bucket(self) -> Annotated[str, Computed(of="number")]:
        ...         return str(self.number // 100)
        >>> Key(Reading, sensor="s", number=250).primary_key["SK"]
        {'S': '2#000250'}
    """

    of: tuple[str, ...]

    def __init__(self, *, of: str | tuple[str, ...]) -> None:
        object.__setattr__(self, "of", _names(of))


@record
class OneOf:
    """The only values of a field, such as the shard number that another program drew when it wrote the item.

    A query that does not give the field asks the partition of each value, and merges the answers in key order. The
    values are those of a ``Literal``: any other one is refused.

    Args:
        values: the values: ``range(1, 11)``. Each must be of the field's type, an int, a str or a member of an Enum.

    Examples:
        >>> logs = Table("logs", pk="id", sk="at")
        >>> class Line(Entity, table=logs, pk="{day}.{shard}"):
        ...     day: str
        ...     shard: Annotated[int, OneOf(range(1, 4))]
        ...     at: str
        >>> session.create_table(logs)
        >>> for shard, at in ((3, "10:00"), (1, "11:00")):
        ...     _ = session.save(Line(day="monday", shard=shard, at=at))
        >>> [line.at for line in session.query(Line, day="monday")]
        ['10:00', '11:00']
    """

    values: tuple[Any, ...]

    def __init__(self, values: Iterable[Any]) -> None:
        object.__setattr__(self, "values", _names(values))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler | None = None
    ) -> CoreSchema:
        if handler is None:  # the class itself stands in Annotated, which the declaration refuses
            given: Any = self
            return source(given)  # type: ignore[no-any-return]  # it is the handler
        # The same schema as that of a Literal, so all who know one know the other.
        expected = [*self.values, None] if type_tree(source).accepts_none else [*self.values]
        return core_schema.literal_schema(expected) if expected else handler(source)


@record
class Stored:
    """A computed field that is kept as an attribute, too, as the program expects that owns the table.

    Every write that may change the value writes the attribute: it is sent as an index key is, in the same request. It
    is never read back: the entity computes the value, and ``verify`` compares.

    Attributes:
        name: the attribute's name; default the field's.

    Examples:
        >>> from pydantic import computed_field
        >>> class Cart(Entity, table=app, pk="CART#{id}", sk="CART"):
        ...     id: str
        ...     prices: list[int] = []
        ...     @computed_field
        ...     @property
        ...     def total(self) -> Annotated[int, Stored(), Computed(of="prices")]:
        ...         return sum(self.prices)
        >>> item_of(Cart(id="1", prices=[5, 7]))["total"]
        {'N': '12'}
    """

    name: str | None = None


@record
class CreatedAt:
    """The time at which the entity was stored first. The session sets it, and it stays over every later write.

    Examples:
        >>> class NoteC(Entity, table=app, pk="NOTE#{id}", sk="NOTE"):
        ...     id: str
        ...     made: Annotated[datetime | None, CreatedAt()] = None
        >>> session.save(NoteC(id="C")).made
        datetime.datetime(...)
    """


@record
class UpdatedAt:
    """The time of the last write of the entity. The session sets it. Changes of totals are no writes of the entity.

    Examples:
        >>> class NoteU(Entity, table=app, pk="NOTE#{id}", sk="NOTE"):
        ...     id: str
        ...     changed: Annotated[datetime | None, UpdatedAt()] = None
        >>> session.save(NoteU(id="U")).changed
        datetime.datetime(...)
    """


@record
class Vector:
    """The field is the vector by which a search finds the entity (``session.search``).

    It is stored under the name that the index gives (``VectorIndex(vector=...)``), as numbers of nine digits: DynamoDB
    compares 32-bit floats. The class also declares its place in the index, whose ``pk`` says which entities are
    searched together.

    Attributes:
        index: the name of a ``VectorIndex`` of the table.

    Examples:
        >>> papers = Table("papers", indexes=[VectorIndex("semantic", dimensions=3)])
        >>> class Paper(Entity, table=papers, pk="PAPER#{id}", sk="PAPER"):
        ...     id: str
        ...     tenant: str
        ...     meaning: Annotated[list[float], Vector("semantic")]
        ...     semantic = Index("semantic", pk="TENANT#{tenant}")
        >>> item_of(Paper(id="1", tenant="a", meaning=[1, 0.5, 0]))["semanticVector"]
        {'L': [{'N': '1'}, {'N': '0.5'}, {'N': '0'}]}
    """

    index: str


@record
class Attribute:
    """The name and encoding of a field in the stored item.

    Args:
        name: the attribute's name; default the field's.
        formerly: older names, read if ``name`` is absent. The next save that changes the item renames the attribute.
        encode: turns a value into an attribute value (``{"S": ...}``), for types dynaorm does not know.
        decode: the reverse.
        codec: how the value is stored, in its attribute and in keys: one of ``dynaorm.codecs``.

    Examples:
        >>> class Place(Entity, table=app, pk="PLACE#{id}", sk="PLACE"):
        ...     id: str
        ...     state: Annotated[str, Attribute("State#Name", formerly="state")]
        >>> item_of(Place(id="1", state="ME"))["State#Name"]
        {'S': 'ME'}
    """

    name: str | None = None
    formerly: tuple[str, ...] = ()
    encode: Callable[[Any], AttributeValue] | None = None
    decode: Callable[[Any], Any] | None = None
    codec: StoredForm | None = None

    def __init__(
        self,
        name: str | None = None,
        formerly: str | tuple[str, ...] = (),
        encode: Callable[[Any], AttributeValue] | None = None,
        decode: Callable[[Any], Any] | None = None,
        *,
        codec: StoredForm | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "formerly", _names(formerly))
        object.__setattr__(self, "encode", encode)
        object.__setattr__(self, "decode", decode)
        object.__setattr__(self, "codec", codec)


MARKERS = (
    Unique,
    Versioned,
    InKey,
    ExpiresAt,
    CreatedAt,
    UpdatedAt,
    Attribute,
    Computed,
    OneOf,
    Stored,
    Vector,
)


# The markers of a field, and the errors for markers in the wrong place and for types that are not defined.
#
# A marker applies to the field in ``Annotated[str, Unique()]``, ``Annotated[str | None, Unique()]``, ``Annotated[str,
# Unique()] | None`` and aliases of these. In ``list[Annotated[str, Unique()]]`` it would apply to the members, which
# dynaorm does not support, so the class is refused.


def _names(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


_TEXTS: Final = ("name", "pk", "sk", "index")
_FUNCTIONS: Final = ("normalize", "encode", "decode")


def argument_problems(marker: object) -> Iterator[str]:
    """What is wrong with the arguments of a marker, one sentence each."""
    kind = type(marker).__name__
    for name, given in ((one, getattr(marker, one, None)) for one in (*_TEXTS, "scope", "formerly", "of")):
        texts = (given,) if name in _TEXTS else _names(given)
        if given is not None and not all(isinstance(text, str) for text in texts):
            yield f"{kind}({name}={shown(given)}) is not text; give {'a str' if name in _TEXTS else 'names'}"
    for name, given in ((one, getattr(marker, one, None)) for one in _FUNCTIONS):
        if given is not None and not callable(given):
            yield f"{kind}({name}={shown(given)}) is not a function; give one without calling it"
    yield from _no_choice(marker)
    shared, codec = getattr(marker, "shared", False), getattr(marker, "codec", None)
    if not isinstance(shared, bool):
        yield f"{kind}(shared={shown(shared)}) is neither True nor False; give one of them"
    if codec is not None and not isinstance(codec, StoredForm):
        yield f"{kind}(codec={shown(codec)}) is not a form; give one of dynaorm.codecs"


def _no_choice(marker: object) -> Iterator[str]:
    """Why an argument is none of those that there are, one sentence each."""
    unit: object = getattr(marker, "unit", None)
    if isinstance(marker, ExpiresAt) and not (isinstance(unit, str) and unit in [*WORDS]):
        yield f'ExpiresAt(unit={shown(unit)}) is not a unit of time; give "s" or "ms"'
    if isinstance(marker, OneOf):
        yield from _value_problems(marker.values)


def _value_problems(values: tuple[Any, ...]) -> Iterator[str]:
    """Why no field can have these values alone, one sentence each."""
    if not values:
        yield "OneOf() has no values, so no entity could be stored; give some: OneOf(range(1, 11))"
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str | Enum):
            yield f"OneOf() has the value {shown(value)}; give ints, texts or members of an Enum"
    if len(set(map(repr, values))) < len(values):
        yield "OneOf() has a value twice, and each is asked once; give it once"


@record
class AnnotatedField:
    """A field's type, the markers, what else stands beside it, and the problems with the markers' places."""

    tree: TypeTree
    metadata: tuple[object, ...]
    markers: tuple[object, ...]
    problems: tuple[str, ...] = ()

    @property
    def scalar(self) -> Scalar | None:
        """The scalar of the type, with the values of ``OneOf``."""
        found = scalar_of(self.tree)
        values = [value for one in self.find(OneOf) for value in one.values]
        return found if found is None or not values else replace(found, values=tuple(values))

    def find(self, kind: type) -> list[Any]:
        return [marker for marker in self.markers if isinstance(marker, kind)]


def parse_markers(name: str, info: FieldInfo) -> AnnotatedField:
    """The markers of one field."""
    tree = type_tree(info.annotation)
    metadata = [one for one in info.metadata if not _is_marker(one)]
    found = [*filter(_is_marker, info.metadata), *_outer_markers(tree)]
    markers = [one for one in found if not isinstance(one, type)]
    problems = [
        f"{name}: {one.__name__} is a class; write {one.__name__}()" for one in found if isinstance(one, type)
    ]
    problems += [
        f"{name}: {one!r} stands alone, where it has no effect; write Attribute(codec={one!r})"
        for one in metadata
        if isinstance(one, StoredForm)
    ]
    if _is_marker(info.default):
        kind = _kind(info.default)
        problems.append(f"{name}: {kind}() is its default value; write Annotated[<its type>, {kind}()]")
    misplaced = sorted({_kind(marker) for marker in _inner_markers(tree, set(), outer=True)})
    problems += [
        f"{name}: {kind}() stands inside the type, where it would mean a part of the value; "
        f"write Annotated[<the whole type>, {kind}()]"
        for kind in misplaced
    ]
    wrong = {
        id(one): found for one in markers if (found := [*argument_problems(one), *_not_of_type(one, tree)])
    }
    problems += [f"{name}: {problem}" for found in wrong.values() for problem in found]
    markers = [marker for marker in markers if id(marker) not in wrong]
    kinds = [type(marker) for marker in markers]
    problems += [
        f"{name}: {kind.__name__}() is given twice; keep one{_instead(kind, markers)}"
        for kind in MARKERS
        if kinds.count(kind) > 1
    ]
    return AnnotatedField(_with_values(tree, markers), tuple(metadata), tuple(markers), tuple(problems))


def _instead(kind: type, markers: list[object]) -> str:
    """How to get what a marker that is given twice may have been meant for: one value in two attributes."""
    names = [marker.name for marker in markers if isinstance(marker, Attribute) and marker.name is not None]
    if kind is not Attribute or len({*names}) < 2:
        return ""
    return f", and keep the value in {names[-1]!r}, too, with a computed field that has Stored({names[-1]!r})"


def tree_of_field(info: FieldInfo) -> TypeTree:
    """The type of a field: with ``OneOf(values)`` it is the Literal of these values."""
    return parse_markers("", info).tree


def _with_values(tree: TypeTree, markers: list[object]) -> TypeTree:
    for marker in markers:
        if isinstance(marker, OneOf):
            none = (None,) if tree.accepts_none else ()
            return type_tree(Literal[(*marker.values, *none)])
    return tree


def _not_of_type(marker: object, tree: TypeTree) -> Iterator[str]:
    """Why the values of ``OneOf`` are not those of the field's type, one sentence each."""
    kind = tree.without_none.plain
    for one in marker.values if isinstance(marker, OneOf) else ():
        if type(one) is not kind:
            yield (
                f"OneOf() has the value {one!r}, which is not a value of {tree.without_none.name}; "
                f"give values of the field's type, or change the type"
            )
            return


def complete(entity: type[BaseModel]) -> None:
    """Resolve the forward references of a class. Raises DeclarationError for one whose type is not known."""
    try:
        entity.model_rebuild()
    except PydanticUndefinedAnnotation as problem:
        kind, name = entity.__name__, str(problem.name)
        fields = [
            f"{field}: its annotation names"
            for field, info in entity.model_fields.items()
            if _marker_names(type_tree(info.annotation), name)
        ]
        raise DeclarationError(
            entity=kind,
            problems=tuple(
                f"{names} {name!r}, which is not defined; define or import {name} before the class is first used, or "
                f"call {kind}.model_rebuild() where {name} is known"
                for names in fields or ["an annotation in one of its types names"]
            ),
        ) from problem


def _marker_names(tree: TypeTree, name: str) -> bool:
    """Whether a name stands in a type that is not resolved, or in a field of a nested record."""
    written = re.compile(rf"\b{re.escape(name)}\b")
    return any(written.search(str(one.written)) for one in tree.walk())


def _is_marker(one: object) -> bool:
    """Whether it is a marker, or the class of one (a forgotten call)."""
    return isinstance(one, MARKERS) or (isinstance(one, type) and one in MARKERS)


def _kind(marker: object) -> str:
    return (marker if isinstance(marker, type) else type(marker)).__name__


def _outer_markers(tree: TypeTree) -> Iterator[object]:
    """Markers of the type, or of the only member of ``X | None``: both apply to the field."""
    yield from filter(_is_marker, tree.metadata)
    if len(tree.members) == 1:
        yield from _outer_markers(tree.members[0])


def _inner_markers(tree: TypeTree, seen: set[tuple[int, bool]], *, outer: bool) -> Iterator[object]:
    """Markers that apply to a part of the value: members of a container or union, fields of a nested record."""
    if (id(tree), outer) in seen:
        return
    seen.add((id(tree), outer))
    if not outer:
        yield from filter(_is_marker, tree.metadata)
    for field in tree.fields.values():
        # Attribute may rename the fields of a nested model; the other markers make no sense there.
        yield from (one for one in field.metadata if _is_marker(one) and not isinstance(one, Attribute))
        yield from _outer_markers(field.tree)
        yield from _inner_markers(field.tree, seen, outer=True)
    for part in tree.parts:
        yield from _inner_markers(part, seen, outer=outer and tree.members == (part,))

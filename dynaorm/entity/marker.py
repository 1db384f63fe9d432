"""The markers inside ``Annotated`` that say how a field is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Final

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dynaorm.entity.declaration import GivenWhen
from dynaorm.entity.expiry import WORDS, Unit
from dynaorm.entity.stored_form import StoredForm
from dynaorm.entity.type_tree import type_tree
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue
from dynaorm.record import record


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
        prefix: for a field of the type ``dict[str, ...]``: each member is an attribute of the item, whose name is the
            prefix and the member's key.

    Examples:
        >>> class Place(Entity, table=app, pk="PLACE#{id}", sk="PLACE"):
        ...     id: str
        ...     state: Annotated[str, Attribute("State#Name", formerly="state")]
        >>> item_of(Place(id="1", state="ME"))["State#Name"]
        {'S': 'ME'}
        >>> class Space(Entity, table=app, pk="SPACE#{id}", sk="SPACE"):
        ...     id: str
        ...     properties: Annotated[dict[str, str], Attribute(prefix="p.")] = {}
        >>> item_of(Space(id="1", properties={"owner": "ada"}))["p.owner"]
        {'S': 'ada'}
    """

    name: str | None = None
    formerly: tuple[str, ...] = ()
    encode: Callable[[Any], AttributeValue] | None = None
    decode: Callable[[Any], Any] | None = None
    codec: StoredForm | None = None
    prefix: str | None = None

    def __init__(
        self,
        name: str | None = None,
        formerly: str | tuple[str, ...] = (),
        encode: Callable[[Any], AttributeValue] | None = None,
        decode: Callable[[Any], Any] | None = None,
        *,
        codec: StoredForm | None = None,
        prefix: str | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "formerly", _names(formerly))
        object.__setattr__(self, "encode", encode)
        object.__setattr__(self, "decode", decode)
        object.__setattr__(self, "codec", codec)
        object.__setattr__(self, "prefix", prefix)


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


def _names(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


_TEXTS: Final = ("name", "pk", "sk", "index", "prefix")
_FUNCTIONS: Final = ("normalize", "encode", "decode")


def argument_problems(marker: object) -> Iterator[str]:
    """What is wrong with the arguments of a marker, one sentence each."""
    kind = type(marker).__name__
    for name, given in ((one, getattr(marker, one, None)) for one in (*_TEXTS, "scope", "formerly", "of")):
        texts = (given,) if name in _TEXTS else _names(given)
        if given is not None and not all(isinstance(one, str) for one in texts):
            yield f"{kind}({name}={shown(given)}) is no text; give {'a str' if name in _TEXTS else 'names'}"
    for name, given in ((one, getattr(marker, one, None)) for one in _FUNCTIONS):
        if given is not None and not callable(given):
            yield f"{kind}({name}={shown(given)}) is not a function; give one without calling it"
    yield from _no_choice(marker)
    if isinstance(marker, Attribute) and isinstance(marker.prefix, str):
        yield from _prefix_problems(marker)
    shared, codec = getattr(marker, "shared", False), getattr(marker, "codec", None)
    if not isinstance(shared, bool):
        yield f"{kind}(shared={shown(shared)}) is neither True nor False; give one of them"
    if codec is not None and not isinstance(codec, StoredForm):
        yield f"{kind}(codec={shown(codec)}) is no form; give one of dynaorm.codecs"


def _prefix_problems(marker: Attribute) -> Iterator[str]:
    """Why members cannot be stored under a prefix, one sentence each."""
    if not marker.prefix:
        yield "Attribute(prefix='') would make every attribute a member; give the beginning of their names"
    others = ("name", "formerly", "encode", "decode", "codec")
    if given := [one for one in others if getattr(marker, one)]:
        names = " and ".join(f"{one}=" for one in given)
        yield f"Attribute(prefix={marker.prefix!r}) stores each member by itself; drop {names}"


def _no_choice(marker: object) -> Iterator[str]:
    """Why an argument is none of those that there are, one sentence each."""
    unit: object = getattr(marker, "unit", None)
    if isinstance(marker, ExpiresAt) and not (isinstance(unit, str) and unit in [*WORDS]):
        yield f'ExpiresAt(unit={shown(unit)}) is no unit of time; give "s" or "ms"'
    if isinstance(marker, OneOf):
        yield from _value_problems(marker.values)


def _value_problems(values: tuple[Any, ...]) -> Iterator[str]:
    """Why no field can have these values alone, one sentence each."""
    if not values:
        yield "OneOf() has no values, so no entity could be stored; give some: OneOf(range(1, 11))"
    for one in values:
        if isinstance(one, bool) or not isinstance(one, int | str | Enum):
            yield f"OneOf() has the value {shown(one)}; give ints, texts or members of an Enum"
    if len(set(map(repr, values))) < len(values):
        yield "OneOf() has a value twice, and each is asked once; give it once"

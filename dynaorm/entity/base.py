"""``Entity``, the base class of entities. All class magic is in this file.

It stores the keywords of the class statement, builds the mapping once pydantic has resolved all forward references,
and gives copies and pickles of an entity its snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from typing_extensions import Unpack

from dynaorm.entity.state import SLOT, carried_by, put_values, set_state, slot_of
from dynaorm.entity.table import UNSET, Table, _Unset
from dynaorm.errors import DeclarationError, UnknownField, UsageError
from dynaorm.failure import shown
from dynaorm.late import late

if TYPE_CHECKING:
    # With this metaclass, type checkers take a class as neither frozen nor not frozen (PEP 681) and accept
    # ``class Point(Entity, frozen=True)``.
    from pydantic._internal._model_construction import ModelMetaclass

    from dynaorm.entity.declare import draft
    from dynaorm.entity.declare import entity as declaration
    from dynaorm.entity.mapping import mapping as mappings
    from dynaorm.entity.mapping import secret, validate
else:
    ModelMetaclass = type(BaseModel)
    late(
        globals(),
        draft="dynaorm.entity.declare.draft",
        declaration="dynaorm.entity.declare.entity",
        mappings="dynaorm.entity.mapping.mapping",
        secret="dynaorm.entity.mapping.secret",
        validate="dynaorm.entity.mapping.validate",
    )


class Entity(BaseModel, metaclass=ModelMetaclass, defer_build=True):
    """A pydantic model stored in a DynamoDB table.

    ``class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE")``

    Keywords of the class statement:
        table: the ``Table`` that stores it; None makes a subclass of a mapped class a plain model.
        pk, sk: key templates of literal text and ``{field}`` or ``{field:spec}``.
        name: a stable name, the value of the type attribute; default the name of the class. None: a field of the class
            is the type attribute.
        formerly: earlier names, which stored items may still have; the next save that changes an item renames it.
        unique: composite unique constraints, ``{"name": ("field", ...)}``.
        versioned: True, or a sort key template with ``{version}`` (and ``{sk}``).
        version_padding: digits to which version numbers in keys are padded, except in the key of the latest copy.

    Other keywords are pydantic's. Subclasses of a mapped class share its keys.

    Raises:
        DeclarationError: by the class statement, with every problem of the class.

    Examples:
        >>> class Song(Entity, table=app, pk="ARTIST#{artist}", sk="SONG#{title}"):
        ...     artist: str
        ...     title: str
        >>> item_of(Song(artist="Nina", title="Feeling Good"))["SK"]
        {'S': 'SONG#Feeling Good'}
    """

    __slots__ = (SLOT,)

    def __init_subclass__(
        cls,
        *,
        table: Table | _Unset | None = UNSET,
        pk: str | _Unset = UNSET,
        sk: str | _Unset = UNSET,
        name: str | _Unset | None = UNSET,
        formerly: str | tuple[str, ...] | _Unset = UNSET,
        unique: Mapping[str, tuple[str, ...] | str] | _Unset = UNSET,
        versioned: bool | str | _Unset = UNSET,
        version_padding: int | _Unset = UNSET,
        **config: Unpack[ConfigDict],
    ) -> None:
        super().__init_subclass__()
        if problems := tuple(draft.misnamed(vars(cls))):
            raise DeclarationError(entity=cls.__name__, problems=problems)
        given = {
            "table": table,
            "pk": pk,
            "sk": sk,
            "name": name,
            "formerly": formerly,
            "unique": unique,
            "versioned": versioned,
            "version_padding": version_padding,
            **config,
        }
        setattr(cls, draft.OPTIONS, draft.options_of(cls, given))

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        options = draft.declared_options(cls)
        if options.table is None and not options.problems:
            return
        try:
            declaration.declare(cls, options)
        except DeclarationError as error:
            setattr(cls, mappings.FAILURE, error)
            raise

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # ``model_copy`` and assignment do not validate, so a secret field may hold a plain value.
        secret_fields = secret.secret_fields(type(self))
        for name, value in super().__repr_args__():
            bare = name in secret_fields and secret.is_bare(value)
            yield name, secret.masked(value) if bare else value

    def __copy__(self) -> Self:
        return _carry(self, super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return _carry(self, super().__deepcopy__(memo))

    def __getstate__(self) -> dict[Any, Any]:
        return {**super().__getstate__(), SLOT: slot_of(self)}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        set_state(self, state.pop(SLOT, None))
        super().__setstate__(state)


# Pydantic builds the schema of Entity itself when it is first used, which is hardly ever: to build one, it imports half
# of its modules. The schema of a subclass is built at once.
del Entity.model_config["defer_build"]

E = TypeVar("E", bound=Entity)


def _carry(source: Entity, copy: E) -> E:
    # Copies share the snapshot because it is immutable.
    if (state := carried_by(source)) is not None:
        set_state(copy, state)
    return copy


def detached(entity: E, /, **changes: Any) -> E:
    """A new entity with the same values and ``changes``. Saving it inserts it, even if the original was loaded.

    Args:
        **changes: fields with other values.

    Raises:
        UnknownField: the name of a change is not a field of the class.
        InvalidValue: a value is not valid for its field.

    Examples:
        >>> liz = session.get_one(User, user_id="1")
        >>> session.save(detached(liz, user_id="2", email="liz2@x.com"))
        User(user_id='2', email='liz2@x.com', name='Liz', visits=0)
    """
    cls = type(entity)
    if not isinstance(entity, BaseModel):
        raise UsageError(
            problem=f"detached() takes an entity, and got {shown(entity)}",
            remedy="give an object of an entity class",
        )
    for name in changes:
        if name not in cls.model_fields:
            raise UnknownField(entity=cls.__name__, field=name, known=tuple(cls.model_fields))
    copy: E = entity.model_copy(update=changes)
    set_state(copy, None)
    if changes:
        mapping, values = mappings.mapping_of(cls), vars(copy)
        # ``model_copy`` does not validate.
        put_values(copy, {name: validate.validated_field(mapping, name, values) for name in changes})
    return copy

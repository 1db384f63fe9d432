"""What a stream says about one entity: it was inserted, changed or deleted, or its record cannot be read."""

from dataclasses import field
from datetime import datetime
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from dynaorm.entity.key import Key
from dynaorm.errors import DecodeError, UsageError
from dynaorm.item.value import Item
from dynaorm.record import record

E = TypeVar("E")


@record
class Inserted(Generic[E]):
    """An entity was stored where there was none. A versioned entity may have been deleted before.

    Attributes:
        new_or_none: the entity as stored; None if the stream carries no new images.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> [change] = changes(event, app)
        >>> change.new.email
        'ada@x.com'
    """

    new_or_none: E | None
    key: Key[E]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def new(self) -> E:
        """The entity as stored. Raises UsageError if the stream carries no new images."""
        return self.new_or_none if self.new_or_none is not None else _without("new", self.key)


@record
class Changed(Generic[E]):
    """A stored entity was written again. ``old`` and ``new`` are of the same class.

    Attributes:
        old_or_none: the entity before; None if the stream carries no old images, or if it cannot be read.
        new_or_none: the entity as stored; None if the stream carries no new images.
        fields_or_none: the fields whose values differ; None if one of the two is not known. It is empty if only
            attributes changed that no field knows, such as the revision.
        totals_only: whether only fields changed that an ``Aggregate`` maintains; None if that is not known.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        old_error: why the entity before cannot be read.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     liz = writing.update(Key(User, user_id="1"), F.visits.add(1))
        >>> [change] = changes(event, app)
        >>> change.fields, change.old.visits, change.new.visits
        (..., 0, 1)
    """

    old_or_none: E | None
    new_or_none: E | None
    fields_or_none: frozenset[str] | None
    totals_only: bool | None
    key: Key[E]
    sequence: str
    at: datetime | None
    old_error: DecodeError | None = None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def old(self) -> E:
        """The entity before. Raises UsageError if the stream carries no old images, DecodeError if it is not valid."""
        return self.old_or_none if self.old_or_none is not None else _without("old", self.key, self.old_error)

    @property
    def new(self) -> E:
        """The entity as stored. Raises UsageError if the stream carries no new images."""
        return self.new_or_none if self.new_or_none is not None else _without("new", self.key)

    @property
    def fields(self) -> frozenset[str]:
        """The fields whose values differ. Raises the errors of ``old`` and ``new``."""
        if self.fields_or_none is None:
            # One of the two is not known, and its property raises the error that says why.
            _ = self.old, self.new
        assert self.fields_or_none is not None  # both are known
        return self.fields_or_none


@record
class Deleted(Generic[E]):
    """A stored entity was deleted.

    Attributes:
        old_or_none: the entity before; None if the stream carries no old images, or if it cannot be read.
        expired: whether DynamoDB deleted it by TTL.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was deleted (UTC); None if the record does not say.
        old_error: why the entity before cannot be read.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     writing.delete(Key(Ticket, project="p1", number=1))
        >>> [change] = changes(event, app)
        >>> change.old.status, change.expired
        ('open', False)
    """

    old_or_none: E | None
    expired: bool
    key: Key[E]
    sequence: str
    at: datetime | None
    old_error: DecodeError | None = None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def old(self) -> E:
        """The entity before. Raises UsageError if the stream carries no old images, DecodeError if it is not valid."""
        return self.old_or_none if self.old_or_none is not None else _without("old", self.key, self.old_error)


@record
class Unreadable:
    """A record does not say what happened to an entity.

    Its item is not valid for its class or is of no class, or what stands in the place of the record is none.

    Attributes:
        record: the record as it was given; a mapping, unless it is no record at all.
        error: what is wrong.
        key: the key of the item, with its class if its form names one.
        sequence: the sequence number of the stream record; empty if it has none.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this record; None for other sources.

    Examples:
        >>> [change] = changes([{"eventName": "INSERT"}], app)
        >>> type(change).__name__
        'Unreadable'
    """

    record: Any = field(repr=False)
    error: DecodeError
    key: Key[Any]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)


@record
class Internal:
    """An item was written that is no entity, such as a guard item or a version item.

    Attributes:
        kind: ``"guard"``, ``"version"``, ``"tombstone"`` or ``"token"``.
        old: the item before; None if there was none, or if the stream carries no old images.
        new: the item as stored; None if there is none, or if the stream carries no new images.
        key: the key of the item, without a class.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this record; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> [change.kind for change in changes(event, app, internal=True) if isinstance(change, Internal)]
        ['guard']
    """

    kind: str
    old: Item | None = field(repr=False)
    new: Item | None = field(repr=False)
    key: Key[Any]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)


StreamChange: TypeAlias = Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable
"""What a record of a stream means for an entity."""

AnyChange: TypeAlias = StreamChange | Internal
"""The same, and the writes of items that are no entities (``internal=True``)."""


def _without(which: str, key: Key[Any], error: DecodeError | None = None) -> NoReturn:
    if error is not None:
        raise error
    raise UsageError(
        problem=f"the stream carries no {which} image of {key!r}",
        remedy="switch the stream to NEW_AND_OLD_IMAGES, or read the entity with session.get(change.key)",
    )

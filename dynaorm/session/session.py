"""``Session``: loads, stores and queries entities.

``make async`` generates ``AsyncSession`` from this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypeAlias, TypeVar, overload

from dynaorm.argument import check_flag
from dynaorm.errors import DecodeError, SessionClosed, StoreError
from dynaorm.flow.call import DEFAULT_RETRY, WINDOW_SECONDS, Clock, Flow, Retry, Transport
from dynaorm.flow.windows import CONCURRENCY, Progress
from dynaorm.late import late
from dynaorm.session.drive import drive
from dynaorm.session.settings import (
    check_transport,
    close_transport,
    context_of,
    default_transport,
    watch_of,
)
from dynaorm.transport.process import NotPicklable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from dynaorm.entity.key import Key
    from dynaorm.entity.mapping import mapping as mappings
    from dynaorm.entity.table import IndexOf, Table
    from dynaorm.entity.version import Version
    from dynaorm.flow import (
        bulk_read,
        bulk_write,
        commit,
        history,
        tables,
        write,
    )
    from dynaorm.flow import entity as verbs
    from dynaorm.flow import get as gets
    from dynaorm.flow import read as reads
    from dynaorm.item.condition import Condition
    from dynaorm.item.update import Change
    from dynaorm.plan import intent
    from dynaorm.plan.plan import Plan
    from dynaorm.query import query_spec, search_spec
    from dynaorm.session import query as queries
    from dynaorm.session import search as searches
    from dynaorm.session import transaction as block
    from dynaorm.session.deadline import FlowWatch, OnAttempt
    from dynaorm.transport.http.credentials import GivenCredentials
else:
    late(
        globals(),
        block="dynaorm.session.transaction",
        bulk_read="dynaorm.flow.bulk_read",
        bulk_write="dynaorm.flow.bulk_write",
        commit="dynaorm.flow.commit",
        gets="dynaorm.flow.get",
        history="dynaorm.flow.history",
        intent="dynaorm.plan.intent",
        mappings="dynaorm.entity.mapping.mapping",
        tables="dynaorm.flow.tables",
        queries="dynaorm.session.query",
        query_spec="dynaorm.query.query_spec",
        search_spec="dynaorm.query.search_spec",
        searches="dynaorm.session.search",
        reads="dynaorm.flow.read",
        verbs="dynaorm.flow.entity",
        write="dynaorm.flow.write",
    )

A = TypeVar("A", bound="BaseModel")
B = TypeVar("B", bound="BaseModel")
C = TypeVar("C", bound="BaseModel")
D = TypeVar("D", bound="BaseModel")
E = TypeVar("E", bound="BaseModel")
T = TypeVar("T")

Source: TypeAlias = "type[E] | IndexOf[E]"
"""What is read: a class, or its place in an index, ``Ticket.by_status``."""


class Session(NotPicklable):
    """Loads and stores entities.

    A session holds no entities. Threads may share a session, but not an entity.

    Args:
        region: the AWS region. Default: the region of the environment.
        endpoint: the URL of another DynamoDB endpoint, for example ``http://127.0.0.1:8000``; or a DynamoDB in this
            process: ``memory:``, ``memory:NAME`` for all sessions of the process, ``sqlite:FILE`` for all processes.
        profile: a profile of the AWS configuration files.
        credentials: anything with ``get_frozen_credentials()``, such as ``boto3.Session(...).get_credentials()``. It is
            asked for each request, and may refresh itself. Default: the credentials of the AWS configuration.
        transport: sends the requests. Default: connections of its own, or pynamodb's while a mock, a tracer or a
            setting needs botocore.
        table_names: the physical table names, as a mapping or a function of the declared names.
        retry: how often and for how long to repeat requests after conflicts, throttling and missing answers.
        exactly_once: send every write as a transaction with a token, at twice the price, so that a request without an
            answer can be repeated safely. Each method that writes can override it with its own ``exactly_once``.
        consistent: make reads strongly consistent by default. Reads that a plan depends on always are.
        on_decode_error: called with the ``DecodeError`` of each item in a list that does not fit its class, or whose
            class is unknown; the list then leaves the item out. Without this handler, an item that does not fit its
            class raises its error, and an item of an unknown class is left out.
        cursor_secret: signs and encrypts the cursors of pages, so that a client can neither forge nor read one: at
            least 16 random bytes.
        on_attempt: called with an ``Attempt`` after each attempt of a request, where it was made: in the event loop of
            an asynchronous session, not awaited, or in one of several threads. Its errors are only logged.
        log_values: the logger ``dynaorm`` writes one line per attempt at level DEBUG; True adds the request and the
            answer, with all their values.
        clock: the source of time, randomness and waiting, for tests.
        timeout: the seconds that one call may take, all attempts and pauses together; for iterations, each page.

    Raises:
        UsageError: an argument is not valid, such as a ``cursor_secret`` that is too short or an asynchronous function;
            ``region``, ``endpoint``, ``profile`` or ``credentials`` are given beside a transport, which has its own.

    Examples:
        >>> with Session(region="eu-west-1") as session:
        ...     liz = session.get(User, user_id="1")
        >>> liz.name
        'Liz'
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        credentials: GivenCredentials | None = None,
        transport: Transport | None = None,
        table_names: Mapping[str, str] | Callable[[str], str] | None = None,
        retry: Retry = DEFAULT_RETRY,
        consistent: bool = False,
        on_decode_error: Callable[[DecodeError], object] | None = None,
        cursor_secret: bytes | None = None,
        on_attempt: OnAttempt | None = None,
        log_values: bool = False,
        clock: Clock | None = None,
        exactly_once: bool = False,
        timeout: float | None = None,
    ) -> None:
        check_transport(transport, region=region, endpoint=endpoint, profile=profile, credentials=credentials)
        self._transport = transport or default_transport(region, endpoint, profile, credentials)
        self._owns_transport = transport is None
        self._context = context_of(
            table_names,
            retry,
            consistent,
            clock,
            on_decode_error=on_decode_error,
            cursor_secret=cursor_secret,
            exactly_once=exactly_once,
            timeout=timeout,
        )
        self._watch: FlowWatch = watch_of(on_attempt, log_values, self._context)
        self._closed = False

    # -- lifetime --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the session and its connections. A transport that you passed in stays open.

        A session in a ``with`` block is closed at its end. A method of a closed session raises ``SessionClosed``.

        Examples:
            >>> with Session(region="eu-west-1") as session:
            ...     found = session.get(User, user_id="1")
        """
        self._closed = True
        if self._owns_transport:
            close_transport(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, method: str, flow: Flow[T], /) -> T:
        if self._closed:
            raise SessionClosed
        return drive(self._watch.over(method, flow), self._transport, self._context.clock)

    def _write(self, method: str, flow: Flow[T]) -> T:
        block.refuse_inside(self, method)
        return self._run(method, flow)

    # -- tables ----------------------------------------------------------------------------------------------------

    def create_table(self, table: Table, /) -> None:
        """Create a table and its guard table with on-demand billing, and wait until both are active.

        TTL is enabled if a class of the table declares ``ExpiresAt()``, and the stream if the table declares one.
        Nothing else of an existing table is changed.

        Raises:
            UsageError: the table exists with other keys, without a declared index, with an index that lacks declared
                attributes, or with another stream.

        Examples:
            >>> session.create_table(Table("songs", indexes=[GlobalIndex("GSI1")]))
        """
        self._run("create_table", tables.create_table(table, self._context))

    def delete_table(self, table: Table, /, *, name: str, guard_table: str | None = None) -> None:
        """Delete a table with everything in it, and wait until it is gone. A table that is gone already is no error.

        Args:
            name: its physical name, so that no configuration deletes another table than the one you mean.
            guard_table: the physical name of its guard table, if that is to be deleted too. It stays otherwise, because
                other tables may share it.

        Raises:
            UsageError: ``name`` or ``guard_table`` is not the physical name; nothing was sent.
            UnexpectedRefusal: DynamoDB refuses it, for example because of deletion protection.

        Examples:
            >>> session.delete_table(app, name="app")
        """
        deleting = tables.delete_table(table, self._context, name=name, guard_table=guard_table)
        self._write("delete_table", deleting)

    # -- reading one entity ----------------------------------------------------------------------------------------

    @overload
    def get(self, target: type[E], /, **fields: Any) -> E | None: ...
    @overload
    def get(
        self,
        target: Key[E],
        /,
        *,
        version: int | None = None,
        as_of: datetime | None = None,
        consistent: bool | None = None,
    ) -> E | None: ...
    def get(self, target: Any, /, *_unnamed: Any, **fields: Any) -> Any:
        """Return the entity with a key, or None.

        An entity read with ``version=`` or ``as_of=`` is read-only.

        Args:
            target: the class, or a ``Key``, which options need.
            **fields: the fields of the key, beside a class.

        Keyword Args:
            version (int): with a ``Key``: this version of the entity instead of the latest.
            as_of (datetime): with a ``Key``: the entity as it was at that time.
            consistent (bool): with a ``Key``: whether the read is strongly consistent; default as the session says.

        Raises:
            UnknownField: a keyword is not a field of the key.
            UsageError: a field of the key is missing.
            InvalidValue: a value cannot be part of the key.
            NotVersioned: the class keeps no versions.
            DecodeError: the stored item does not fit the class.

        Examples:
            >>> session.get(User, user_id="1")
            User(user_id='1', email='liz@x.com', name='Liz', visits=0)
            >>> session.get(Key(Audit, equipment_id="e1"), version=1)
            Audit(equipment_id='e1', result='pass')
            >>> session.get(User, user_id="2") is None
            True
        """
        return self._run("get", gets.get(target, fields, self._context, _unnamed))

    @overload
    def get_one(self, target: type[E], /, **fields: Any) -> E: ...
    @overload
    def get_one(
        self,
        target: Key[E],
        /,
        *,
        version: int | None = None,
        as_of: datetime | None = None,
        consistent: bool | None = None,
    ) -> E: ...
    def get_one(self, target: Any, /, *_unnamed: Any, **fields: Any) -> Any:
        """Return the entity with a key, as ``get`` does, or raise an error.

        Args:
            target: the class, or a ``Key``, which options need.
            **fields: the fields of the key, beside a class.

        Keyword Args:
            version (int): as for ``get``.
            as_of (datetime): as for ``get``.
            consistent (bool): as for ``get``.

        Raises:
            EntityNotFound: there is no entity with this key.
            UnknownField: as for ``get``, like all that follow.
            UsageError: as for ``get``.
            InvalidValue: as for ``get``.
            NotVersioned: as for ``get``.
            DecodeError: as for ``get``.

        Examples:
            >>> session.get_one(User, user_id="1")
            User(user_id='1', email='liz@x.com', name='Liz', visits=0)
        """
        return self._run("get_one", gets.get_one(target, fields, self._context, _unnamed))

    def get_by(self, entity: type[E], /, **fields: Any) -> E | None:
        """Return the entity that holds a unique value, or None.

        Reads the guard item and then the entity, both strongly consistent. No index is needed.

        Args:
            entity: the class.
            **fields: the fields of one unique constraint, with their values.

        Raises:
            UsageError: the class has no unique constraint on exactly these fields.
            OwnerUnknown: the guard item names no owner.
            Contention: the guard item named another owner at every look.

        Examples:
            >>> session.get_by(User, email="liz@x.com")
            User(user_id='1', email='liz@x.com', name='Liz', visits=0)
        """
        return self._run("get_by", gets.get_by(mappings.mapping_of(entity), fields, self._context))

    @overload
    def exists(self, target: type[Any], /, **fields: Any) -> bool: ...
    @overload
    def exists(self, target: Key[Any], /, *, consistent: bool | None = None) -> bool: ...
    def exists(self, target: Any, /, *_unnamed: Any, **fields: Any) -> bool:
        """Return whether ``get`` finds an entity.

        Args:
            target: the class, or a ``Key``, which options need.
            **fields: the fields of the key, beside a class.

        Keyword Args:
            consistent (bool): as for ``get``.

        Raises:
            DynaormError: as for ``get``.

        Examples:
            >>> session.exists(User, user_id="1")
            True
        """
        return self._run("exists", gets.get(target, fields, self._context, _unnamed)) is not None

    def refresh(self, entity: E, /) -> E:
        """Read a loaded entity again, strongly consistent.

        Updates the object in place and returns it; for a frozen class, returns a new object.

        Raises:
            EntityNotFound: the entity no longer exists.
            UsageError: the entity is new, or was read at a version.

        Examples:
            >>> liz = session.get_one(User, user_id="1")
            >>> changed = session.update(Key(User, user_id="1"), F.visits.add(1))
            >>> fresh = session.refresh(liz)
            >>> liz.visits
            1
        """
        found: E = self._run("refresh", verbs.refresh(entity, self._context))
        return found

    # -- reading many entities -------------------------------------------------------------------------------------

    def query(self, source: Source[E], /, **fields: Any) -> queries.Query[E]:
        """Build a query of a table or an index by key. Nothing is sent until you iterate it or call an ending.

        Args:
            source: a class, or one of its indexes: ``Ticket.by_status``.
            **fields: fields of the key, each with its value, or with several: ``any_of("open", "working")``. Every
                field of the partition key is required. Fields of the sort key are optional, from the first on.

        Raises:
            UnknownField: a keyword is not a field of the class.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1")]
            [1, 2]
            >>> session.query(Ticket.by_status, status="open").descending().first()
            Ticket(project='p1', number=1, status='open')
        """
        return queries.Query(query_spec.queried(source, fields), self._context, self._run)

    def search(
        self, place: IndexOf[E], vector: Sequence[float], /, *, k: int = 10, **fields: Any
    ) -> searches.Search[E]:
        """Build a search for the entities whose vectors are nearest to one. Nothing is sent until you iterate it.

        Args:
            place: a place of a class in a vector index: ``Paper.semantic``.
            vector: as many numbers as the index has dimensions.
            k: the most matches: 1 to 100.
            **fields: the fields of the index's partition key, each with its value, or with several: ``any_of(...)``.

        Raises:
            UnknownField: a keyword is not a field of the class.
            InvalidValue: the index has no such vectors.
            UsageError: it is no place in a vector index, or ``k`` is not 1 to 100.

        Examples:
            ```python
            for match in session.search(Paper.semantic, [0.1, 0.9, 0.2], k=3, tenant="a"):
                print(match.score, match.entity.title)
            ```
        """
        return searches.Search(search_spec.searched(place, vector, k, fields), self._context, self._run)

    @overload
    def collection(self, first: Source[A], /, **fields: Any) -> queries.Collection[A, tuple[list[A]]]: ...
    @overload
    def collection(
        self, first: Source[A], second: Source[B], /, **fields: Any
    ) -> queries.Collection[A | B, tuple[list[A], list[B]]]: ...
    @overload
    def collection(
        self, first: Source[A], second: Source[B], third: Source[C], /, **fields: Any
    ) -> queries.Collection[A | B | C, tuple[list[A], list[B], list[C]]]: ...
    @overload
    def collection(
        self, first: Source[A], second: Source[B], third: Source[C], fourth: Source[D], /, **fields: Any
    ) -> queries.Collection[A | B | C | D, tuple[list[A], list[B], list[C], list[D]]]: ...
    @overload
    def collection(
        self, first: Source[Any], /, *others: Source[Any], **fields: Any
    ) -> queries.Collection[Any, tuple[list[Any], ...]]: ...
    def collection(self, first: Any, /, *others: Any, **fields: Any) -> queries.Collection[Any, Any]:
        """Build one query for the entities of several classes in one item collection.

        Args:
            first: a class, or one of its indexes.
            *others: other classes of the same table whose partition keys have the same form, or their entries in the
                same index.
            **fields: the fields of the partition key, under the names of any one of the classes.

        Raises:
            UnknownField: a keyword is not a field of any of the classes.
            UsageError: the classes do not share a table or an index.

        Examples:
            >>> users, orders = session.collection(User, Order, user_id="1").split()
            >>> len(users), len(orders)
            (1, 1)
        """
        return queries.Collection(query_spec.collected((first, *others), fields), self._context, self._run)

    def scan(self, source: Source[E], /, *, segments: int = 1) -> queries.Query[E]:
        """Build a scan for every entity of a class, or of one of its indexes, in no particular order.

        A scan reads the whole table or index.

        Args:
            source: a class, or one of its indexes.
            segments: the number of parts that are read at the same time (Scan's ``TotalSegments``).

        Raises:
            UsageError: ``segments`` is not 1 to 1,000,000.

        Examples:
            >>> session.scan(Ticket).filter(F.status == "open").count()
            1
        """
        return queries.Query(query_spec.scanned(source, segments), self._context, self._run)

    @overload
    def get_many(
        self, keys: Iterable[Key[E]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[E | None]: ...
    @overload
    def get_many(
        self, keys: Iterable[Key[Any]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[Any]: ...
    def get_many(
        self, keys: Iterable[Key[Any]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[Any]:
        """Return the entity with each key, in the order of the keys; None for a key without an entity.

        Keys may belong to several classes and tables. A key given twice returns the same object twice. Each
        BatchGetItem reads 100 keys.

        Args:
            consistent: whether the reads are strongly consistent; default as the session says.
            concurrency: the number of requests at a time; 8 unless given.

        Raises:
            UsageError: one of the keys is not a ``Key``.
            DecodeError: an item does not fit its class. If the session has ``on_decode_error``, the handler is called
                and the list has None in place of the entity.

        Examples:
            >>> session.get_many([Key(User, user_id="2"), Key(Ticket, project="p1", number=2)])
            [None, Ticket(project='p1', number=2, status='closed')]
        """
        return self._run(
            "get_many",
            bulk_read.get_many(keys, self._context, consistent=consistent, concurrency=concurrency),
        )

    @overload
    def snapshot(self, keys: Iterable[Key[E]], /) -> list[E | None]: ...
    @overload
    def snapshot(self, keys: Iterable[Key[Any]], /) -> list[Any]: ...
    def snapshot(self, keys: Iterable[Key[Any]], /) -> list[Any]:
        """Return the entity with each key, all as they are at one moment; None for a key without an entity.

        One TransactGetItems reads up to 100 items, of 4 MB together, for 2 read units per 4 KB of each item. It is
        repeated while another transaction writes one of them. Otherwise as ``get_many``.

        Args:
            keys: the keys, at most 100.

        Raises:
            UsageError: one of the keys is not a ``Key``, or there are more than 100.
            DecodeError: an item does not fit its class.
            Contention: there was a conflict at every attempt.

        Examples:
            >>> liz, first = session.snapshot([Key(User, user_id="1"), Key(Ticket, project="p1", number=1)])
            >>> liz.name, first.status
            ('Liz', 'open')
        """
        return self._run("snapshot", bulk_read.snapshot(keys, self._context))

    # -- writing one entity ----------------------------------------------------------------------------------------

    def save(
        self,
        entity: E,
        /,
        *,
        condition: Condition | None = None,
        overwrite: bool = False,
        replacing: Condition | None = None,
        exactly_once: bool | None = None,
    ) -> E:
        """Insert a new entity, or write the changed fields of a loaded one, in one write request.

        An unchanged entity sends nothing without a ``condition``.

        Args:
            condition: what must hold for the stored entity, or for the new one.
            overwrite: replace any entity of the class that is stored under the key. One PutItem, where nothing is
                derived from the entity: no unique values, versions, totals, time of creation or numbered revision.
                Otherwise the item is read first, and what is derived stays correct.
            replacing: as ``overwrite``, if this condition holds for the stored entity, or if it has expired.
            exactly_once: send a transaction with a token, so that a request without an answer can be repeated safely.
                Without it, a plain insert can come back after a deletion. Default as the session says.

        Returns:
            The entity.

        Raises:
            AlreadyExists: another entity has its key.
            UniqueViolation: another entity holds a unique value.
            StaleEntity: another writer saved or deleted the entity since it was loaded.
            ConditionFailed: your condition is false.
            InvalidValue: a value is not valid; nothing was sent.
            OutcomeUnknown: no answer came; see ``resume``.

        Examples:
            >>> bob = session.save(User(user_id="2", email="bob@x.com"))
            >>> bob.name = "Bob"
            >>> session.save(bob)
            User(user_id='2', email='bob@x.com', name='Bob', visits=0)
            >>> session.save(User(user_id="3", email="bob@x.com"))
            Traceback (most recent call last):
            dynaorm.errors.UniqueViolation: ...
        """
        saving = [block.save_of(entity, condition, replacing, overwrite=overwrite)]
        self._write("save", commit.commit(saving, self._context, exactly_once=exactly_once))
        return entity

    @overload
    def update(
        self,
        target: Key[E],
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool | None = None,
    ) -> E: ...
    @overload
    def update(
        self,
        target: E,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool | None = None,
    ) -> E: ...
    def update(
        self,
        target: Any,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool | None = None,
        **_fields: Any,
    ) -> Any:
        """Change some fields, and return the entity as this update left it.

        Sends one UpdateItem without a read, unless something that depends on a changed field is not decided by the
        call; the documentation lists every case. A loaded entity is updated only if its revision is unchanged; the
        object is updated in place unless its class is frozen.

        Args:
            target: a loaded entity, or a ``Key``.
            *changes: changes made with ``F``, such as ``F.visits.add(1)``, or mappings of fields to values.
            condition: what must hold for the stored entity.
            exactly_once: read the item unless it is loaded, and send a transaction with a token on its revision, which
                can be repeated safely. Default as the session says.

        Raises:
            EntityNotFound: there is no entity with this key.
            StaleEntity: another writer saved or deleted the loaded entity.
            ConditionFailed: your condition is false.
            InvalidValue: the entity would not be valid; nothing was written.
            OutcomeUnknown: no answer came, and the stored item does not show the update.
            Contention: other writers changed the item during every attempt.

        Examples:
            >>> session.update(Key(User, user_id="1"), F.visits.add(1), condition=F.visits < 10)
            User(user_id='1', email='liz@x.com', name='Liz', visits=1)
        """
        reads.key_or_object("update", target, _fields)
        edit = verbs.edit_of(target, changes, block.checked_condition(target, condition))
        return self._write("update", verbs.update(edit, self._context, exactly_once=exactly_once))

    def upsert(
        self,
        target: Key[E],
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool | None = None,
        **_fields: Never,
    ) -> E:
        """Change the entity with a key; if there is none, create it from the key, its defaults and the changes.

        Sends one UpdateItem without a read, unless ``update`` would read, or what it would create has versions, totals,
        unique values, or index keys that depend on other fields; the documentation lists every case. Then it reads, and
        inserts or updates on condition that nothing else happened in between. Returns the entity as stored. Without
        changes, an entity that exists is returned as it is.

        Args:
            target: the ``Key``.
            *changes: as for ``update``.
            condition: what must hold for the stored entity, or for the defaults where nothing is stored.
            exactly_once: as for ``update``.

        Raises:
            UsageError: a required field has no value if the entity has to be created. Nothing was sent.
            AlreadyExists: an item of another class has the key.
            UniqueViolation: a unique value is taken.
            InvalidValue: as for ``update``, like all that follow.
            ConditionFailed: as for ``update``.
            OutcomeUnknown: as for ``update``.
            Contention: as for ``update``.

        Examples:
            >>> session.upsert(Key(Ticket, project="p1", number=3), F.status.set("new"))
            Ticket(project='p1', number=3, status='new')
        """
        reads.key_or_object("upsert", target, _fields)
        edit = verbs.upsert_of(target, changes, block.checked_condition(target, condition))
        found: E = self._write("upsert", verbs.update(edit, self._context, exactly_once=exactly_once))
        return found

    def touch(self, entity: E, /, *, exactly_once: bool | None = None) -> E:
        """Write a new revision of a loaded entity, and nothing else, if it is unchanged since it was loaded.

        This is the heartbeat of a lock or a lease: whoever loaded the entity before is refused from then on. Fields
        that you changed are not saved. ``UpdatedAt`` is set; a class that versions all its fields gets a version then.

        Args:
            entity: the loaded entity.
            exactly_once: that of ``update``.

        Returns:
            The entity; for a frozen class, a new object.

        Raises:
            StaleEntity: another writer saved or deleted it since it was loaded.
            UsageError: it is new, or its class has neither a revision nor ``UpdatedAt``.
            OutcomeUnknown: no answer came.

        Examples:
            >>> liz = session.get_one(User, user_id="1")
            >>> before = inspect(liz).revision
            >>> inspect(session.touch(liz)).revision == before
            False
        """
        edit = verbs.touch_of(entity)
        touched: E = self._write("touch", verbs.update(edit, self._context, exactly_once=exactly_once))
        return touched

    def next_number(self, target: Key[Any], field: str, /, *, exactly_once: bool | None = None) -> int:
        """Add 1 to a counter, and return what it is then. No two calls return the same number.

        One UpdateItem, without a read. Where the key and the defaults suffice, the first call creates the entity, and
        counts from the field's default. A number that is not used after all leaves a gap; the documentation shows
        numbers without gaps.

        Args:
            target: the ``Key`` of the entity with the counter.
            field: the name of a field that holds an int.
            exactly_once: that of ``update``: after a lost answer, the number of this call is found out.

        Raises:
            UnknownField: the class has no such field.
            EntityNotFound: the entity is not stored, and cannot be created from its key and its defaults.
            UsageError: ``target`` is no ``Key``.
            InvalidValue: the field holds no number, or the number would break a rule of the field.
            OutcomeUnknown: no answer came. Call it again; a number may be left out.

        Examples:
            >>> counter = Key(User, user_id="1")
            >>> [session.next_number(counter, "visits"), session.next_number(counter, "visits")]
            [1, 2]
        """
        counting = verbs.next_number(target, field, self._context, exactly_once=exactly_once)
        return self._write("next_number", counting)

    def move(self, entity: E, /, *, exactly_once: bool | None = None) -> E:
        """Store a loaded entity under the primary key that its fields now give, in one transaction with its guards.

        Args:
            exactly_once: changes nothing unless the key is unchanged, because a move is always a transaction with a
                token.

        Raises:
            AlreadyExists: another entity has the new key.
            StaleEntity: another writer saved or deleted the entity since it was loaded.

        Examples:
            >>> ticket = session.get_one(Ticket, project="p1", number=1)
            >>> ticket.project = "p2"
            >>> session.move(ticket)
            Ticket(project='p2', number=1, status='open')
        """
        self._write("move", commit.commit([intent.Move(entity)], self._context, exactly_once=exactly_once))
        return entity

    @overload
    def delete(
        self,
        target: type[E],
        /,
        *,
        condition: Condition | None = None,
        returning: Literal[True],
        exactly_once: bool | None = None,
        **fields: Any,
    ) -> E | None: ...
    @overload
    def delete(
        self,
        target: type[Any],
        /,
        *,
        condition: Condition | None = None,
        returning: Literal[False] = False,
        exactly_once: bool | None = None,
        **fields: Any,
    ) -> None: ...
    @overload
    def delete(
        self,
        target: Key[E],
        /,
        *,
        condition: Condition | None = None,
        returning: Literal[True],
        exactly_once: bool | None = None,
    ) -> E | None: ...
    @overload
    def delete(
        self,
        target: E,
        /,
        *,
        condition: Condition | None = None,
        returning: Literal[True],
        exactly_once: bool | None = None,
    ) -> E | None: ...
    @overload
    def delete(
        self,
        target: Key[Any] | Any,
        /,
        *,
        condition: Condition | None = None,
        returning: Literal[False] = False,
        exactly_once: bool | None = None,
    ) -> None: ...
    def delete(
        self,
        target: Any,
        /,
        *,
        condition: Condition | None = None,
        returning: bool = False,
        exactly_once: bool | None = None,
        **fields: Any,
    ) -> Any:
        """Delete a loaded entity, or the entity with a key, and release its unique values.

        A plain delete by key that got no answer is not sent again while something is stored under the key: it could
        delete what another writer created since.

        Args:
            target: a loaded entity, a ``Key``, or the class.
            **fields: the fields of the key, beside a class. One with the name of an option needs a ``Key``.
            condition: what must hold for the stored entity.
            returning: return what was deleted. DeleteItem says it; a transaction, which does not, reads it first.
            exactly_once: send a transaction with a token, which can be repeated. Default as the session says.

        Returns:
            With ``returning``, the entity that was deleted, as a new one. None if no answer came, and nothing is stored
            any more: nobody knows what was.

        Raises:
            EntityNotFound: there is no entity with this key.
            StaleEntity: another writer saved or deleted the loaded entity.
            ConditionFailed: your condition is false.
            OutcomeUnknown: no answer came, and something is stored under the key.
            DecodeError: what was deleted does not fit its class.
            UsageError: the entity is new.

        Examples:
            >>> session.delete(Key(Ticket, project="p1", number=2), returning=True)
            Ticket(project='p1', number=2, status='closed')
            >>> session.delete(User, user_id="1")
            >>> session.get_by(User, email="liz@x.com") is None
            True
        """
        check_flag("returning={}", returning)
        named = reads.key_or_object("delete", target, fields, by_fields=True)
        removal = intent.Deletion(named, block.checked_condition(named, condition), returning)
        return self._write("delete", verbs.delete(removal, self._context, exactly_once=exactly_once))

    # -- writing many entities -------------------------------------------------------------------------------------
    # These methods take entities from an iterator in windows of some hundred, one after the other.

    def save_many(
        self,
        entities: Iterable[E],
        /,
        *,
        per_transaction: int = 1,
        concurrency: int = CONCURRENCY,
        progress: Progress | None = None,
    ) -> list[E]:
        """Save each entity as ``save`` does, with a request of its own, and return the entities.

        Not atomic: every entity is attempted, and those that succeed stay saved. An object given twice is saved once.
        Two objects with the same key are two saves, and one of them fails. Of each window, entities with totals are
        saved before those that are counted in them.

        Args:
            entities: the entities. In more than one window, those with totals have to come first.
            per_transaction: save so many entities, in the order given, by one transaction, which updates each total
                once. A transaction that is refused because of an entity is divided and sent again, so that only that
                entity fails.
            concurrency: the number of requests at a time; 8 unless given.
            progress: called in your thread as ``progress(done, total)`` after each window of some hundred entities;
                ``total`` is None if ``entities`` has no length.

        Raises:
            BulkError: some entities failed. ``.failures`` has each of them with its error.
            UsageError: ``per_transaction`` is not 1 to 100.

        Examples:
            >>> saved = session.save_many([Ticket(project="p9", number=number) for number in range(3)])
            >>> session.query(Ticket, project="p9").count()
            3
        """
        flow = bulk_write.save_many(
            entities,
            self._context,
            per_transaction=per_transaction,
            concurrency=concurrency,
            progress=progress,
        )
        return self._write("save_many", flow)

    def delete_many(
        self,
        targets: Iterable[Key[Any] | Any],
        /,
        *,
        per_transaction: int = 1,
        concurrency: int = CONCURRENCY,
        progress: Progress | None = None,
    ) -> None:
        """Delete each loaded entity, or the entity with each key, as ``delete`` does, with a request of its own.

        Not atomic: every entity is attempted, and those that succeed stay deleted.

        Args:
            targets: loaded entities and keys.
            per_transaction: as for ``save_many``.
            concurrency: as for ``save_many``.
            progress: as for ``save_many``.

        Raises:
            BulkError: some entities failed. ``.failures`` has each entity or key with its error.
            UsageError: ``per_transaction`` is not 1 to 100.

        Examples:
            >>> session.delete_many([Key(Ticket, project="p1", number=1), Key(Ticket, project="p1", number=2)])
        """
        flow = bulk_write.delete_many(
            targets,
            self._context,
            per_transaction=per_transaction,
            concurrency=concurrency,
            progress=progress,
        )
        self._write("delete_many", flow)

    def bulk_load(
        self, entities: Iterable[Any], /, *, concurrency: int = CONCURRENCY, progress: Progress | None = None
    ) -> int:
        """Store each entity as it is, replacing any item with the same key, and return how many were stored.

        The fastest way to load many entities: each BatchWriteItem stores 25. Nothing is compared with the stored items:
        of two entities with the same key, the last one stays.

        Args:
            concurrency: as for ``save_many``.
            progress: as for ``save_many``.

        Raises:
            UsageError: a class has unique values, versions or totals: use ``save_many``. Nothing was sent; for an
                iterator, earlier windows were.
            BulkError: some entities failed, the others are stored. ``.failures`` has each of them with its error.
            TableNotFound: the table does not exist; the remaining entities were not sent.

        Examples:
            >>> session.bulk_load(Ticket(project="p9", number=number) for number in range(100))
            100
        """
        flow = bulk_write.bulk_load(entities, self._context, concurrency=concurrency, progress=progress)
        return self._write("bulk_load", flow)

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(
        self, token: str | None = None, *, remember: timedelta | None = None
    ) -> Iterator[block.Transaction]:
        """Open a block whose writes are sent as one TransactWriteItems at its end, all or nothing.

        If the block raises, nothing is sent.

        Args:
            token: an identifier of your own, 1 to 1000 bytes. An equal block with it is applied only once, whatever
                happened to the entities since, and whatever process runs it again. Blocks are equal if you give the
                same changes; stored values do not matter. The block stores one more item, which remembers the token.
                It is stored with the guard items of the first entity, and costs two write units.
            remember: how long the token is remembered, at least ten minutes; None for a day. DynamoDB deletes the item
                afterwards if TTL is enabled: see the documentation.

        Raises:
            UsageError: the token is empty or too long; ``remember`` is not a positive duration, or has no token; the
                table of guard items has no string keys.
            PlanTooLarge: the block needs more than 100 actions or 4 MB; nothing was sent.
            SameItemTwice: two writes of the block are about one item, and cannot be one action.
            TokenReused: the token is remembered for other changes.
            OutcomeUnknown: no answer came; or the token is remembered, perhaps for this block.
            DynaormError: as for the single writes.

        Examples:
            >>> with session.transaction() as tx:
            ...     tx.delete(Key(Ticket, project="p1", number=2))
            ...     tx.update(Key(User, user_id="1"), F.visits.add(1))
        """
        tx = block.Transaction(token, remember)
        with self._block(tx):
            yield tx
        block.run_hooks(tx.hooks)

    @contextmanager
    def _block(self, tx: block.Transaction) -> Iterator[None]:
        with block.collecting(self, tx):
            yield
        # After ``with``, not in it: a block that raises sends nothing.
        self._run("transaction", commit.commit(block.close_block(tx), self._context, tx.token, tx.remember))

    def run(
        self,
        work: block.Work[T],
        /,
        *,
        attempts: int = 5,
        retry_on: type[StoreError] | tuple[type[StoreError], ...] = (),
    ) -> T:
        """Call ``work(tx)`` in a new transaction, again after StaleEntity or Contention, and return its result.

        Load what you change inside ``work``: later attempts need new objects. ``Retry(seconds=...)`` limits the time.

        Args:
            work: a function that takes a ``Transaction``.
            attempts: how often it is called at most.
            retry_on: call it again after these refusals of the block, too, such as ``ConditionFailed`` where its
                condition is that nobody else was first. Those that ``work`` itself raises are raised at once.

        Raises:
            Contention: other writers changed what ``work`` wrote during every attempt; ``causes`` has the last error.
            StaleEntity: ``work`` itself raised it in the last attempt.
            UsageError: ``attempts`` is less than 1.

        Examples:
            >>> def close(tx):
            ...     ticket = session.get_one(Ticket, project="p1", number=1)
            ...     ticket.status = "closed"
            ...     return tx.save(ticket)
            >>> session.run(close)
            Ticket(project='p1', number=1, status='closed')
        """
        block.check_run(work, attempts)
        tries = block.RunAttempts(block.pauses_of(self._context, attempts), retry_on)
        while True:
            tx = block.Transaction()
            try:
                with self._block(tx):
                    result = work(tx)
            except tries.lost as lost:
                self._run("run", block.waiting(tries.pause_after(lost, tx)))
            else:
                # Outside of try: an error of a hook comes after the commit and must not cause a second commit.
                block.run_hooks(tx.hooks)
                return result

    def plan(self, entity: Any, /, *, condition: Condition | None = None) -> Plan:
        """Return the plan of ``save(entity)``: its actions and the reason for each. No request is sent.

        Args:
            condition: that of ``save``.

        Raises:
            InvalidValue: a value is not valid.
            UsageError: the class is not mapped to a table, the entity was read at a version, or its last write has no
                known outcome.

        Examples:
            >>> plan = session.plan(User(user_id="2", email="bob@x.com"))
            >>> plan.operation, len(plan.actions), plan.write_units
            ('TransactWriteItems', 2, 4)
        """
        saving = intent.Save(entity, block.checked_condition(entity, condition))
        return commit.planned(saving, self._context)

    def plan_of(self, work: Callable[[block.Transaction], object], /) -> Plan:
        """Return the plan of a block. Nothing is written.

        Calls ``work(tx)`` once, as ``run`` does, and returns the first request that the block would send, with the
        reason of each action. Where the write would read a stored item first, that item is read, strongly consistent;
        objects do not change. Functions given to ``on_commit`` are not called.

        The plan has a revision of its own: sending the block later makes another plan. Another writer may come first.

        Args:
            work: a function that takes a ``Transaction``. Every method of it can be planned.

        Raises:
            UsageError: the last write of an object has no known outcome; ``work`` is not a function; a block of this
                session is open.
            DynaormError: what the block itself would raise before it sends anything, and as for any read.

        Examples:
            >>> plan = session.plan_of(lambda tx: tx.delete(Key(Ticket, project="p1", number=1)))
            >>> plan.operation, plan.write_units
            ('DeleteItem', 1)
        """
        intents = block.intents_of(self, work)
        return self._run("plan_of", commit.plan_of(intents, self._context))

    def resume(self, plan: object, /) -> bool:
        """Find out whether the ``plan`` of an OutcomeUnknown was applied.

        Within nine minutes of its creation, the plan is sent again with the same token and bytes. After that, the
        outcome is found out by reading. A plain update or delete that is bound to no revision is never sent again.

        Args:
            plan: the ``plan`` of the error.

        Returns:
            True if it is in effect.

        Raises:
            UsageError: ``plan`` is not a plan, or its tables are not those of this session.
            StoreError: DynamoDB refuses the plan, and it can never be applied; nothing was written.
            OutcomeUnknown: there is still no answer, the first request may still arrive, or the item was written over.

        Examples:
            ```python
            try:
                session.save(user)
            except OutcomeUnknown as unknown:
                is_saved = session.resume(unknown.plan)
            ```
        """
        return self._write("resume", write.resume(plan, self._context, WINDOW_SECONDS))

    # -- versions --------------------------------------------------------------------------------------------------

    @overload
    def history(self, target: Key[E], /) -> Iterator[Version[E]]: ...
    @overload
    def history(self, target: E, /) -> Iterator[Version[E]]: ...
    def history(self, target: Any, /) -> Iterator[Version[Any]]:
        """Iterate over the versions of an entity, newest first. Pages of 100 versions are read as you iterate.

        Args:
            target: an entity, or its ``Key``.

        Raises:
            NotVersioned: the class keeps no versions.

        Examples:
            >>> [version.number for version in session.history(Key(Audit, equipment_id="e1"))]
            [2, 1]
        """
        # This method is no generator, so that the call itself raises NotVersioned, not the first iteration.
        named = reads.target_of(target)
        history.check_versioned(named.mapping)
        return self._history(named)

    def _history(self, target: reads.Target) -> Iterator[Version[Any]]:
        target, upper = self._run("history", history.beginning(target, self._context))
        while upper > 0:
            versions, upper = self._run("history", history.page(target, upper, self._context))
            yield from versions

    def diff(self, target: Key[Any] | Any, first: int, second: int, /) -> dict[str, tuple[Any, Any]]:
        """Return the fields that differ between two versions: name to (value in the first, value in the second).

        Args:
            target: an entity, or its ``Key``.
            first: the number of a version.
            second: the number of another one.

        Raises:
            NotVersioned: the class keeps no versions.
            EntityNotFound: one of the versions does not exist.

        Examples:
            >>> session.diff(Key(Audit, equipment_id="e1"), 1, 2)
            {'result': ('pass', 'fail')}
        """
        return self._run("diff", history.diff(target, first, second, self._context))

    @overload
    def restore(self, target: Key[E], /, *, version: int, exactly_once: bool | None = None) -> E: ...
    @overload
    def restore(self, target: E, /, *, version: int, exactly_once: bool | None = None) -> E: ...
    def restore(self, target: Any, /, *, version: int, exactly_once: bool | None = None) -> Any:
        """Save the values of an old version as a new version. A deleted entity can be restored, too.

        A deleted entity becomes an object of the class that the version was saved as.

        Args:
            target: an entity, or its ``Key``.
            version: the number of the version.
            exactly_once: that of ``save``; only a version that equals what is stored is written without a transaction.

        Raises:
            EntityNotFound: the version does not exist.
            UniqueViolation: another entity holds a unique value of that version now.
            StaleEntity: another writer changed the entity since it was loaded.
            Contention: by key, other writers changed it during every attempt.

        Examples:
            >>> session.restore(Key(Audit, equipment_id="e1"), version=1)
            Audit(equipment_id='e1', result='pass')
        """
        flow = history.restore(target, version, self._context, exactly_once=exactly_once)
        return self._write("restore", flow)

"""What CreateTable takes for a declared table, and how a live table differs from that."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import all_of, check_flag
from dynaorm.entity.table import (
    Distance,
    IndexKind,
    KeyAttribute,
    KeyKind,
    Projection,
    Table,
    VectorIndex,
)
from dynaorm.record import record

Keys: TypeAlias = tuple[tuple[str, KeyKind], ...]
"""The key attributes of one side, with their types."""

INDEXES: Final[tuple[tuple[IndexKind, str], ...]] = (
    ("global", "GlobalSecondaryIndexes"),
    ("local", "LocalSecondaryIndexes"),
    ("vector", "VectorIndexes"),
)
"""The kinds of indexes, and the arguments of CreateTable that hold them."""

DISTANCES: Final[dict[Distance, str]] = {
    "cosine": "COSINE",
    "euclidean": "EUCLIDEAN",
    "dot_product": "DOT_PRODUCT",
}
"""The ``DistanceFunction`` of CreateTable for each distance."""


@record
class VectorShape:
    """What a vector index has besides a key: the attribute, length and distance of its vectors, and its filters."""

    attribute: str
    dimensions: int
    distance: Distance
    filters: Keys = ()


@record
class IndexShape:
    """An index as CreateTable takes it.

    Attributes:
        name: its name.
        kind: what it is.
        partition: its partition key.
        sort: its sort key.
        projection: the attributes that it has.
        vector: its vectors, if it is a vector index.
    """

    name: str
    kind: IndexKind
    partition: Keys
    sort: Keys
    projection: Projection
    vector: VectorShape | None = None


def definition(table: Table, name: str) -> dict[str, Any]:
    """The arguments of CreateTable for a table with this physical name, with on-demand billing."""
    indexes = [
        IndexShape(
            index.name,
            index.kind,
            _keys(index.pk or (table.pk,)),
            _keys(index.sk),
            index.projection,
            VectorShape(index.vector, index.dimensions, index.distance, _keys(index.filters))
            if isinstance(index, VectorIndex)
            else None,
        )
        for index in table.indexes.values()
    ]
    return definition_of(name, _keys((table.pk,)), _keys(table.keys[1:]), indexes, stream=table.stream)


# What differs between a declared table and a live one, and which requests make the live one as declared.
#
# Rule 1. A live table may have more than is declared: other indexes, wider projections, a stream. Such a difference
#         is harmless to dynaorm, and ``create_table`` accepts it.
# Rule 2. One UpdateTable changes one global index or the stream, and the next one waits until the table is active
#         (Amazon DynamoDB API Reference, UpdateTable). So a difference may take several steps.
# Rule 3. Keys of a table and its local indexes can only be given when it is created.
# Rule 4. A vector index has a SearchSchema in place of a KeySchema, and what it is else: vectors, their length, their
#         distance. Together they are its keys here.


def _keys(keys: Iterable[KeyAttribute]) -> Keys:
    return tuple((key.name, key.kind) for key in keys)


def definition_of(
    name: str, partition: Keys, sort: Keys, indexes: Iterable[IndexShape], *, stream: str | None
) -> dict[str, Any]:
    """The arguments of CreateTable, with on-demand billing."""
    indexes = [*indexes]
    # By name: several indexes may have one key attribute, and CreateTable refuses one that is defined twice.
    types = dict((*partition, *sort, *(key for index in indexes for key in _defined(index))))
    found: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": key, "AttributeType": kind} for key, kind in types.items()
        ],
        "KeySchema": key_schema(partition, sort),
    }
    if stream is not None:
        found["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
    for wanted, argument in INDEXES:
        if described := [_index(index) for index in indexes if index.kind == wanted]:
            found[argument] = described
    return found


def _defined(index: IndexShape) -> Keys:
    return (*index.partition, *index.sort, *(index.vector.filters if index.vector is not None else ()))


def _index(index: IndexShape) -> dict[str, Any]:
    found = {"IndexName": index.name, "Projection": projection_of(index.projection)}
    if index.vector is None:
        return {**found, "KeySchema": key_schema(index.partition, index.sort)}
    sides = (("HASH", index.partition), ("INLINE_FILTER", index.vector.filters))
    return {
        **found,
        "VectorAttribute": {"AttributeName": index.vector.attribute},
        "Dimensions": index.vector.dimensions,
        "DistanceFunction": DISTANCES[index.vector.distance],
        "SearchSchema": [
            {"AttributeName": name, "SearchSchemaElementType": role}
            for role, side in sides
            for name, _ in side
        ],
    }


def key_schema(partition: Keys, sort: Keys) -> list[dict[str, str]]:
    """Key attributes as the ``KeySchema`` of CreateTable."""
    sides = (("HASH", partition), ("RANGE", sort))
    return [{"AttributeName": name, "KeyType": role} for role, side in sides for name, _ in side]


def projection_of(projection: Projection) -> dict[str, Any]:
    """The attributes of an index as the ``Projection`` of CreateTable."""
    if isinstance(projection, str):
        return {"ProjectionType": projection}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}


DifferenceKind: TypeAlias = Literal[
    "no table", "keys", "no index", "index kind", "index keys", "projection", "other index", "stream", "ttl"
]


@record
class TableStep:
    """A request that changes a table, and after which the table must be active again.

    Attributes:
        operation: ``CreateTable``, ``UpdateTable`` or ``UpdateTimeToLive``.
        request: its parameters.
        text: what it does, in words: ``create the index 'GSI1'``.
        deletes: what exists is deleted or switched off. Programs that use it fail until a later step.

    Examples:
        >>> steps = table_steps(differences(describe(app), None))
        >>> [step.operation for step in steps]
        ['CreateTable']
    """

    operation: str
    request: Mapping[str, Any]
    text: str
    deletes: bool = False


@record
class Difference:
    """Something that is not as declared.

    Attributes:
        table: the physical name of the table.
        kind: what differs.
        index: the index; None for the table itself.
        declared: what is declared, in words; None for nothing.
        live: what there is, in words; None for nothing.
        problem: what is wrong, in words.
        remedy: what can be done about it, in words.
        is_harmless: everything that dynaorm does works nevertheless.
        steps: the requests that make the table as declared; empty where DynamoDB has none.

    Examples:
        >>> [difference.problem for difference in compare_table(session, app)]
        []
    """

    table: str
    kind: DifferenceKind
    index: str | None
    declared: str | None
    live: str | None
    problem: str
    remedy: str
    is_harmless: bool = False
    steps: tuple[TableStep, ...] = ()

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"

    @property
    def removes(self) -> bool:
        """Whether a step deletes something, or switches something off."""
        return any(step.deletes for step in self.steps)


def table_steps(differences: Iterable[Difference], *, delete: bool = False) -> tuple[TableStep, ...]:
    """The steps of some differences, in the order in which they can be made.

    Args:
        differences: what differs.
        delete: also those of differences of which a step deletes something.

    Examples:
        >>> [step.text for step in table_steps(differences(describe(app), None))]
        ["create the table 'app'"]
    """
    check_flag("delete={}", delete)
    remedy = "give those of compare_table(session, table)"
    given = all_of("differences={}", differences, Difference, "a Difference", remedy=remedy)
    found = [one for one in given if delete or not one.removes]
    steps = [step for one in found for step in one.steps]
    # An index that is deleted makes room for another one.
    return tuple(sorted(steps, key=lambda step: not (step.deletes and changed_indexes(step))))


# -- the whole table ---------------------------------------------------------------------------------------------------


def missing_table(wanted: Mapping[str, Any], ttl: str | None) -> Difference:
    """The difference to a table that does not exist.

    Args:
        wanted: the declared arguments of CreateTable.
        ttl: the declared TTL attribute.
    """
    name = wanted["TableName"]
    steps = [TableStep("CreateTable", wanted, f"create the table {name!r}")]
    if ttl is not None:
        steps.append(expire_by(name, ttl))
    return Difference(
        table=name,
        kind="no table",
        index=None,
        declared=_text(_key_names(wanted, _types(wanted))),
        live=None,
        problem=f"there is no table {name!r}",
        remedy="create it: apply the table",
        steps=tuple(steps),
    )


def table_differences(
    wanted: Mapping[str, Any],
    live: Mapping[str, Any],
    *,
    ttl: str | None,
    live_ttl: Mapping[str, Any] | None,
    stored: Mapping[str, str],
) -> tuple[Difference, ...]:
    """What differs between a declared table and a live one.

    Args:
        wanted: the declared arguments of CreateTable, with the physical name.
        live: ``Table`` of DescribeTable.
        ttl: the declared TTL attribute; None for none.
        live_ttl: ``TimeToLiveDescription`` of DescribeTimeToLive; None leaves TTL out.
        stored: the attributes that fields are stored as, each with such a field: ``Login.until``.

    Raises:
        LookupError, TypeError, AttributeError: these are not what DynamoDB answers.
    """
    found = [
        *_key_differences(wanted, live),
        *_index_differences(wanted, live),
        *_stream_differences(wanted, live),
    ]
    if live_ttl is not None:
        found += _ttl_differences(wanted["TableName"], ttl, live_ttl, stored)
    return tuple(found)


def _key_differences(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Difference]:
    declared, stored = _key_names(wanted, _types(wanted)), _key_names(live, _types(live))
    if declared != stored:
        yield Difference(
            table=wanted["TableName"],
            kind="keys",
            index=None,
            declared=_text(declared),
            live=_text(stored),
            problem=f"its keys are {_text(stored)}, not {_text(declared)}",
            remedy="declare the keys that it has, or create a table with another name and copy the items",
        )


# -- indexes -----------------------------------------------------------------------------------------------------------


def _index_differences(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Difference]:
    declared, stored = _indexes(wanted), _indexes(live)
    for name, (kind, index) in declared.items():
        yield from _Comparison(wanted, live, kind, index).differences(stored.get(name))
    for name, (kind, index) in stored.items():
        if name not in declared and index.get("IndexStatus") != "DELETING":
            yield _other_index(wanted["TableName"], name, kind, index)


def _indexes(table: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The indexes of a table by name, with their kinds."""
    return {
        index["IndexName"]: (kind, index) for kind, argument in INDEXES for index in table.get(argument) or ()
    }


@record
class _Comparison:
    """A declared index, and the table that should have it."""

    wanted: Mapping[str, Any]
    live: Mapping[str, Any]
    kind: str
    index: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.index["IndexName"])

    def differences(self, stored: tuple[str, Mapping[str, Any]] | None) -> Iterator[Difference]:
        if stored is None or stored[1].get("IndexStatus") == "DELETING":
            yield self._missing(stored)
            return
        kind, index = stored
        if kind != self.kind:
            yield self._difference(
                "index kind",
                declared=self.kind,
                live=kind,
                problem=f"its index {self.name!r} is a {kind} index, not a {self.kind} one",
                remedy="declare it as it is, or give the index another name",
            )
            return
        declared, keys = _key_names(self.index, _types(self.wanted)), _key_names(index, _types(self.live))
        if sorted(keys) != sorted(declared) if self.kind == "vector" else keys != declared:
            yield self._difference(
                "index keys",
                declared=_text(declared),
                live=_text(keys),
                problem=f"the keys of its index {self.name!r} are {_text(keys)}, not {_text(declared)}",
                remedy=self._again,
                steps=self._replacing,
            )
        elif (difference := self._projected(index.get("Projection") or {})) is not None:
            yield difference

    def _missing(self, stored: object) -> Difference:
        can = self.kind != "local" and not self._clashes
        remedy = (
            "wait until the index of this name is deleted, then create it"
            if stored is not None
            else "create it: apply the table, which also completes what was stored without its keys"
            if can
            else f"a key attribute of it has another type in the table ({', '.join(self._clashes)}); name another one"
            if self.kind != "local"
            else "a local index can only be created with its table; declare a GlobalIndex"
        )
        return self._difference(
            "no index",
            declared=_text(_key_names(self.index, _types(self.wanted))),
            live=None,
            problem=f"it has no index {self.name!r}",
            remedy=remedy,
            steps=(self._creating,) if can else (),
        )

    def _projected(self, stored: Mapping[str, Any]) -> Difference | None:
        declared = self.index["Projection"]
        wide, wanted = _width(stored), _width(declared)
        if wide == wanted:
            return None
        lacks = wanted - wide if wide is not _ALL and wanted is not _ALL else frozenset()
        is_narrower = wide is not _ALL and (wanted is _ALL or bool(lacks))
        problem = (
            f"its index {self.name!r} does not project {', '.join(sorted(lacks)) or 'ALL attributes'}"
            if is_narrower
            else f"its index {self.name!r} projects more than is declared"
        )
        return self._difference(
            "projection",
            declared=_projection_text(declared),
            live=_projection_text(stored),
            problem=problem,
            remedy=self._again
            if is_narrower
            else "declare the projection that it has, or leave it: it only costs more",
            is_harmless=not is_narrower,
            steps=self._replacing,
        )

    def _difference(self, kind: DifferenceKind, **said: Any) -> Difference:
        return Difference(table=self.wanted["TableName"], kind=kind, index=self.name, **said)

    @property
    def _again(self) -> str:
        if self.kind == "local":
            return "declare it as it is: a local index can only be created with its table"
        return "declare it as it is, declare an index with another name, or delete it and create it again"

    @property
    def _clashes(self) -> list[str]:
        """The key attributes of the index that have another type in the live table."""
        types, live = _types(self.wanted), _types(self.live)
        return [name for name in _named(self.index) if live.get(name, types[name]) != types[name]]

    @property
    def _replacing(self) -> tuple[TableStep, ...]:
        if self.kind == "local" or self._clashes:
            return ()
        return (_deleting(self.wanted["TableName"], self.name, self.kind), self._creating)

    @property
    def _creating(self) -> TableStep:
        types = _types(self.wanted)
        # A table with a vector index has on-demand billing (Amazon DynamoDB API Reference, CreateTable).
        created = {**self.index, **(_throughput(self.live) if self.kind == "global" else {})}
        request = {
            "TableName": self.wanted["TableName"],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": types[name]}
                for name in dict.fromkeys(_named(self.index))
            ],
            UPDATES[self.kind]: [{"Create": created}],
        }
        return TableStep("UpdateTable", request, f"create the index {self.name!r}")


def _throughput(live: Mapping[str, Any]) -> dict[str, Any]:
    """The throughput of a new index: that of its table, if the table has one."""
    units = live.get("ProvisionedThroughput") or {}
    names = ("ReadCapacityUnits", "WriteCapacityUnits")
    # A table with on-demand billing has 0 units.
    given = {name: units[name] for name in names if units.get(name)}
    return {"ProvisionedThroughput": given} if given else {}


UPDATES: Final = {"global": "GlobalSecondaryIndexUpdates", "vector": "VectorIndexUpdates"}
"""The argument of UpdateTable that creates and deletes indexes of a kind."""


def changed_indexes(step: TableStep) -> list[Mapping[str, Any]]:
    """What a step does to indexes: ``{"Create": ...}`` or ``{"Delete": ...}``."""
    return [one for argument in UPDATES.values() for one in step.request.get(argument, ())]


def _deleting(table: str, index: str, kind: str) -> TableStep:
    request = {"TableName": table, UPDATES[kind]: [{"Delete": {"IndexName": index}}]}
    return TableStep("UpdateTable", request, f"delete the index {index!r}", deletes=True)


def _other_index(table: str, name: str, kind: str, index: Mapping[str, Any]) -> Difference:
    return Difference(
        table=table,
        kind="other index",
        index=name,
        declared=None,
        live=_text(_key_names(index, {})).replace(" ?", ""),
        problem=f"it has an index {name!r}, which is not declared",
        remedy="declare it, or delete it if no other program uses it"
        if kind != "local"
        else "declare it: a local index cannot be deleted",
        is_harmless=True,
        steps=(_deleting(table, name, kind),) if kind != "local" else (),
    )


_ALL: Final = frozenset({""})  # no attribute has this name


def _width(projection: Mapping[str, Any]) -> frozenset[str]:
    """The attributes that an index has besides keys."""
    if projection.get("ProjectionType") == "ALL":
        return _ALL
    return frozenset(projection.get("NonKeyAttributes") or ())


def _projection_text(projection: Mapping[str, Any]) -> str:
    names = ", ".join(projection.get("NonKeyAttributes") or ())
    return names or str(projection.get("ProjectionType"))


# -- stream and TTL ----------------------------------------------------------------------------------------------------


def stream_of(table: Mapping[str, Any]) -> str | None:
    """The view type of a table's stream; None for none."""
    found = table.get("StreamSpecification") or {}
    return str(found.get("StreamViewType")) if found.get("StreamEnabled") else None


def stream_with(table: str, view: str) -> TableStep:
    """Switches a stream on."""
    specification = {"StreamEnabled": True, "StreamViewType": view}
    request = {"TableName": table, "StreamSpecification": specification}
    return TableStep("UpdateTable", request, f"switch the stream on, with {view}")


def _stream_differences(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Difference]:
    declared, stored, name = stream_of(wanted), stream_of(live), wanted["TableName"]
    # A table that declares no stream leaves it to others.
    if declared is None or declared == stored:
        return
    off = TableStep(
        "UpdateTable",
        {"TableName": name, "StreamSpecification": {"StreamEnabled": False}},
        "switch the stream off",
        deletes=True,
    )
    yield Difference(
        table=name,
        kind="stream",
        index=None,
        declared=declared,
        live=stored,
        problem="it has no stream" if stored is None else f"its stream carries {stored}, not {declared}",
        remedy="switch it on: apply the table"
        if stored is None
        else "declare the view type that it has, or disable the stream first: DynamoDB starts another one",
        steps=(*([] if stored is None else [off]), stream_with(name, declared)),
    )


def ttl_of(description: Mapping[str, Any]) -> str | None:
    """The attribute by which a table expires items, by its ``TimeToLiveDescription``; None for none."""
    is_on = description.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return str(description.get("AttributeName")) if is_on else None


def expire_by(table: str, attribute: str) -> TableStep:
    """Switches TTL on."""
    specification = {"Enabled": True, "AttributeName": attribute}
    request = {"TableName": table, "TimeToLiveSpecification": specification}
    return TableStep("UpdateTimeToLive", request, f"expire items by {attribute!r}")


def _ttl_differences(
    name: str, ttl: str | None, description: Mapping[str, Any], stored: Mapping[str, str]
) -> Iterator[Difference]:
    live = ttl_of(description)
    if ttl == live:
        return
    off = TableStep(
        "UpdateTimeToLive",
        {"TableName": name, "TimeToLiveSpecification": {"Enabled": False, "AttributeName": live}},
        f"switch off the expiry of items by {live!r}",
        deletes=True,
    )
    problem, remedy = _ttl_words(ttl, live, stored)
    yield Difference(
        table=name,
        kind="ttl",
        index=None,
        declared=ttl,
        live=live,
        problem=problem,
        remedy=remedy,
        # Items of another program expire (Rule 1). No entity has the attribute.
        is_harmless=ttl is None and live not in stored,
        steps=(*([] if live is None else [off]), *([] if ttl is None else [expire_by(name, ttl)])),
    )


def _ttl_words(ttl: str | None, live: str | None, stored: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong with the expiry of items, and what to do about it."""
    if live is None:
        return "it expires no items", f"switch it on, by {ttl!r}: apply the table"
    if ttl is not None:
        return f"it expires items by {live!r}, not {ttl!r}", f"store the field as Attribute({live!r})"
    if live not in stored:
        return (
            f"it expires items by {live!r}, which no class stores",
            f"leave it, if another program's items expire; for entities, declare ExpiresAt() and Attribute({live!r})",
        )
    problem = (
        f"it expires items by {live!r}, and {stored[live]} is declared without ExpiresAt(), so DynamoDB deletes "
        "entities and leaves their guard items, versions and totals behind"
    )
    return problem, f"declare ExpiresAt() on {stored[live]}, or switch TTL off"


# -- keys --------------------------------------------------------------------------------------------------------------


def _types(table: Mapping[str, Any]) -> dict[str, str]:
    return {one["AttributeName"]: one["AttributeType"] for one in table.get("AttributeDefinitions", ())}


def _key_names(schema: Mapping[str, Any], types: Mapping[str, str]) -> list[tuple[str, str, str]]:
    if "VectorAttribute" not in schema:
        return [
            (one["KeyType"], one["AttributeName"], types.get(one["AttributeName"], "?"))
            for one in schema["KeySchema"]
        ]
    (vector,) = schema["VectorAttribute"].values()
    return [
        *(
            (one["SearchSchemaElementType"], one["AttributeName"], types.get(one["AttributeName"], "?"))
            for one in schema.get("SearchSchema") or ()
        ),
        (f"{schema['Dimensions']} numbers", str(vector), str(schema["DistanceFunction"])),
    ]


def _named(index: Mapping[str, Any]) -> list[str]:
    """The attributes of an index that have a type of their own."""
    return [one["AttributeName"] for one in index.get("KeySchema") or index.get("SearchSchema") or ()]


def _text(keys: Iterable[tuple[str, str, str]]) -> str:
    return ", ".join(f"{name} ({role} {kind})" for role, name, kind in keys)

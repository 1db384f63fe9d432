"""The IAM policy that some entity classes need: no action and no resource that no flow of theirs would ask for.

Rule 1. A transaction needs no permission of its own, but those of its actions: PutItem, UpdateItem, DeleteItem,
        ConditionCheckItem (Amazon DynamoDB Developer Guide, "IAM for transactions").
Rule 2. Writing includes the reads that writes are computed from and settled by. Only a class that can be loaded in bulk
        needs BatchWriteItem; only one in an index, the index.
Rule 3. ``dynamodb:LeadingKeys`` is a promise about partition keys. It is given only where every key that the classes
        use begins with a text of its own; a Scan names no key, so no statement with that condition allows one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.dispatch import literal_beginning
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.errors import UsageError

Purpose: TypeAlias = Literal["read", "scan", "write", "create"]

_VERSION: Final = "2012-10-17"
_READ: Final = frozenset({"GetItem", "BatchGetItem", "Query"})
_WRITE: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "GetItem"})
_CREATE: Final = frozenset({"CreateTable", "DescribeTable"})
_TTL: Final = frozenset({"DescribeTimeToLive", "UpdateTimeToLive"})

_Place: TypeAlias = tuple[Table, str | None]
"""A table, or one of its indexes by name."""

_Grants: TypeAlias = dict[_Place, set[str]]


def iam_policy(
    *entities: type[Any],
    account: str,
    region: str,
    actions: Purpose | Iterable[Purpose] = ("read", "write"),
    table_names: Mapping[str, str] | Callable[[str], str] | None = None,
    partition: str = "aws",
    leading_keys: bool = False,
) -> dict[str, Any]:
    """The policy document that allows what sessions do with these classes, and nothing else.

    ``"read"``: ``get``, ``get_by``, ``get_many``, ``exists``, ``refresh``, ``query``, ``collection``, ``history``,
    ``diff``. ``"scan"``: ``scan``. ``"write"``: everything that saves, updates, moves or deletes, with the reads that
    belong to it. ``"create"``: ``create_table``. Subclasses known by now are included, and so are the
    tables of guards and of totals.

    Args:
        entities: the classes.
        account: the AWS account's number.
        region: the AWS region.
        actions: what for.
        table_names: physical table names, as for ``Session``.
        partition: ``"aws"``, ``"aws-cn"``, ``"aws-us-gov"``.
        leading_keys: also hold requests to the partition keys of these classes (``dynamodb:LeadingKeys``). Not for
            ``"scan"`` and ``"create"``, which name no keys.

    Raises:
        UsageError: a class is not mapped; a purpose is unknown; or ``leading_keys`` cannot be right, because a key
            begins with a value.

    Example:
        >>> from dynaorm import Entity, Table
        >>> class Song(Entity, table=Table("songs"), pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> iam_policy(Song, account="123456789012", region="eu-west-1", actions="scan")["Statement"]
        [{'Sid': 'DynaormScan1', 'Effect': 'Allow', 'Action': ['dynamodb:Scan'], \
'Resource': ['arn:aws:dynamodb:eu-west-1:123456789012:table/songs']}]
    """
    purposes = _purposes(actions)
    family = _families(entities)
    arn = _arns(f"arn:{partition}:dynamodb:{region}:{account}:table/", table_names)
    keyed, statements = _granted(family, [one for one in purposes if one in ("read", "write")]), []
    for purpose in ("scan", "create"):
        if purpose in purposes:
            statements += _statements(f"Dynaorm{purpose.title()}", _granted(family, [purpose]), arn, {})
    keys = {place: _patterns(place, family) for place in keyed} if leading_keys else {}
    return {"Version": _VERSION, "Statement": [*_statements("DynaormItems", keyed, arn, keys), *statements]}


def _purposes(actions: Purpose | Iterable[Purpose]) -> list[Purpose]:
    asked = [actions] if isinstance(actions, str) else list(actions)
    unknown = [one for one in asked if one not in _GRANTS]
    if unknown or not asked:
        raise UsageError(
            problem=f"actions={actions!r} names no purpose"
            if not unknown
            else f"{unknown[0]!r} is no purpose",
            remedy=f"give some of {', '.join(map(repr, get_args(Purpose)))}",
        )
    return [one for one in _GRANTS if one in asked]


def _families(entities: Iterable[type[Any]]) -> list[EntityMapping]:
    """The classes and their subclasses: the stored type decides what a write has to do."""
    named = [mapping_of(entity) for entity in entities]
    if not named:
        raise UsageError(problem="a policy for no class allows nothing", remedy="name entity classes")
    found = dict.fromkeys(id(one) for one in named)
    everyone = [*named, *(one for each in named for one in catalog_of(each.table).mappings.values())]
    members = [
        one
        for one in everyone
        if id(one) in found or any(issubclass(one.entity, each.entity) for each in named)
    ]
    return list({id(one): one for one in members}.values())


# -- what is allowed where ---------------------------------------------------------------------------------------------


def _granted(family: Iterable[EntityMapping], purposes: Iterable[str]) -> _Grants:
    found: _Grants = {}
    for purpose in purposes:
        for mapping in family:
            for place, allowed in _GRANTS[purpose](mapping):
                found.setdefault(place, set()).update(allowed)
    return found


_Grant: TypeAlias = Iterator[tuple[_Place, frozenset[str]]]


def _read(mapping: EntityMapping) -> _Grant:
    yield (mapping.table, None), _READ
    for index in mapping.indexes.values():
        yield (mapping.table, index.name), frozenset({"Query"})
    if mapping.constraints:
        yield (mapping.table.guards, None), frozenset({"GetItem"})


def _scan(mapping: EntityMapping) -> _Grant:
    yield (mapping.table, None), frozenset({"Scan"})
    for index in mapping.indexes.values():
        yield (mapping.table, index.name), frozenset({"Scan"})
        if mapping.table.indexes[index.name].projection != "ALL":  # the whole items are fetched by key
            yield (mapping.table, None), frozenset({"BatchGetItem"})


def _write(mapping: EntityMapping) -> _Grant:
    table = mapping.table
    yield (table, None), _WRITE
    if mapping.versioning is not None:  # prune and purge look for the versions first
        yield (table, None), frozenset({"BatchGetItem"})
    if not (mapping.constraints or mapping.versioning or mapping.aggregates or mapping.maintained):
        yield (table, None), frozenset({"BatchWriteItem"})
    if mapping.constraints:
        yield (table.guards, None), frozenset({"PutItem", "DeleteItem"})
    for one in mapping.aggregates.values():
        yield (mapping_of(one.target).table, None), frozenset({"UpdateItem"})


def _create(mapping: EntityMapping) -> _Grant:
    table: Table | None = mapping.table
    while table is not None:
        yield (table, None), _CREATE if table.ttl_attribute is None else _CREATE | _TTL
        table = table.guard_table


_GRANTS: Final[Mapping[str, Callable[[EntityMapping], _Grant]]] = {
    "read": _read,
    "scan": _scan,
    "write": _write,
    "create": _create,
}


# -- with which keys ---------------------------------------------------------------------------------------------------


def _patterns(place: _Place, family: Iterable[EntityMapping]) -> tuple[str, ...]:
    """What the partition keys used in a table or index look like. Raises UsageError where one can be anything."""
    table, index = place
    found: dict[str, None] = {}
    for mapping in family:
        targets = [mapping_of(one.target) for one in mapping.aggregates.values()]
        for each in (mapping, *targets) if index is None else (mapping,):
            if each.table is table:
                found |= dict.fromkeys(_pattern(each, part) for part in _partitions(each, index))
        if index is None and mapping.table.guards is table:
            found |= dict.fromkeys(f"{_literal(name)}#*" for name in mapping.constraints)
    return tuple(sorted(found))


def _partitions(mapping: EntityMapping, index: str | None) -> Iterator[KeyPart]:
    if index is None:
        yield mapping.partition
    for one in mapping.indexes.values():
        if one.name == index:
            yield from one.partition


def _pattern(mapping: EntityMapping, part: KeyPart) -> str:
    if part.constant is not None:
        return _literal(part.constant)
    beginning = literal_beginning(part)
    if not beginning:
        raise UsageError(
            problem=f"the partition keys of {mapping.entity.__name__} ({part.text!r}) begin with a value, "
            "so no pattern tells them from those of others",
            remedy="leave leading_keys= out, or begin the key with a literal text",
        )
    return f"{_literal(beginning)}*"


def _literal(text: str) -> str:
    """A text as itself in a StringLike pattern (IAM User Guide, "Policy variables": special characters)."""
    return "".join(f"${{{one}}}" if one in "*?$" else one for one in text)


# -- words -------------------------------------------------------------------------------------------------------------


def _statements(
    label: str, grants: _Grants, arn: Callable[[_Place], str], keys: Mapping[_Place, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """One statement for all places in which the same is allowed."""
    together: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for place, allowed in grants.items():
        together.setdefault((tuple(sorted(allowed)), keys.get(place, ())), []).append(arn(place))
    found = []
    for number, ((names, patterns), places) in enumerate(together.items(), 1):
        statement: dict[str, Any] = {
            "Sid": f"{label}{number}",
            "Effect": "Allow",
            "Action": [f"dynamodb:{one}" for one in names],
            "Resource": sorted(places),
        }
        if patterns:
            statement["Condition"] = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(patterns)}}
        found.append(statement)
    return found


def _arns(
    prefix: str, table_names: Mapping[str, str] | Callable[[str], str] | None
) -> Callable[[_Place], str]:
    def arn(place: _Place) -> str:
        table, index = place
        if table_names is None:
            name = table.name
        elif isinstance(table_names, Mapping):
            name = table_names.get(table.name, table.name)
        else:
            name = table_names(table.name)
        whole = name if name.startswith("arn:") else f"{prefix}{name}"
        return whole if index is None else f"{whole}/index/{index}"

    return arn

"""The smallest IAM policy for some entity classes: only the actions and resources that their requests need.

Rule 1. A transaction needs the permissions of its actions: GetItem, PutItem, UpdateItem, DeleteItem, ConditionCheckItem
        (Amazon DynamoDB Developer Guide, "IAM for transactions").
Rule 2. A purpose includes the reads that its writes depend on. Only a class that can be loaded in bulk needs
        BatchWriteItem; only a class with an index needs the index.
Rule 3. What a kind of items needs that belong to a class, such as guard items, the kind says.
Rule 4. ``dynamodb:LeadingKeys`` restricts partition keys. It is possible only if every key of the classes begins with a
        literal text. A Scan names no key, so no statement with that condition allows one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from dynaorm.argument import all_of, check_flag, check_kind
from dynaorm.entity.classify import literal_beginning
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table, table_namer
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.judge import KINDS
from dynaorm.flow.integrity.scope import Scope
from dynaorm.plan.derived_kinds import DERIVED_KINDS, reason_to_read
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.own_item import OWN_ITEM
from dynaorm.plan.plan import Kind, Operations
from dynaorm.plan.token import TOKEN_ITEMS

__all__ = ["iam_policy"]

Purpose: TypeAlias = Literal["read", "write", "tools", "table"]
"""What a program does with its tables: ``actions=`` of ``iam_policy``."""

_VERSION: Final = "2012-10-17"
_READ: Final = frozenset({"GetItem", "BatchGetItem", "Query"})
_KEYED: Final = ("read", "write")
_DESCRIBE: Final = frozenset({"DescribeTable", "DescribeTimeToLive"})
_TABLE: Final = _DESCRIBE | {"CreateTable", "DeleteTable", "UpdateTable"}
_FOLLOW: Final = frozenset({"DescribeStream", "GetShardIterator", "GetRecords"})

_Resource: TypeAlias = tuple[Table, str | None]
"""A table, or one of its indexes by name, or its streams, as ``_STREAMS``."""

# The name of a stream is the time when it was switched on.
_STREAMS: Final = "stream/*"

_Grants: TypeAlias = dict[_Resource, set[str]]

_KINDS: Final[tuple[Kind, ...]] = (OWN_ITEM, *DERIVED_KINDS, TOKEN_ITEMS)


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

    The purposes:

    - ``"read"``: what reads entities by key, index or query
    - ``"write"``: what saves, updates, moves or deletes, with the reads that belong to it and the token items
    - ``"tools"``: what works on whole tables: ``scan``, ``dump``, ``load``, ``follow``, ``compare_table``, ``verify``,
      ``repair``, ``backfill``. To load entities, it also needs ``"write"``.
    - ``"table"``: ``create_table``, ``apply``, ``delete_table``. ``apply`` with ``backfill`` also needs
      ``"tools"``.

    Subclasses that are loaded are included, and so are the tables of guards and of totals.

    Args:
        entities: the classes.
        account: the number of the AWS account.
        region: the AWS Region.
        actions: the purposes.
        table_names: physical table names, as for ``Session``.
        partition: ``"aws"``, ``"aws-cn"``, ``"aws-us-gov"``.
        leading_keys: restrict ``"read"`` and ``"write"`` to the partition keys of these classes and of token items
            (``dynamodb:LeadingKeys``). The other purposes scan tables or name no keys.

    Raises:
        UsageError: a class is not mapped; a purpose is unknown; or ``leading_keys`` is impossible, because a key begins
            with a value.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> class Song(Entity, table=Table("songs"), pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> iam_policy(Song, account="123456789012", region="eu-west-1", actions="read")["Statement"]
        [{'Sid': 'DynaormItems1', 'Effect': 'Allow', \
'Action': ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'], \
'Resource': ['arn:aws:dynamodb:eu-west-1:123456789012:table/songs']}]
    """
    for name, text in (("account", account), ("region", region), ("partition", partition)):
        check_kind(f"{name}={{}}", text, str, "a str")
    check_flag("leading_keys={}", leading_keys)
    purposes = _purposes(actions)
    family = _families(entities)
    arn = _arns(f"arn:{partition}:dynamodb:{region}:{account}:table/", table_names)
    keyed, statements = _granted(family, [one for one in purposes if one in _KEYED]), []
    for purpose in (one for one in purposes if one not in _KEYED):
        statements += _statements(f"Dynaorm{purpose.title()}", _granted(family, [purpose]), arn, {})
    keys: dict[_Resource, tuple[str, ...]] = {}
    if leading_keys:
        kinds = _KINDS if "write" in purposes else _KINDS[:-1]  # only writes store token items
        keys = {resource: _patterns(resource, family, kinds) for resource in keyed}
    return {"Version": _VERSION, "Statement": [*_statements("DynaormItems", keyed, arn, keys), *statements]}


def _purposes(actions: Purpose | Iterable[Purpose]) -> list[Any]:
    several = [actions] if isinstance(actions, str) else actions
    asked = all_of(
        "actions={}",
        several,
        str,
        "a purpose",
        remedy=f"give some of {', '.join(map(repr, get_args(Purpose)))}",
    )
    unknown = [one for one in asked if one not in _GRANTS]
    if unknown or not asked:
        raise UsageError(
            problem=f"actions={actions!r} names no purpose"
            if not unknown
            else f"{unknown[0]!r} is not a purpose",
            remedy=f"give some of {', '.join(map(repr, get_args(Purpose)))}",
        )
    return [one for one in _GRANTS if one in asked]


def _families(entities: Iterable[type[Any]]) -> list[EntityMapping]:
    """The classes and their subclasses: the stored type decides what a write has to do."""
    named = [mapping_of(entity) for entity in entities]
    if not named:
        raise UsageError(problem="a policy for no class allows nothing", remedy="name entity classes")
    found = dict.fromkeys(id(one) for one in named)
    everyone = [*named, *(mapping for each in named for mapping in catalog_of(each.table).mappings.values())]
    members = [
        one
        for one in everyone
        if id(one) in found or any(issubclass(one.entity, each.entity) for each in named)
    ]
    return list({id(member): member for member in members}.values())


# -- what is allowed where ---------------------------------------------------------------------------------------------


def _granted(family: Iterable[EntityMapping], purposes: Iterable[str]) -> _Grants:
    found: _Grants = {}
    for purpose in purposes:
        for mapping in family:
            for resource, allowed in _GRANTS[purpose](mapping):
                found.setdefault(resource, set()).update(allowed)
    return found


_Grant: TypeAlias = Iterator[tuple[_Resource, frozenset[str]]]


def _read(mapping: EntityMapping) -> _Grant:
    yield (mapping.table, None), _READ
    for index in mapping.indexes.values():
        is_searched = mapping.table.indexes[index.name].kind == "vector"
        yield (mapping.table, index.name), frozenset({"SearchVectors" if is_searched else "Query"})
    for kind in DERIVED_KINDS:
        yield from _of(kind.operations_of_reads(mapping))


def _write(mapping: EntityMapping) -> _Grant:
    for kind in _KINDS:
        yield from _of(kind.operations_of_writes(mapping))
    if not reason_to_read(mapping, ""):  # it can be loaded in bulk
        yield (mapping.table, None), frozenset({"BatchWriteItem"})


def _tools(mapping: EntityMapping) -> _Grant:
    scope = _scope(mapping)
    for table in dict.fromkeys((*mapping.table.homes, *scope.known_tables)):
        yield (table, None), _DESCRIBE
    for table in scope.tables:
        yield (table, None), frozenset({"Scan"})
    for index in mapping.indexes.values():
        if (declared := mapping.table.indexes[index.name]).kind != "vector":
            yield (mapping.table, index.name), frozenset({"Scan"})
            if declared.projection != "ALL":  # the whole items are fetched by key
                yield (mapping.table, None), frozenset({"BatchGetItem"})
    # What looks wrong is confirmed by TransactGetItems, whose action is GetItem.
    yield (mapping.table, None), frozenset({"BatchWriteItem", "GetItem", "UpdateItem"})
    yield (mapping.table, _STREAMS), _FOLLOW
    for kind in KINDS:
        yield from _of(kind.operations_of_verify(mapping))
        yield from _of(kind.operations_of_repair(mapping))


def _table(mapping: EntityMapping) -> _Grant:
    for table in mapping.table.homes:
        yield (table, None), _TABLE if table.ttl_attribute is None else _TABLE | {"UpdateTimeToLive"}


def _scope(mapping: EntityMapping) -> Scope:
    return Scope((), (mapping.entity,), lambda: UnitOfWork(0.0, "", str))


def _of(operations: Operations) -> _Grant:
    """What is allowed for a kind of items, which are found by their primary keys alone."""
    return (((table, None), allowed) for table, allowed in operations)


_GRANTS: Final[Mapping[str, Callable[[EntityMapping], _Grant]]] = {
    "read": _read,
    "write": _write,
    "tools": _tools,
    "table": _table,
}


# -- with which keys ---------------------------------------------------------------------------------------------------


def _patterns(resource: _Resource, family: Iterable[EntityMapping], kinds: Iterable[Kind]) -> tuple[str, ...]:
    """What the partition keys used in a table or index look like. Raises UsageError where one can be anything."""
    table, index = resource
    found: dict[str, None] = {}
    for mapping in family:
        if index is None:
            keys = (partition_key for kind in kinds for partition_key in kind.partition_keys(mapping))
            found |= dict.fromkeys(_pattern(owner, part) for owner, home, part in keys if home is table)
        elif mapping.table is table:
            places = (one for one in mapping.indexes.values() if one.name == index)
            found |= dict.fromkeys(_pattern(mapping, part) for place in places for part in place.partition)
    return tuple(sorted(found))


def _pattern(mapping: EntityMapping, part: KeyPart | str) -> str:
    if isinstance(part, str):
        return f"{_literal(part)}*"
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
    label: str, grants: _Grants, arn: Callable[[_Resource], str], keys: Mapping[_Resource, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """One statement for all resources in which the same is allowed."""
    together: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for resource, allowed in grants.items():
        together.setdefault((tuple(sorted(allowed)), keys.get(resource, ())), []).append(arn(resource))
    found = []
    for number, ((names, patterns), resources) in enumerate(together.items(), 1):
        statement: dict[str, Any] = {
            "Sid": f"{label}{number}",
            "Effect": "Allow",
            "Action": [f"dynamodb:{name}" for name in names],
            "Resource": sorted(resources),
        }
        if patterns:
            statement["Condition"] = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(patterns)}}
        found.append(statement)
    return found


def _arns(
    prefix: str, table_names: Mapping[str, str] | Callable[[str], str] | None
) -> Callable[[_Resource], str]:
    named = table_namer(table_names)

    def arn(resource: _Resource) -> str:
        table, index = resource
        name = named(table.name)
        whole = name if name.startswith("arn:") else f"{prefix}{name}"
        if index is None:
            return whole
        return f"{whole}/{index}" if index == _STREAMS else f"{whole}/index/{index}"

    return arn

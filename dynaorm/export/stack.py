"""Several tables that are created together: their physical names, their ids in a template, and the order of both.

Rule 1. An id follows from the declared name, so that it stays when a physical name changes: a template that names a
        resource anew replaces the table.
Rule 2. Everything is exported from descriptions. Whoever has only ``TableDescription.to_json()`` loses nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from dynaorm.argument import all_of
from dynaorm.description.description import TableDescription
from dynaorm.entity.table import table_namer
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.record import record

TableNames: TypeAlias = Mapping[str, str] | Callable[[str], str] | None
"""Physical names by declared names, as ``Session`` takes them."""

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_TABLE_ARN: Final = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/(?P<name>[^/]+)(?P<rest>/.*)?")


@record
class StackTable:
    """A table of a stack.

    Attributes:
        description: what it is.
        name: its physical name.
        words: the words of its declared name, from which every template makes its ids.
    """

    description: TableDescription
    name: str
    words: tuple[str, ...]

    @property
    def logical_id(self) -> str:
        """Its id in CloudFormation: ``MyAppTable``."""
        return "".join(one[:1].upper() + one[1:] for one in self.words) + "Table"

    @property
    def snake_id(self) -> str:
        """Its id in Terraform and Python: ``my_app``."""
        found = "_".join(one.lower() for one in self.words)
        return found if found[:1].isalpha() else f"table_{found}"

    @property
    def definition(self) -> dict[str, Any]:
        """The arguments of CreateTable, with the physical name."""
        return {**self.description.create_table(), "TableName": self.name}


def stack_of(
    tables: Iterable[TableDescription] | TableDescription, table_names: TableNames
) -> tuple[StackTable, ...]:
    """The tables of a stack.

    Raises:
        UsageError: there are none, one is given by its ARN, or two would have one id or one physical name.
    """
    named = table_namer(table_names)
    several = [tables] if isinstance(tables, TableDescription) else tables
    remedy = "give describe(table), or several of them"
    given = all_of("{}", several, TableDescription, "the description of a table", remedy=remedy)
    refuse_vectors(given)
    if not given:
        raise UsageError(problem="a stack of no table is empty", remedy="give describe(table)")
    stack = tuple(StackTable(one, named(one.name), _words(one.name)) for one in given)
    for what, texts in (
        ("id", [one.logical_id for one in stack]),
        ("physical name", [one.name for one in stack]),
    ):
        if repeated := [one for one in texts if texts.count(one) > 1]:
            names = ", ".join(
                repr(one.description.name) for one, text in zip(stack, texts, strict=True) if text in repeated
            )
            raise UsageError(
                problem=f"the tables {names} would have one {what}, {repeated[0]!r}",
                remedy="export them into different stacks, or name them differently",
            )
    return stack


def refuse_vectors(tables: Iterable[TableDescription]) -> None:
    """Raises UsageError for a vector index, which the formats of other tools do not have."""
    for table in tables:
        for index in table.indexes:
            if index.vector is not None:
                raise UsageError(
                    problem=f"{table.name!r} has the vector index {index.name!r}, which this format does not have",
                    remedy="use --format create-table, or create the table without the index and add it: dynaorm apply",
                )


def _words(name: str) -> tuple[str, ...]:
    if name.startswith("arn:"):
        raise UsageError(
            problem=f"the table {name!r} is named by its ARN, and a template creates tables by name",
            remedy="declare its name, or leave the table out",
        )
    return tuple(_WORD.findall(name))


def references(policy: Mapping[str, Any], refer: Callable[[str, str], Any]) -> Iterator[dict[str, Any]]:
    """The statements of a policy, with other resources.

    Args:
        policy: a policy document, as ``iam_policy`` makes it.
        refer: makes the resource of a table's physical name and the rest of the ARN: ``/index/GSI1`` or nothing.
    """
    given: object = policy
    if (
        not isinstance(given, Mapping)
        or "Version" not in given
        or not isinstance(given.get("Statement"), list)
    ):
        raise UsageError(
            problem=f"policy={shown(policy)} is no policy document",
            remedy="give what iam_policy(...) returns",
        )
    for statement in policy["Statement"]:
        found = [_TABLE_ARN.fullmatch(one) for one in statement["Resource"]]
        resources = [
            one if match is None else refer(match["name"], match["rest"] or "")
            for one, match in zip(statement["Resource"], found, strict=True)
        ]
        yield {**statement, "Resource": resources}

"""Every declaration in declarations/*.txt is refused with the problems that stand below it, or means what stands there.

A file says what it is about, and declares a class. A case is that class with more lines in its body; if it declares
the class itself, it is a program. A line in parentheses holds keywords of the class statement, and what stands before
such a line runs before the class. A line that begins with ``!`` is a problem, one with ``=`` is true of the class.

``> entity => {...}`` says what is stored of an entity beside its key, type and revision; it loads as it was.
``< {...} => entity`` says what loads from attributes under the key of "x", whichever way the item comes in.
What follows ``=> !`` stands in the error instead.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import pytest
from pydantic_core import core_schema

from dynaorm import Entity, F, Session, detached, entity_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.derive import claims, index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError, DecodeError, DynaormError, InvalidValue
from dynaorm.item.json_body import Body, encode_body
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.transport import Call, Reply

IMPORTS: Final = """
import dataclasses
import functools
import pickle
from datetime import *
from decimal import *
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar
import pydantic
from pydantic import (
    AfterValidator, BaseModel, Discriminator, Field, InstanceOf, RootModel, SecretStr, Tag, computed_field,
    field_serializer, field_validator, model_validator,
)
from typing_extensions import NotRequired, TypedDict
T = TypeVar("T")
from dynaorm import *
from dynaorm import codecs
from dynaorm.codecs import *
"""


def keys_in_indexes(entity: Any, **values: Any) -> Any:
    return index_keys(mapping_of(entity), mapping_of(entity).subject({}, values))


def guards(entity: Any, **values: Any) -> Any:
    mapping = mapping_of(entity)
    keys = [key.in_table(mapping.table.guards) for _, key, _ in claims(mapping, mapping.subject({}, values))]
    return [tuple(one["S"] for one in key.values()) for key in keys]


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(DynaormError) as caught:
        call()
    return str(caught.value)


def filtered(entity: type[Entity], name: str, value: Any) -> str:
    """Why a scan that compares a field with a value is refused."""
    scan = Session(transport=ScriptedTransport()).scan(entity)
    return refusal(lambda: scan.filter(F[name] == value).all())


NAMES: Final[dict[str, Any]] = {
    "__name__": __name__,
    "core_schema": core_schema,
    **{
        one.__name__: one
        for one in (
            catalog_of,
            filtered,
            guards,
            keys_in_indexes,
            mapping_of,
            refusal,
            ScriptedTransport,
            Session,
        )
    },
}
exec(IMPORTS, NAMES)


class Case(NamedTuple):
    """What runs before a declaration, the declaration of a class of this name, what is wrong with it, or true of it."""

    before: str
    declaration: str
    entity: str
    problems: tuple[str, ...]
    truths: tuple[str, ...]
    rows: tuple[str, ...]


def case_of(before: str, given: ast.ClassDef, text: str) -> Case:
    lines = text.splitlines()
    problems, truths = (tuple(line[2:] for line in lines if line.startswith(f"{sign} ")) for sign in "!=")
    rows = tuple(line for line in lines if line[:2] in {"> ", "< "})
    code = "\n".join(line for line in lines if line[:2] not in {"! ", "= ", "> ", "< "})
    if re.search(rf"^class {given.name}\(", code, re.MULTILINE):
        return Case(before, code, given.name, problems, truths, rows)
    first, keywords, body = ("", "", code)
    if found := re.search(r"^\((.*)\)$", code, re.MULTILINE):
        first, keywords, body = code[: found.start()], found[1], code[found.end() :]
    call: Any = ast.parse(f"keywords({keywords})", mode="eval").body
    named = {one.arg: ast.unparse(one) for one in [*given.keywords, *call.keywords]}
    inside = "\n".join([*map(ast.unparse, given.body), body.strip()]).strip()
    declaration = f"class {given.name}(Entity, {', '.join(named.values())}):\n" + re.sub(
        "^", "    ", inside, flags=re.MULTILINE
    )
    return Case(before + first, declaration, given.name, problems, truths, rows)


def cases() -> Iterator[Any]:
    for file in sorted(Path(__file__).parent.glob("declarations/*.txt")):
        head, *rest = re.split(r"^# ", file.read_text(), flags=re.MULTILINE)
        *before, given = ast.parse(head.partition("\n")[2]).body
        assert isinstance(given, ast.ClassDef)
        for name, _, text in (part.partition("\n") for part in rest):
            first = "\n".join([*map(ast.unparse, before), ""])
            yield pytest.param(case_of(first, given, text), id=f"{file.stem}: {name}")


# -- what is stored, and what loads ------------------------------------------------------------------------------------


class Replying:
    """A transport that answers a scan with one item, in the bytes in which a server sends it."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item

    def call(self, _call: Call, /) -> Reply:
        return Body(encode_body({"Items": [self.item], "Count": 1, "ScannedCount": 1}))


KEPT: Final = {"PK", "SK", "_type", "_rev", "version", "version_at"}


def stored(entity: Any) -> dict[str, Any]:
    """The item of a new entity, as it is sent."""
    request: Any = Session(transport=ScriptedTransport()).plan(entity).to_request()
    item: dict[str, Any] = (
        request["Item"] if "Item" in request else request["TransactItems"][0]["Put"]["Item"]
    )
    return item


def loaded(kind: type[Entity], item: dict[str, Any]) -> Any:
    """What an item loads as, which is the same from a reply in bytes and from a mapping."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: entity_of(item, kind),
        lambda: Session(transport=Replying(item), clock=FakeClock(0)).scan(kind).all()[0],
    )
    results: list[Any] = []
    for way in ways:
        try:
            results.append(way())
        except DecodeError as error:
            results.append(error)
    first, second = results
    assert (type(first), str(first)) == (type(second), str(second))
    if isinstance(first, DecodeError):
        raise first
    return first


def check_row(row: str, kind: type[Entity], names: dict[str, Any]) -> None:
    given, _, expected = row[2:].partition(" => ")
    result: Any
    error = ""
    try:
        result = outcome(row[0], eval(given, names), kind)
    except (InvalidValue, DecodeError) as raised:
        error = str(raised)
    if expected.startswith("! "):
        assert expected[2:] in error
        return
    assert not error
    assert repr(result) == expected if row.startswith("<") else result == eval(expected, names)


def outcome(sign: str, given: Any, kind: type[Entity]) -> Any:
    """What is stored of a given entity, or what loads from given attributes."""
    if sign == "<":
        key = {"PK": {"S": "THING#x"}, "SK": {"S": "T"}, "_type": {"S": kind.__name__}, "_rev": {"S": "r"}}
        return loaded(kind, {**key, **given})
    item = stored(given)
    assert stored(detached(loaded(kind, item))) == {**item, "_rev": mock.ANY}
    return {name: value for name, value in item.items() if name not in KEPT}


@pytest.mark.parametrize("case", [*cases()])
def test_a_declaration_is_refused_or_means_what_it_says(case: Case) -> None:
    names = dict(NAMES)
    exec(case.before, names)
    table, rules = names["app"], names["app"].rules
    assert bool(case.problems) is not bool(case.truths + case.rows)
    if not case.problems:
        exec(case.declaration, names)
        for row in case.rows:
            check_row(row, names[case.entity], names)
        for truth in case.truths:
            found, _, expected = truth.partition(" == ")
            assert eval(found, names) == (eval(expected, names) if expected else True), truth
        return
    with pytest.raises(DeclarationError) as caught:
        exec(case.declaration, names)
    assert caught.value.problems == case.problems
    assert str(caught.value) == "\n  - ".join([f"Cannot map class {case.entity}:", *case.problems])
    # Its table is left as it was.
    assert case.entity not in {one.entity.__name__ for one in catalog_of(table).mappings.values()}
    assert table.rules is rules or case.declaration.count("class ") > 1

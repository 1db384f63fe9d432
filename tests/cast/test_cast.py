"""The cast covers every declaration, and nobody is in it without a part."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dynaorm
from dynaorm import Entity, Session
from dynaorm.testing import FakeClock, assert_consistent, factory, tables_of
from dynaorm.transport import Transport
from tests.cast import documents, events, orders, others, people, tables, tickets

TESTS = Path(__file__).parents[1]
MODULES = (documents, events, orders, others, people, tables, tickets)
CAST = [ast.parse(Path(str(module.__file__)).read_text()) for module in MODULES]
EVERYBODY: list[type[Entity]] = [
    one
    for module in MODULES
    for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, Entity) and one.__module__ == module.__name__
]
DECLARATIONS = (
    "Aggregate", "Attribute", "BinaryKey", "CreatedAt", "ExpiresAt", "GlobalIndex", "InKey", "Index", "LocalIndex",
    "NumberKey", "NumberRevision", "Table", "Unique", "UpdatedAt", "Versioned",
)  # fmt: skip
IDLE = {
    "Blob", "Entry", "Event", "Hits", "Job", "Lease", "Mark", "Member", "Nightly", "Note", "Repo", "Room", "Safe",
    "Shop", "Staff", "Store", "Thing", "Visitor",
}  # fmt: skip
"""Classes that are there for the sake of a declaration."""
SPECS = ("upper", "casefold", "05d", "%Y-%m-%d", "desc", "shard4", "raw")


def nodes() -> Iterator[ast.AST]:
    for tree in CAST:
        yield from ast.walk(tree)


def test_every_parameter_of_every_declaration_is_given_somewhere() -> None:
    given: dict[str, set[str]] = {name: set() for name in DECLARATIONS}
    for node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in given:
            own: Any = inspect.signature(getattr(dynaorm, node.func.id))
            bound = own.bind_partial(*node.args, **{str(one.arg): one.value for one in node.keywords})
            given[node.func.id] |= {"", *bound.arguments}
    missing = {
        name: {"", *inspect.signature(getattr(dynaorm, name)).parameters} - found
        for name, found in given.items()
    }
    assert not {name: found for name, found in missing.items() if found}


def test_every_keyword_of_a_class_is_given_somewhere() -> None:
    given = {one.arg for node in nodes() if isinstance(node, ast.ClassDef) for one in node.keywords}
    wanted = {name for name in inspect.signature(Entity.__init_subclass__).parameters if name != "config"}
    assert not wanted - given


def test_every_form_of_a_placeholder_stands_in_a_template() -> None:
    templates = [
        node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [spec for spec in SPECS if not any(re.search(rf"{{[^}}]*:{spec}", one) for one in templates)] == []
    assert any("{address.city" in one for one in templates), "a nested field"


def test_a_class_of_the_cast_plays_in_a_test() -> None:
    """Or it is there for the sake of a declaration that no other class has."""
    imported = set()
    for path in TESTS.rglob("*.py"):
        if path.parent.name != "cast":
            found = [
                node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
            ]
            imported |= {one.name for node in found if "tests.cast" in str(node.module) for one in node.names}
    idle = {kind.__name__ for kind in EVERYBODY} - imported
    assert idle == IDLE - imported


@pytest.mark.parametrize("kind", EVERYBODY, ids=lambda kind: kind.__name__)
def test_everybody_is_stored_loaded_and_fits(kind: type[Entity], moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        for table in tables_of(kind):
            session.create_table(table)
        make: Any = factory(kind)
        for entity in (make(), make()):
            session.save(entity)
            assert session.refresh(entity) == entity
        assert_consistent(session, *tables_of(kind))

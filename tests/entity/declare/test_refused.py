"""Every declaration in refused/*.txt is refused with exactly the problems that stand below it.

A file says what it is about, and declares a class. A case is that class with more lines in its body; if it declares
the class itself, it is a program. A line in parentheses holds keywords of the class statement, and what stands before
such a line runs before the class.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.errors import DeclarationError

NAMES = "\n".join(
    f"from {module} import *"
    for module in ("datetime", "decimal", "typing", "pydantic", "dynaorm", "dynaorm.codecs")
)


class Case(NamedTuple):
    """What runs before a declaration, the declaration of a class of this name, and what is wrong with it."""

    before: str
    declaration: str
    entity: str
    problems: tuple[str, ...]


def case_of(before: str, given: ast.ClassDef, text: str) -> Case:
    lines = text.splitlines()
    problems = tuple(line[2:] for line in lines if line.startswith("! "))
    code = "\n".join(line for line in lines if not line.startswith("! "))
    if re.search(rf"^class {given.name}\(", code, re.MULTILINE):
        return Case(before, code, given.name, problems)
    first, keywords, body = ("", "", code)
    if found := re.search(r"^\((.*)\)$", code, re.MULTILINE):
        first, keywords, body = code[: found.start()], found[1], code[found.end() :]
    call: Any = ast.parse(f"keywords({keywords})", mode="eval").body
    named = {one.arg: ast.unparse(one) for one in [*given.keywords, *call.keywords]}
    inside = "\n".join([*map(ast.unparse, given.body), body.strip()]).strip()
    declaration = f"class {given.name}(Entity, {', '.join(named.values())}):\n" + re.sub(
        "^", "    ", inside, flags=re.MULTILINE
    )
    return Case(before + first, declaration, given.name, problems)


def cases() -> Iterator[Any]:
    for file in sorted(Path(__file__).parent.glob("refused/*.txt")):
        head, *rest = re.split(r"^# ", file.read_text(), flags=re.MULTILINE)
        *before, given = ast.parse(head.partition("\n")[2]).body
        assert isinstance(given, ast.ClassDef)
        for name, _, text in (part.partition("\n") for part in rest):
            first = "\n".join([NAMES, *map(ast.unparse, before), ""])
            yield pytest.param(case_of(first, given, text), id=f"{file.stem}: {name}")


@pytest.mark.parametrize("case", [*cases()])
def test_it_is_refused_with_every_problem_and_its_remedy_and_leaves_its_table_as_it_was(case: Case) -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec(case.before, names)
    table, rules = names["app"], names["app"].rules
    with pytest.raises(DeclarationError) as caught:
        exec(case.declaration, names)
    assert caught.value.problems == case.problems
    assert str(caught.value) == "\n  - ".join([f"Cannot map class {case.entity}:", *case.problems])
    assert case.entity not in {one.entity.__name__ for one in catalog_of(table).mappings.values()}
    assert table.rules is rules or case.declaration.count("class ") > 1

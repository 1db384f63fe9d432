"""Every declaration in declarations/*.txt is refused with the problems that stand below it, or means what stands there.

A file says what it is about, and declares a class. A case is that class with more lines in its body; if it declares
the class itself, it is a program. A line in parentheses holds keywords of the class statement, and what stands before
such a line runs before the class. A line that begins with ``!`` is a problem, one with ``=`` is true of the class.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pydantic_core import core_schema

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.derive import claims, index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError, DynaormError

IMPORTS: Final = """
from datetime import *
from decimal import *
from typing import Annotated, Any, ClassVar, Generic, TypeVar
from pydantic import AfterValidator, BaseModel, Field, computed_field, model_validator
from dynaorm import *
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


NAMES: Final[dict[str, Any]] = {
    "__name__": __name__,
    "core_schema": core_schema,
    **{one.__name__: one for one in (catalog_of, guards, keys_in_indexes, mapping_of, refusal)},
}
exec(IMPORTS, NAMES)


class Case(NamedTuple):
    """What runs before a declaration, the declaration of a class of this name, what is wrong with it, or true of it."""

    before: str
    declaration: str
    entity: str
    problems: tuple[str, ...]
    truths: tuple[str, ...]


def case_of(before: str, given: ast.ClassDef, text: str) -> Case:
    lines = text.splitlines()
    problems, truths = (tuple(line[2:] for line in lines if line.startswith(f"{sign} ")) for sign in "!=")
    code = "\n".join(line for line in lines if line[:2] not in {"! ", "= "})
    if re.search(rf"^class {given.name}\(", code, re.MULTILINE):
        return Case(before, code, given.name, problems, truths)
    first, keywords, body = ("", "", code)
    if found := re.search(r"^\((.*)\)$", code, re.MULTILINE):
        first, keywords, body = code[: found.start()], found[1], code[found.end() :]
    call: Any = ast.parse(f"keywords({keywords})", mode="eval").body
    named = {one.arg: ast.unparse(one) for one in [*given.keywords, *call.keywords]}
    inside = "\n".join([*map(ast.unparse, given.body), body.strip()]).strip()
    declaration = f"class {given.name}(Entity, {', '.join(named.values())}):\n" + re.sub(
        "^", "    ", inside, flags=re.MULTILINE
    )
    return Case(before + first, declaration, given.name, problems, truths)


def cases() -> Iterator[Any]:
    for file in sorted(Path(__file__).parent.glob("declarations/*.txt")):
        head, *rest = re.split(r"^# ", file.read_text(), flags=re.MULTILINE)
        *before, given = ast.parse(head.partition("\n")[2]).body
        assert isinstance(given, ast.ClassDef)
        for name, _, text in (part.partition("\n") for part in rest):
            first = "\n".join([*map(ast.unparse, before), ""])
            yield pytest.param(case_of(first, given, text), id=f"{file.stem}: {name}")


@pytest.mark.parametrize("case", [*cases()])
def test_a_declaration_is_refused_with_every_problem_or_means_what_it_says(case: Case) -> None:
    names = dict(NAMES)
    exec(case.before, names)
    table, rules = names["app"], names["app"].rules
    assert bool(case.problems) is not bool(case.truths)
    if case.truths:
        exec(case.declaration, names)
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

"""The examples in the docstrings of public names run, and show what they print."""

import ast
import asyncio
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dynaorm import AsyncSession, errors
from dynaorm.errors import DynaormError
from dynaorm.testing import strict_moto
from dynaorm.testing.moto_engine import MotoTransport
from dynaorm.transport import NoAnswer, Refusal, Transport
from tests.test_public_names import PACKAGES, PUBLIC_MODULES
from tools.site.reference import MADE_ELSEWHERE, TOPICS

ROOT = Path(__file__).parents[2]
NAMED = (
    *PACKAGES,
    *(importlib.import_module(f"dynaorm.{name}") for name in ("codecs", "iam", "integrations.fastapi")),
)
"""The packages whose names an example takes as imported."""

DECLARATIONS = (ROOT / "tools" / "site" / "declarations.py").read_text()
# To send over botocore takes longer than most examples.
OVER_ONE_CLIENT = DECLARATIONS.replace('Session(region="eu-west-1")', "Session(transport=transport)")


HIDDEN = re.compile(
    "|".join(one[1:] for one in re.findall(r'"(!\^[^"]+)"', (ROOT / "tools/site/mkdocs.yml").read_text()))
)
"""The names that the reference leaves out."""


@pytest.fixture(scope="module")
def transport() -> Transport:
    return MotoTransport(region="eu-west-1")


def is_method(value: Any) -> bool:
    """Whether it is called. To Python 3.13, a cached property is a routine, too."""
    return inspect.isroutine(value) and callable(value)


def documented() -> Iterator[tuple[str, Any]]:
    """Every public object, and the public methods of the classes among them, by name."""
    for topic in TOPICS.values():
        for name in topic.names:
            if name in PUBLIC_MODULES:
                whole = importlib.import_module(name)
                names = getattr(whole, "__all__", [one for one in vars(whole) if not one.startswith("_")])
                found = [(f"{name}.{one}", getattr(whole, one)) for one in names]
            else:
                module, _, attribute = name.rpartition(".")
                found = [(name, getattr(importlib.import_module(module), attribute))]
            for own, value in found:
                yield own, value
                if inspect.isclass(value):
                    for method, defined in inspect.getmembers(value, is_method):
                        if not HIDDEN.search(method) and str(getattr(defined, "__module__", "")).startswith(
                            "dynaorm"
                        ):
                            yield f"{own}.{method}", defined


OBJECTS = dict(documented())
SAID = {name: inspect.getdoc(value) or "" for name, value in OBJECTS.items()}
EXAMPLES = {
    # A method that classes share is run once.
    said: (name, examples)
    for name, said in reversed(SAID.items())
    if (examples := doctest.DocTestParser().get_examples(said))
}


@pytest.mark.parametrize(("name", "examples"), EXAMPLES.values(), ids=[name for name, _ in EXAMPLES.values()])
def test_the_example_of_a_public_name_prints_what_it_shows(
    name: str, examples: list[doctest.Example], transport: Transport
) -> None:
    with strict_moto(), asyncio.Runner() as loop:
        names: dict[str, Any] = {"__name__": "declarations", "transport": transport}
        exec(compile(OVER_ONE_CLIENT, "declarations.py", "exec"), names)
        names |= {one: getattr(package, one) for package in NAMED for one in package.__all__}
        names |= {one.__name__: one for one in vars(errors).values() if inspect.isclass(one)}
        names |= {"UTC": UTC, "date": date, "datetime": datetime, "timedelta": timedelta}
        # Methods that synchronous and asynchronous queries share show the synchronous session.
        is_async = "._async" in getattr(OBJECTS[name], "__module__", "")
        if is_async:
            names["session"] = AsyncSession(region="eu-west-1")
        checker = doctest.OutputChecker()
        for example in examples:
            printed = _printed(example.source, names, loop)
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert checker.check_output(example.want, printed, flags), f"{example.source}{printed}"
        if is_async:
            loop.run(names["session"].close())


FRAGMENTS = {
    f"{name}-{number}": dedent(fragment)
    for name, said in SAID.items()
    for number, fragment in enumerate(
        re.findall(r"^ *```python\n(.*?)^ *```$", said, re.MULTILINE | re.DOTALL)
    )
}


@pytest.mark.parametrize("fragment", FRAGMENTS.values(), ids=FRAGMENTS)
def test_a_fragment_that_a_public_name_shows_is_python_and_imports_what_exists(fragment: str) -> None:
    # It is not run: it starts processes, needs AWS, or stands for a part of the caller's program.
    compile(fragment, "fragment.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(ast.parse(fragment)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dynaorm"):
            module = import_module(str(node.module))
            assert all(hasattr(module, one.name) for one in node.names)


def _printed(source: str, names: dict[str, Any], loop: asyncio.Runner) -> str:
    """What an example prints, the ``repr`` of an expression and the last line of an error included."""
    tree = ast.parse(source)
    is_value = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
    how = "eval" if is_value else "exec"
    code = compile(source.strip(), "example", how, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with redirect_stdout(StringIO()) as output:
        try:
            value = eval(code, names)
            if inspect.iscoroutine(value):
                value = loop.run(value)
        except (DynaormError, NoAnswer, Refusal) as error:
            kind = type(error)
            return f"Traceback (most recent call last):\n{kind.__module__}.{kind.__qualname__}: {error}\n"
    return output.getvalue() + (f"{value!r}\n" if is_value and value is not None else "")


NOT_MADE_BY_USERS = {name.rpartition(".")[2] for name in MADE_ELSEWHERE} | {
    *("Broken", "LiteralPart", "Ksuid", "KsuidMs", "Entity"),
}
"""Classes whose objects come from elsewhere, or whose signature is not that of their own ``__init__``."""


@pytest.mark.parametrize(
    "name", [name for name, one in OBJECTS.items() if inspect.isclass(one) or is_method(one)]
)
def test_a_public_name_shows_an_example_and_describes_only_its_own_arguments(name: str) -> None:
    value, said = OBJECTS[name], SAID[name]
    assert "\nExamples:\n" in said
    is_made_by_users = name.rsplit(".", maxsplit=1)[-1] not in NOT_MADE_BY_USERS
    if not is_made_by_users or (inspect.isclass(value) and issubclass(value, DynaormError)):
        return
    section = said.partition("\nArgs:\n")[2].partition("\n\n")[0]
    documented = set(re.findall(r"^    \*{0,2}(\w+): ", section, re.MULTILINE))
    assert documented <= {*inspect.signature(value).parameters}

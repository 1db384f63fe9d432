"""Every public name of dynaorm, with the module that defines it: what users import stays importable."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dynaorm

ROOT = Path(__file__).parents[1]

PACKAGES = tuple(
    import_module(f"dynaorm{name}")
    for name in (
        *("", ".description", ".export", ".layout", ".session", ".streams", ".testing", ".tools"),
        ".transport",
    )
)
"""The packages whose stubs say what users import from them."""

MOST_NAMES_OF_THE_ROOT = 50
MOST_METHODS_OF_A_SESSION = 32

PUBLIC_MODULES = {
    "dynaorm",
    "dynaorm.cli.entry",
    "dynaorm.codecs",
    "dynaorm.description",
    "dynaorm.errors",
    "dynaorm.export",
    "dynaorm.iam",
    "dynaorm.integrations.fastapi",
    "dynaorm.integrations.opentelemetry",
    "dynaorm.integrity.run",
    "dynaorm.integrity.tasks",
    "dynaorm.integrity.verify_export",
    "dynaorm.layout",
    "dynaorm.session",
    "dynaorm.streams",
    "dynaorm.testing",
    "dynaorm.tools",
    "dynaorm.transport",
}
"""The modules that users import from."""

DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]


@pytest.mark.parametrize("package", PACKAGES, ids=[package.__name__ for package in PACKAGES])
def test_every_public_name_is_defined_where_the_stub_imports_it_from(package: ModuleType) -> None:
    stub = Path(f"{package.__file__}i").read_text()
    homes = {
        str(alias.asname): str(node.module)
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert [*homes] == package.__all__
    for name, home in homes.items():
        value = getattr(package, name)
        assert value is getattr(import_module(home), name)
        if inspect.isfunction(value) or (inspect.isclass(value) and value.__name__ == name):
            assert value.__module__ == home


def test_the_surface_stays_small() -> None:
    assert len(PACKAGES[0].__all__) <= MOST_NAMES_OF_THE_ROOT
    for session in (dynaorm.Session, dynaorm.AsyncSession):
        methods = {name for name in dir(session) if not name.startswith("_")}
        assert len(methods) <= MOST_METHODS_OF_A_SESSION


def test_documents_import_from_public_modules_only() -> None:
    found = {
        (document.name, module)
        for document in DOCUMENTS
        for code in _programs(document)
        for module in _imported(code)
    }
    private = {(name, module) for name, module in found if module not in PUBLIC_MODULES}
    assert not private
    assert {module for _, module in found} == PUBLIC_MODULES


def _programs(document: Path) -> list[str]:
    text = document.read_text()
    return (
        [text]
        if document.suffix == ".py"
        else re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )


def _imported(code: str) -> Iterator[str]:
    """The modules of dynaorm that a program imports from."""
    for node in ast.walk(ast.parse(code)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        yield from (module for module in modules if module.partition(".")[0] == "dynaorm")

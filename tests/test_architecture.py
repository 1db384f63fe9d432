"""The shape of the code, kept by tests: floors, sizes, names, first sentences, and what an import costs.

Each test collects every fault before it fails, so that one run gives the whole list.
"""

import ast
import functools
import inspect
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import dynaorm.integrations.fastapi
from dynaorm.description.factory import COUNTED
from dynaorm.entity.text.scalar import NODES, SCALARS
from tests.test_public_names import PACKAGES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dynaorm"
TESTS = ROOT / "tests"

MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = sorted(TESTS.rglob("*.py"))

FUNCTION_LINES = 40

LONG_FUNCTIONS: dict[str, int] = {}
"""Functions over the budget ("dynaorm/item/field.py:FieldPath.between": 45). Better: a name for a part of it."""

NAMES_THAT_SAY_NOTHING = {"common", "constants", "helpers", "misc", "models", "types", "util", "utils"}

HEAVY = {
    "aiohttp",
    "boto3",
    "botocore",
    "fastapi",
    "moto",
    "opentelemetry",
    "pynamodb",
    "pyspark",
    "pytest",
    "requests",
    "rich",
}

# Of the standard library: what takes long to import, and is of no use before the first connection, thread or mistake.
LATE = {"asyncio", "concurrent", "difflib", "http", "ssl", "subprocess"}


def test_every_module_imports_only_from_lower_floors() -> None:
    run = _run(str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache")
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"


@pytest.mark.parametrize(
    "statement",
    [
        "import dynaorm",
        "import dynaorm.testing.plugin",
        "from dynaorm.testing import FakeClock, lost_answer",
        "from dynaorm import Table; from dynaorm.description import describe; describe(Table('app'))",
    ],
)
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    """The plugin is imported by pytest in every project where dynaorm is installed, hence the second one."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    run = _run(sys.executable, "-c", program)
    assert run.returncode == 0, run.stderr
    allowed = {"pytest"} if "plugin" in statement else set()
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)} & HEAVY - allowed
    assert not loaded, f"`{statement}` loads {sorted(loaded)}; import them where they are first needed"


def test_a_session_begins_without_what_only_some_processes_need() -> None:
    """A process that was started to serve one request waits for every import."""
    program = (
        "import json, sys\nfrom dynaorm import Entity, Key, Session, Table\nprint(json.dumps([*sys.modules]))"
    )
    run = _run(sys.executable, "-c", program)
    assert run.returncode == 0, run.stderr
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)} & (HEAVY | LATE)
    assert not loaded, f"a session loads {sorted(loaded)}; import them where they are first needed"


def test_what_is_late_is_what_the_type_checker_sees() -> None:
    """``late(globals(), commit="dynaorm.flow.commit")`` stands beside an import of the same module by the same name."""
    faults = []
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.If) and (named := _named_late(node)):
                seen = _imported(node)
                faults += [
                    f"{_name(path)}: {name} is {module}, and {seen.get(name)} for the type checker"
                    for name, module in named.items()
                    if seen.get(name) != module
                ]
    _report(faults)


@pytest.mark.parametrize("package", PACKAGES, ids=[one.__name__ for one in PACKAGES])
def test_a_package_imports_its_public_names_when_they_are_used(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))
    found = (getattr(package, name) for name in package.__all__)
    assert not any(isinstance(one, ModuleType | None) for one in found)
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        package.Sesion  # noqa: B018 - the attribute is what is asked


@pytest.mark.parametrize("package", PACKAGES[1:], ids=[one.__name__ for one in PACKAGES[1:]])
def test_no_public_name_of_a_package_is_that_of_a_module(package: ModuleType) -> None:
    """Importing the module would put it in the place of the name."""
    folder = PACKAGE / package.__name__.removeprefix("dynaorm.")
    assert not {path.stem for path in folder.glob("*.py")} & set(package.__all__)


def test_declaring_entities_does_not_import_sessions() -> None:
    program = "import sys\nfrom dynaorm import Entity, Table, Unique\nprint('dynaorm.session.session' in sys.modules)"
    assert _run(sys.executable, "-c", program).stdout == "False\n"


def test_every_package_is_a_charter_and_nothing_else() -> None:
    """Below the root, ``__init__.py`` says what lives in the package; only some name what is public in them."""
    faults = []
    for folder in sorted(
        {path.parent for path in MODULES} - {Path(str(one.__file__)).parent for one in PACKAGES}
    ):
        init = folder / "__init__.py"
        if not init.exists():
            faults.append(f"{_name(init)} does not exist")
        elif [type(node) for node in _tree(init).body] != [ast.Expr] or not ast.get_docstring(_tree(init)):
            faults.append(f"{_name(init)} must hold one docstring and no code")
    _report(faults)


def test_every_module_opens_with_a_sentence_that_says_what_it_is() -> None:
    """Who reads only the first lines of the modules should understand the library."""
    faults = []
    for path in (*MODULES, *TEST_MODULES):
        opening = (ast.get_docstring(_tree(path)) or "").partition("\n\n")[0]
        if not opening:
            faults.append(f"{_name(path)} has no docstring")
        elif not opening.endswith((".", ":", "?")):
            faults.append(f"{_name(path)} does not open with a sentence, but with: {opening!r}")
    _report(faults)


def test_every_public_name_is_documented() -> None:
    faults = []
    packages = (*PACKAGES, dynaorm.integrations.fastapi)
    for package, name in [(each, name) for each in packages for name in each.__all__]:
        public, label = getattr(package, name), f"{package.__name__}.{name}"
        if isinstance(public, ModuleType) or not (inspect.isclass(public) or inspect.isroutine(public)):
            continue
        if not inspect.getdoc(public):
            faults.append(f"{label} has no docstring")
        if inspect.isclass(public):
            faults += [f"{label}.{method} has no docstring" for method in _undocumented(public)]
    _report(faults)


def test_no_function_is_longer_than_its_budget() -> None:
    """Docstrings and comments are not counted: what is explained at length need not be long."""
    lengths = {name: length for path in (*MODULES, *TEST_MODULES) for name, length in _function_lengths(path)}
    _report_budget(lengths)


def test_every_module_has_a_name_that_says_something() -> None:
    said_nothing = [path for path in MODULES if path.stem.strip("_") in NAMES_THAT_SAY_NOTHING]
    _report([f"{_name(path)} is a missing noun" for path in said_nothing])


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(_name(path))
    _report([f"{name} is a class of {', '.join(paths)}" for name, paths in homes.items() if len(paths) > 1])


def test_names_use_the_words_of_the_glossary() -> None:
    """The left side of the glossary in CONTRIBUTING.md are names that must not come back."""
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", _section("Glossary"), re.MULTILINE)
    plain = {word: better for words, better in rows for word in re.findall(r"`(\w+)`", words)}
    assert {"Net", "Wire"} <= plain.keys()
    _report(
        [
            f"{_name(path)} defines {name}; say {plain[name]}"
            for path in (*MODULES, *TEST_MODULES)
            for defined in sorted(_defined(path))
            for name in {defined, defined.lstrip("_")} & plain.keys()
        ]
    )


def test_the_table_of_floors_names_every_package_and_top_level_module() -> None:
    packages = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")} - {"."}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    rows = re.findall(r"^\| \d+ \| (.*?) \|", _section("The floors"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    _report(
        [
            f"the table of floors in CONTRIBUTING.md does not name {one}"
            for one in (packages | modules) - named
        ]
        + [
            f"the table of floors in CONTRIBUTING.md names {one}, which does not exist"
            for one in named - (packages | modules)
        ]
    )


def test_every_wing_has_a_folder_of_tests() -> None:
    """A wing is a package of ``dynaorm``. Its tests say what it does for others, in files by subject, not by module."""
    wings = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    tested = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    _report([f"dynaorm/{wing} has no tests in tests/{wing}" for wing in sorted(wings - tested)])


def test_one_module_takes_annotations_apart() -> None:
    """The others ask the tree that it makes of a type. So an alias means the same to all of them."""
    takes_apart = {"get_origin", "get_type_hints", "NewType", "UnionType", "TypeAliasType"}
    # AnyValue is made there.
    homes = {PACKAGE / "entity" / "type_tree.py", PACKAGE / "entity" / "codec" / "container.py"}
    faults = []
    for path in {*(PACKAGE / "entity").rglob("*.py"), *(PACKAGE / "testing").rglob("*.py")} - homes:
        imports = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom))
        used = {one.name for node in imports for one in node.names} & takes_apart
        faults += [f"{_name(path)} imports {name}; ask type_tree" for name in sorted(used)]
    _report(faults)


def test_a_type_with_one_text_is_one_row() -> None:
    """What is true of such a type stands in its row of ``SCALARS``, and how it is made up in ``factory.py``."""
    # A date format is about the types that have days or times, and says what each directive means for them.
    homes = {
        PACKAGE / "entity" / "text" / "scalar.py",
        PACKAGE / "description" / "factory.py",
        PACKAGE / "testing" / "strategies.py",
        PACKAGE / "entity" / "template.py",
    }
    names = {kind.__name__ for kind in SCALARS if kind.__module__ != "builtins"}
    nodes = {node for node, scalar in NODES.items() if scalar.python.__name__ in names}
    assert {"UUID", "date"} <= names
    assert {"uuid", "date"} <= nodes
    faults = []
    for path in {*MODULES} - homes:
        for display in ast.walk(_tree(path)):
            listed = {_listed(one) for one in _displayed(display)} & (names | nodes)
            if len(listed) > 2:
                faults.append(f"{_name(path)} lists {', '.join(sorted(listed))}")
    _report(faults)
    assert {base for kind in SCALARS for base in kind.__mro__ if base in COUNTED} == SCALARS.keys()


def test_a_number_before_a_noun_is_counted() -> None:
    """Nouns are those that ``counted`` is given anywhere. ``{number} items`` is wrong for 1 item."""
    nouns = {noun for path in MODULES for noun in _nouns_counted(_tree(path))}
    assert {"items", "write units", "entities"} <= nouns
    _report(
        [
            f"{_name(path)}:{line} says {text}: use counted"
            for path in MODULES
            for line, text in _uncounted(_tree(path), nouns)
        ]
    )


def test_the_list_of_long_functions_holds_nothing_that_is_gone() -> None:
    functions = {name for path in (*MODULES, *TEST_MODULES) for name, _ in _function_lengths(path)}
    _report([f"{name} no longer exists" for name in sorted(LONG_FUNCTIONS.keys() - functions)])


def _displayed(node: ast.AST) -> Iterator[ast.expr]:
    """The elements of a tuple, list or set, or the keys of a dict, as the source has it."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key is not None)


def _listed(element: ast.expr) -> str:
    match element:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
    return ""


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def _section(title: str) -> str:
    """A section of CONTRIBUTING.md."""
    return (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _defined(path: Path) -> set[str]:
    """Every name that a file defines, and its own."""
    found = {path.stem}
    for node in ast.walk(_tree(path)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.arg(arg=name) | ast.alias(asname=str(name)):
                found.add(name)
    return found


def _named_late(block: ast.If) -> dict[str, str]:
    """What the ``else`` of ``if TYPE_CHECKING`` makes late: name -> module."""
    calls = [one.value for one in block.orelse if isinstance(one, ast.Expr)]
    return {
        str(keyword.arg): ast.literal_eval(keyword.value)
        for call in calls
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "late"
        for keyword in call.keywords
    }


def _imported(block: ast.If) -> dict[str, str]:
    """What a block imports: name -> module, or a module's name for something."""
    found: dict[str, str] = {}
    for node in block.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            found |= {one.asname or one.name: home + one.name for one in node.names}
    return found


def _function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a file, as ``path:Class.method``, with the lines of its body."""
    source = path.read_text().splitlines()

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from walk(child, prefix)
                continue
            if not isinstance(child, ast.ClassDef):
                yield f"{_name(path)}:{prefix}{child.name}", _lines(child, source)
            yield from walk(child, f"{prefix}{child.name}.")

    yield from walk(_tree(path), "")


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> int:
    documented = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    comments = sum(
        line.lstrip().startswith("#") for line in source[function.lineno - 1 : function.end_lineno]
    )
    # A command states each of its options as a parameter, and a list of parameters is read line by line.
    signature = function.body[0].lineno - function.lineno
    return _span(function) - signature - comments - (_span(documented) if documented else 0)


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _undocumented(public: type) -> list[str]:
    """Public methods and properties that dynaorm itself defines; what pydantic lends is pydantic's to explain."""
    inherited = [vars(base) for base in public.__mro__ if base.__module__.partition(".")[0] == "dynaorm"]
    named = {name for attributes in inherited for name in attributes if not name.startswith("_")}
    members = {name: inspect.getattr_static(public, name) for name in named}
    documentable = (classmethod, staticmethod, property)
    return sorted(
        name
        for name, member in members.items()
        if (inspect.isfunction(member) or isinstance(member, documentable)) and not inspect.getdoc(member)
    )


def _report_budget(lengths: dict[str, int]) -> None:
    allowed = {name: LONG_FUNCTIONS.get(name, FUNCTION_LINES) for name in lengths}
    long = {name: length for name, length in lengths.items() if length > allowed[name]}
    needless = {name for name in LONG_FUNCTIONS if lengths.get(name, FUNCTION_LINES + 1) <= FUNCTION_LINES}
    faults = [f"{name}: {length} lines of {allowed[name]}" for name, length in long.items()]
    _report(
        faults + [f"{name} keeps to the budget again: take it out of the list" for name in sorted(needless)]
    )


_IN_BRACES = re.compile(r"\{\w+\} ([a-z]+s)\b")


def _nouns_counted(tree: ast.AST) -> Iterator[str]:
    """The plural nouns that ``counted`` is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "counted":
            texts = [
                one.value
                for one in node.args[1:]
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if texts:
                plural = texts[1] if len(texts) > 1 else f"{texts[0]}s"
                yield re.sub(" (?:are|were|have)$", "", plural)


def _uncounted(tree: ast.AST, nouns: set[str]) -> Iterator[tuple[int, str]]:
    """The places where a number stands before a plural noun."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for before, after in pairwise(node.values):
                if _is_number(before) and _begins_with(after, nouns):
                    yield node.lineno, f"{ast.unparse(before)} and a plural"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = (one for one in _IN_BRACES.finditer(node.value) if one[1] in nouns)
            yield from ((node.lineno, one[0]) for one in found)


def _is_number(node: ast.expr) -> bool:
    """Whether a part of an f-string may be any number: no constant, and no text that a function makes."""
    if not isinstance(node, ast.FormattedValue) or node.conversion != -1:
        return False
    if isinstance(node.value, ast.Call):
        return isinstance(node.value.func, ast.Name) and node.value.func.id in ("len", "sum", "max", "min")
    names = [one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)]
    return not all(one.isupper() for one in names)


def _begins_with(node: ast.expr, nouns: set[str]) -> bool:
    text = node.value if isinstance(node, ast.Constant) else ""
    words = re.match(r" ([a-z]+)(?: [a-z]+)?", text) if isinstance(text, str) else None
    return words is not None and not {words[0].strip(), words[1]}.isdisjoint(nouns)


def _report(faults: list[str]) -> None:
    assert not faults, "\n" + "\n".join(faults)

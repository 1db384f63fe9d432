"""Changes a wing in many small ways, and names the changes that no test notices.

``python -m tests.mutants WING [TESTS ...] [--count N] [--seed N]``, as in ``... plan tests/requests --count 100``.
A first run, of a marked wing, says which test reaches which change. Then each change is made in a fork of a process
that has collected the tests: functions are replaced, and the tests that reach them run, quick ones first, until one
fails.

What is computed when a module is imported or a class is declared is not seen to change.
"""

import argparse
import ast
import builtins
import copy
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]
QUIET: Final = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--assert=plain", "--no-header")
SECONDS: Final = 8.0
"""How long the tests of one change may take together, by the first run."""

OTHER: Final[dict[type[ast.AST], type[Any]]] = {
    one: other
    for pair in (
        (ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot),
        (ast.Add, ast.Sub), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip


class Change(NamedTuple):
    """A node of a function that becomes another one. ``place`` counts the changes of its module."""

    path: str
    place: int
    line: int
    before: str
    after: str

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Spot(NamedTuple):
    """A node, what may stand in its place, and the statement that it is part of."""

    statement: ast.stmt
    node: ast.AST
    other: ast.AST


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node."""
    yield from _statements(node) if isinstance(node, ast.stmt) else (*_operators(node), *_values(node))


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[sign]) if type(sign) in OTHER:
            yield ast.Compare(node.left, [OTHER[type(sign)]()], node.comparators)
        case ast.BinOp(op=sign) if type(sign) in OTHER:
            yield ast.BinOp(node.left, OTHER[type(sign)](), node.right)
        case ast.BoolOp(values=values):
            yield ast.BoolOp(OTHER[type(node.op)](), values)
            yield from (_without(node, place) for place in range(len(values)))


def _values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Constant(value=bool() | int() as value):
            yield ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Call():
            yield from (_without_keyword(node, place) for place in range(len(node.keywords)))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If():
            yield from (ast.If(ast.Constant(value), node.body, node.orelse) for value in (True, False))
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


def _without(node: ast.BoolOp, place: int) -> ast.AST:
    values = [*node.values[:place], *node.values[place + 1 :]]
    return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)


def _without_keyword(node: ast.Call, place: int) -> ast.AST:
    return ast.Call(node.func, node.args, [*node.keywords[:place], *node.keywords[place + 1 :]])


def spots(node: ast.AST, statement: ast.stmt | None = None, *, inside: bool = False) -> Iterator[Spot]:
    """Every change of the functions below a node. Errors are left out, because their texts are."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    if inside and statement is not None:
        yield from (Spot(statement, node, ast.copy_location(other, node)) for other in variants(node))
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    below = (
        node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ast.iter_child_nodes(node)
    )
    for child in below:
        yield from spots(child, statement, inside=inside)


def draw(wing: str, count: int, seed: int) -> list[Change]:
    """Changes of a wing at random, the same each time."""
    found: list[Change] = []
    for path in sorted((ROOT / "dynaorm" / wing).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for place, (statement, node, other) in enumerate(spots(ast.parse(path.read_text()))):
            texts = (ast.unparse(one).partition("\n")[0][:100] for one in (node, other))
            found.append(Change(name, place, statement.lineno, *texts))
    return sorted(random.Random(seed).sample(found, min(count, len(found))))


class Edit(ast.NodeTransformer):
    """A module with another node, or with marks before statements."""

    def __init__(self, others: dict[ast.AST, ast.AST], marks: dict[ast.stmt, list[int]]) -> None:
        self._others, self._marks = others, marks

    def visit(self, node: ast.AST) -> Any:
        edited = self._others.get(node) or super().generic_visit(node)
        numbers = self._marks.get(node, []) if isinstance(node, ast.stmt) else []
        marks = [ast.parse(f"__mark__({number})").body[0] for number in numbers]
        return [*(ast.copy_location(one, node) for one in marks), edited] if marks else edited


def compiled(
    path: str, *, change: Change | None = None, marked: Sequence[tuple[int, Change]] = ()
) -> CodeType:
    """The code of a module with one change, or with marks where there could be some."""
    tree = ast.parse((ROOT / path).read_text())
    found = list(spots(tree))
    others = {found[change.place].node: copy.deepcopy(found[change.place].other)} if change else {}
    marks: dict[ast.stmt, list[int]] = defaultdict(list)
    for number, one in marked:
        marks[found[one.place].statement].append(number)
    edited = ast.fix_missing_locations(Edit(others, marks).visit(tree))
    return compile(edited, str(ROOT / path), "exec", dont_inherit=True)


# -- which test reaches which change -----------------------------------------------------------------------------------


class Marking(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of changes with marks."""

    def __init__(self, changes: list[Change]) -> None:
        self._marked: dict[str, list[tuple[int, Change]]] = defaultdict(list)
        for number, change in enumerate(changes):
            self._marked[change.module].append((number, change))

    def find_spec(self, name: str, path: Any, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self._marked:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        marked = self._marked[module.__name__]
        exec(compiled(marked[0][1].path, marked=marked), vars(module))


class Reaching:
    """A plugin that keeps the changes that each test reaches, and how long it took."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[float, list[int]]] = {}
        self.now: set[int] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.now.clear()
        start = time.process_time()
        result = yield
        self.tests[item.nodeid] = time.process_time() - start, sorted(self.now)
        return result


def reach(changes: list[Change], tests: list[str], out: str) -> None:
    """Run the tests once, marked, and write what each reaches."""
    plugin = Reaching()
    vars(builtins)["__mark__"] = plugin.now.add
    sys.meta_path.insert(0, Marking(changes))
    pytest.main([*tests, *QUIET], plugins=[plugin])
    Path(out).write_text(json.dumps(plugin.tests))


# -- which change is noticed -------------------------------------------------------------------------------------------


class Killing:
    """A plugin that runs, in place of all tests, those of each change in a fork with that change."""

    def __init__(self, changes: list[Change], tests: dict[str, tuple[float, list[int]]]) -> None:
        self._changes, self._tests = changes, tests
        self.survivors: list[tuple[Change, int]] = []
        self._failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or (report.nodeid if report.failed else "")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for change in self._changes:
            importlib.import_module(change.module)
        functions = [one for one in gc.get_objects() if type(one) is FunctionType]
        for number, change in enumerate(self._changes):
            nodes = sorted((cost, node) for node, (cost, hits) in self._tests.items() if number in hits)
            chosen: list[pytest.Item] = []
            spent = 0.0
            for cost, node in nodes:
                spent += cost
                chosen += [items[node]] if spent < SECONDS or not chosen else []
            if not self._is_killed(change, chosen, functions):
                self.survivors.append((change, len(nodes)))
        return True

    def _is_killed(self, change: Change, items: list[pytest.Item], functions: list[FunctionType]) -> bool:
        child = os.fork()
        if child == 0:
            status = 1  # an error that ends pytest is noticed, too; the child must never go on as if it were the parent
            try:
                status = self._run(change, items, functions)
            finally:
                os._exit(status)
        end = time.monotonic() + 3 * SECONDS + 20
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) != 0
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        return True

    def _run(self, change: Change, items: list[pytest.Item], functions: list[FunctionType]) -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        path = str(ROOT / change.path)
        new = {
            (one.co_qualname, one.co_firstlineno): one for one in _codes(compiled(change.path, change=change))
        }
        for function in (one for one in functions if one.__code__.co_filename == path):
            code = new.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code
        for item, following in zip(items, [*items, None][1:], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return 1
        return 0


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wing")
    parser.add_argument("tests", nargs="*", default=["tests/requests"])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reach", help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args()
    changes = draw(given.wing, given.count, given.seed)
    if given.reach:
        reach(changes, given.tests, given.reach)
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "reach.json")
        subprocess.run(
            [sys.executable, "-m", "tests.mutants", *sys.argv[1:], "--reach", str(out)], cwd=ROOT, check=True
        )
        tests = json.loads(out.read_text())
    plugin = Killing(changes, tests)
    pytest.main([*given.tests, *QUIET], plugins=[plugin])
    for change, reaching in plugin.survivors:
        text = f"{change.path}:{change.line}: {change.before} -> {change.after} ({reaching} tests reach it)\n"
        sys.stdout.write(text)
    sys.stdout.write(
        f"{len(changes) - len(plugin.survivors)} of {len(changes)} changes of {given.wing} are noticed\n"
    )


if __name__ == "__main__":
    main()

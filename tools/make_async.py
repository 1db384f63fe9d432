"""Generates the asynchronous session from the synchronous one: ``make async``.

The generated modules are ``dynaorm/session/_async/*.py``. They differ from their sources in four ways:

1. Calls that reach DynamoDB are awaited, and every function that awaits is ``async``.
2. ``yield from`` becomes a loop, because asynchronous generators do not have it.
3. Some names are replaced, such as ``Session`` by ``AsyncSession`` (NAMES).
4. Imports and docstrings are adapted (TEXT, EXAMPLES).
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

ROOT: Final = Path(__file__).parents[1]
SESSION: Final = ROOT / "dynaorm" / "session"

SOURCES: Final = ("session.py", "query.py", "search.py")

AWAITED: Final = {
    "self._run",
    "self._write",
    "self.all",
    "self.close",
    "block.intents_of",
    "drive",
    "close_transport",
    "work",
}
ENTERED: Final = {"self._block"}
"""Context managers that are entered with ``async with``."""

ALWAYS_ASYNC: Final = {"__enter__", "__call__"}
"""Functions that are asynchronous although they await nothing."""

NAMES: Final = {
    "Session": "AsyncSession",
    "Query": "AsyncQuery",
    "Collection": "AsyncCollection",
    "Search": "AsyncSearch",
    "RunFlow": "AsyncRunFlow",
    "Transport": "AsyncTransport",
    "Work": "AsyncWork",
    "Iterator": "AsyncIterator",
    "contextmanager": "asynccontextmanager",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "__iter__": "__aiter__",
    "intents_of": "intents_of_async",
    "drive": "drive_async",
    "check_run": "check_async_run",
    "check_transport": "check_async_transport",
    "default_transport": "default_async_transport",
    "close_transport": "close_async_transport",
}

TEXT: Final = {
    # Modules with an asynchronous counterpart.
    r"\bdynaorm\.session\.(query|search)\b": r"dynaorm.session._async.\1",
    r"\bdynaorm\.session import (query|search)\b": r"dynaorm.session._async import \1",
    r"\bdynaorm\.session\.drive\b": "dynaorm.session.drive_async",
    # Docstrings.
    r"``(Session|Query|Collection|Search)``": r"``Async\1``",
    r"``for (\w+) in session": r"``async for \1 in session",
    r"\n\n``make async`` generates .* from this module\.\n": "",
}


EXAMPLES: Final = {
    r"\bfor (\w+) in session\.": r"async for \1 in session.",
    r"\b(with|def) (session\.transaction\(|Session\(|\w+\(tx\))": r"async \1 \2",
    r"\bSession\(": "AsyncSession(",
    # A query is sent by its ending, anything else by the method itself.
    r"(session\.(?:query|scan|collection|search)\(.*\)\.(?:all|first|one|count|page|split)\()": r"await \1",
    r"(?<!in )(session\.(?!query|scan|collection|search|transaction|plan\b)\w+\()": r"await \1",
}
"""Replacements in the lines of programs in docstrings."""


class Replacement(NamedTuple):
    """Text to put in the place of some columns of a line."""

    line: int
    start: int
    end: int
    text: str


def asynchronous(source: str) -> str:
    """Return the asynchronous form of a synchronous module, not formatted yet."""
    for pattern, replacement in TEXT.items():
        source = re.sub(pattern, replacement, source)
    source = re.sub(r"^ *(>>>|\.\.\.) .*$", _example, source, flags=re.MULTILINE)
    source = re.sub(r"(?<=```python\n).*?(?=```)", _example, source, flags=re.DOTALL)
    tree = ast.parse(source)
    lines = source.splitlines()
    for edit in sorted({*_syntax(tree), *_tokens(source)}, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
    return "\n".join(lines) + "\n"


def _example(program: re.Match[str]) -> str:
    text = program[0]
    for pattern, replacement in EXAMPLES.items():
        text = re.sub(pattern, replacement, text)
    return text


def _syntax(tree: ast.Module) -> Iterator[Replacement]:
    """Find the places for ``await`` and ``async``, and for loops in place of ``yield from``."""
    for node in ast.walk(tree):
        if _is_awaited(node):
            yield _before(node, "await ")
        elif _is_entered(node):
            yield _before(node, "async ")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.YieldFrom):
            yield Replacement(node.lineno, node.col_offset, node.col_offset + len("yield from"), "for one in")
            end, indent = node.end_col_offset or 0, " " * node.col_offset
            yield Replacement(node.end_lineno or 0, end, end, f":\n{indent}    yield one")
        elif isinstance(node, ast.ClassDef | ast.Module):
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            # By name, so that overloads follow their implementation.
            names = {each.name for each in functions if _awaits(each)} | ALWAYS_ASYNC
            yield from (_before(each, "async ") for each in functions if each.name in names)


def _is_awaited(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in AWAITED


def _is_entered(node: ast.AST) -> TypeGuard[ast.With]:
    return isinstance(node, ast.With) and any(
        isinstance(item.context_expr, ast.Call) and ast.unparse(item.context_expr.func) in ENTERED
        for item in node.items
    )


def _awaits(function: ast.FunctionDef) -> bool:
    return any(_is_awaited(node) or _is_entered(node) for node in ast.walk(function))


def _before(node: ast.expr | ast.stmt, text: str) -> Replacement:
    return Replacement(node.lineno, node.col_offset, node.col_offset, text)


def _tokens(source: str) -> Iterator[Replacement]:
    """Find the names to replace. Those of modules in ``from ... import`` stay."""
    is_path = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (line, start), (_, end) = token.start, token.end
        if token.type == tokenize.NAME:
            if token.string in {"from", "import"}:
                is_path = token.string == "from" and not token.line[:start].strip()
            if token.string in NAMES and not is_path:
                yield Replacement(line, start, end, NAMES[token.string])


def generated() -> Mapping[Path, str]:
    """Return each generated file with its content."""
    return {SESSION / "_async" / name: _formatted(name) for name in SOURCES}


def _formatted(name: str) -> str:
    source = SESSION / name
    header = (
        f"# Generated from {source.relative_to(ROOT)} by `make async`. Replacement that file, not this one.\n"
    )
    path = ["--quiet", "--stdin-filename", str(SESSION / "_async" / name), "-"]
    text = header + asynchronous(source.read_text())
    return _ruff(["format", *path], _ruff(["check", "--select", "I", "--fix", *path], text))


def _ruff(arguments: list[str], text: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    done = subprocess.run(
        [ruff, *arguments], input=text, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)

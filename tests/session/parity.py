"""The asynchronous session is the synchronous one with ``await`` in it: these rules turn one into the other.

``python tests/session/parity.py`` writes the asynchronous modules anew after the synchronous ones were edited.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SESSION = Path(__file__).parents[2] / "dynaorm" / "session"

PAIRS = {
    "sync": "aio",
    "query_methods": "query_methods_async",
    "query": "query_async",
    "bulk": "bulk_async",
    "versions": "versions_async",
    "verifying": "verifying_async",
}
"""Each synchronous module, and its asynchronous counterpart."""

# Methods that only build are plain in both.
_PLAIN = {
    "__init__",
    "query",
    "collection",
    "scan",
    "keys",
    "plan",
    "history",
    "verify",
    "repair",
    "backfill",
}

_RULES: list[tuple[str, str]] = [
    # What talks to DynamoDB is awaited ...
    (r"self\.(_run|_write|all|close)\(", r"await self.\1("),
    (r"return drive\(", "return await drive_async("),
    (r"close_transport\(self", "await close_async_transport(self"),
    (r"result = work\(tx\)", "result = await work(tx)"),
    (r"Callable\[\[block\.Transaction\], T\]", "Callable[[block.Transaction], Awaitable[T]]"),
    (r"import Callable, Iterator, Mapping", "import Awaitable, Callable, Iterator, Mapping"),
    (r"yield from ([^\n]+)", r"for one in \1:\n<indent>    yield one"),
    (r"with self\._block", "async with self._block"),
    (r"(await [^#]*\S) +# type: ignore\[no-any-return\].*", r"\1"),
    # ... and what is asynchronous has a name that says so.
    (r"\bcontextmanager\b", "asynccontextmanager"),
    (r"\bIterator\b", "AsyncIterator"),
    (r"\b__(enter|exit|iter)__\b", r"__a\1__"),
    (r"\b(Session|QueryMethods|Bulk|Versions|Verifying|Query|Collection|Transport)\b", r"Async\1"),
    (r"\b(default|close)_transport\b", r"\1_async_transport"),
    (r"\bcontext_of\b", "async_context_of"),
    (r"session import query as", "session import query_async as"),
    (
        r"\bdynaorm\.session\.(query_methods|query|bulk|versions|verifying|settings|drive)\b",
        r"dynaorm.session.\1_async",
    ),
    (r"import drive\b", "import drive_async"),
    (r"import logged$", "import logged_async"),
    (r"\blogged\(", "logged_async("),
    (r"``for (\w+) in session", r"``async for \1 in session"),
]


def asynchronous(source: str) -> str:
    """What the asynchronous module must be, before formatting."""
    lines: list[str] = []
    for line in source.splitlines():
        text, indent = line, " " * (len(line) - len(line.lstrip()))
        found = re.match(r" {4}def (\w+)", line)
        if found and found[1] not in _PLAIN:
            text = line.replace("def ", "async def ", 1)
        for pattern, replacement in _RULES:
            text = re.sub(pattern, replacement, text).replace("<indent>", indent)
        lines.append(text)
    return "\n".join(lines) + "\n"


def expected() -> Mapping[Path, str]:
    """Each asynchronous module and what it must hold, formatted."""
    return {
        SESSION / f"{other}.py": _formatted(asynchronous((SESSION / f"{name}.py").read_text()), other)
        for name, other in PAIRS.items()
    }


def _formatted(text: str, name: str) -> str:
    path = ["--quiet", "--stdin-filename", str(SESSION / f"{name}.py"), "-"]
    return _ruff(["format", *path], _ruff(["check", "--select", "I,F401", "--fix", *path], text))


def _ruff(arguments: list[str], text: str) -> str:
    """What ruff makes of a text."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    done = subprocess.run(
        [ruff, *arguments], input=text, capture_output=True, text=True, check=False, cwd=SESSION.parents[1]
    )
    assert not done.stderr, done.stderr
    return done.stdout


if __name__ == "__main__":
    for path, text in expected().items():
        path.write_text(text)

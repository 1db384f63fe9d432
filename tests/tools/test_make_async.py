"""``make async``: the generated modules are current, and each rule of the tool does what it says."""

import pytest

from tools.make_async import SESSION, asynchronous, generated


def test_every_generated_module_is_current() -> None:
    stale = [path.name for path, text in generated().items() if path.read_text() != text]
    assert not stale, f"{stale} differ from their sources: run make async"


def test_nothing_else_is_among_the_generated_modules() -> None:
    assert {*(SESSION / "_async").glob("*.py")} == {*generated(), SESSION / "_async" / "__init__.py"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "def get(self):\n    return self._run(get())\n",
            "async def get(self):\n    return await self._run(get())\n",
            id="calls_are_awaited",
        ),
        pytest.param(
            "def plan(self):\n    return Query(self._run)\n",
            "def plan(self):\n    return AsyncQuery(self._run)\n",
            id="a_function_that_awaits_nothing_stays_plain",
        ),
        pytest.param(
            "class Session:\n    @overload\n    def f(self): ...\n    def f(self):\n        self._write(1)\n",
            "class AsyncSession:\n    @overload\n    async def f(self): ...\n    async def f(self):\n"
            "        await self._write(1)\n",
            id="overloads_follow_their_implementation",
        ),
        pytest.param(
            "def __iter__(self) -> Iterator[E]:\n    yield from self._run(\n        more())\n",
            "async def __aiter__(self) -> AsyncIterator[E]:\n    for one in await self._run(\n        more()):\n"
            "        yield one\n",
            id="yield_from_is_a_loop",
        ),
        pytest.param(
            "@contextmanager\ndef transaction(self):\n    with self._block(tx), other:\n        yield tx\n",
            "@asynccontextmanager\nasync def transaction(self):\n    async with self._block(tx), other:\n"
            "        yield tx\n",
            id="blocks_are_entered_asynchronously",
        ),
        pytest.param(
            "from dynaorm.session.drive import drive\n",
            "from dynaorm.session.drive_async import drive_async\n",
            id="imports_name_the_asynchronous_counterparts",
        ),
        pytest.param(
            '"""``Session``: one.\n\n``make async`` generates ``AsyncSession`` from this module.\n"""\n',
            '"""``AsyncSession``: one."""\n',
            id="docstrings_are_adapted",
        ),
    ],
)
def test_a_rule_turns_synchronous_code_into_asynchronous(source: str, expected: str) -> None:
    assert asynchronous(source) == expected

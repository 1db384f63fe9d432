"""Modules that are imported once something of theirs is used: a process that serves one request needs few of them.

Such modules are named twice, first by an import for the type checker, by which the floors are judged, too::

    if TYPE_CHECKING:
        from dynaorm.flow import commit
    else:
        late(globals(), commit="dynaorm.flow.commit")

The first ``commit.planned(...)`` imports the module and makes it the global that it seems to be: from then on it costs
what any import costs. Only functions can use what is late, and only annotations that are not evaluated can name it.
"""

from importlib import import_module
from typing import Any


def late(module: dict[str, Any], /, **named: str) -> None:
    """Give a module (its ``globals()``) others under names of its own, each to be imported when it is first used."""
    module.update({name: _Late(module, name, other) for name, other in named.items()})


class _Late:
    """Stands for a module until it is asked for something."""

    __slots__ = ("_module", "_name", "_other")

    def __init__(self, module: dict[str, Any], name: str, other: str) -> None:
        self._module = module
        self._name = name
        self._other = other

    def __getattr__(self, name: str) -> Any:
        # Threads may meet here: the import system lets one of them import, and gives all of them the same module.
        other = self._module[self._name] = import_module(self._other)
        return getattr(other, name)

    def __repr__(self) -> str:
        return f"<{self._other}, imported when it is used>"

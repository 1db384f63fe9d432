"""Late imports: modules and names that are imported on first use. A process that serves one request needs few of them.

Such a module is named twice, first in an import that the type checker and the check of the floors read::

    if TYPE_CHECKING:
        from dynaorm.flow import commit
    else:
        late(globals(), commit="dynaorm.flow.commit")

The first ``commit.planned(...)`` imports the module and stores it in the global ``commit``, so later uses cost nothing
extra. Use a late module only inside functions and in annotations that are not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any


def late_names(module: dict[str, Any], homes: Mapping[str, Iterable[str]], /) -> None:
    """Add names to the ``globals()`` of a module that are imported from their homes on first use.

    Call it where type checkers do not look: a module with ``__getattr__`` has any name for them.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        value = module[name] = getattr(import_module(home_of[name]), name)
        return value

    module |= {"__getattr__": find, "__dir__": lambda: sorted({*module, *home_of})}


def late(module: dict[str, Any], /, **named: str) -> None:
    """Add late modules to the ``globals()`` of a module: name to full module name."""
    module.update({name: _Late(module, name, other) for name, other in named.items()})


class _Late:
    """Stands for a module until one of its attributes is used."""

    __slots__ = ("_module", "_name", "_other")

    def __init__(self, module: dict[str, Any], name: str, other: str) -> None:
        self._module = module
        self._name = name
        self._other = other

    def __getattr__(self, name: str) -> Any:
        # Safe for threads: the import system imports once and returns the same module to all of them.
        other = self._module[self._name] = import_module(self._other)
        return getattr(other, name)

    def __repr__(self) -> str:
        return f"<{self._other}, imported when it is used>"

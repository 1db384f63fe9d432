"""Late imports: modules that are imported on first use, because a process that serves one request needs few of them.

Such a module is named twice, first in an import that the type checker and the check of the floors read::

    if TYPE_CHECKING:
        from dynaorm.flow import commit
    else:
        late(globals(), commit="dynaorm.flow.commit")

The first ``commit.planned(...)`` imports the module and stores it in the global ``commit``, so later uses cost nothing
extra. Use a late module only inside functions and in annotations that are not evaluated.
"""

from importlib import import_module
from typing import Any


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

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

from importlib import import_module
from typing import Any


def late_names(module: dict[str, Any], /) -> None:
    """Add the names to the ``globals()`` of a package that its stub imports. Each is imported on first use.

    Type checkers read the stub, ``__init__.pyi``, in place of the package. Each of its lines imports one name::

        from dynaorm.entity.base import Entity as Entity
    """
    stub = module["__spec__"].loader.get_data(f"{module['__path__'][0]}/__init__.pyi").decode()
    home_of = {line.split()[3]: line.split()[1] for line in stub.splitlines() if line.startswith("from ")}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        value = module[name] = getattr(import_module(home_of[name]), name)
        return value

    module |= {"__all__": [*home_of], "__getattr__": find, "__dir__": lambda: sorted({*module, *home_of})}


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

"""What a table is, for everything that shows it: ``describe``, ``classify``, ``samples``, ``answer_of``.

``dynaorm.describe`` is this package, and can be called: ``from dynaorm import describe; describe(app)``.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.describe.answer import answer_of, call_of, values_of
    from dynaorm.describe.description import (
        FORMAT,
        ClassDescription,
        FieldDescription,
        IndexDescription,
        KeyAttributeDescription,
        Literals,
        PlaceDescription,
        Question,
        Slot,
        TableDescription,
        TemplateDescription,
        TotalDescription,
        UniqueDescription,
        VectorDescription,
    )
    from dynaorm.describe.entry import Entry, classify
    from dynaorm.describe.live import differences
    from dynaorm.describe.sample_items import samples
    from dynaorm.describe.tables import describe
    from dynaorm.flow.table_differences import Difference, TableStep, table_steps

__all__ = [
    "FORMAT",
    "ClassDescription",
    "Difference",
    "Entry",
    "FieldDescription",
    "IndexDescription",
    "KeyAttributeDescription",
    "Literals",
    "PlaceDescription",
    "Question",
    "Slot",
    "TableDescription",
    "TableStep",
    "TemplateDescription",
    "TotalDescription",
    "UniqueDescription",
    "VectorDescription",
    "answer_of",
    "call_of",
    "classify",
    "describe",
    "differences",
    "samples",
    "table_steps",
    "values_of",
]

_HOMES: Final = {
    "dynaorm.describe.answer": ("answer_of", "call_of", "values_of"),
    "dynaorm.describe.description": (
        "FORMAT",
        "ClassDescription",
        "FieldDescription",
        "IndexDescription",
        "KeyAttributeDescription",
        "Literals",
        "PlaceDescription",
        "Question",
        "Slot",
        "TableDescription",
        "TemplateDescription",
        "TotalDescription",
        "UniqueDescription",
        "VectorDescription",
    ),
    "dynaorm.describe.entry": ("Entry", "classify"),
    "dynaorm.describe.live": ("differences",),
    "dynaorm.describe.sample_items": ("samples",),
    "dynaorm.describe.tables": ("describe",),
    "dynaorm.flow.table_differences": ("Difference", "TableStep", "table_steps"),
}


class _CallableModule(ModuleType):
    """This package, which is also the function ``dynaorm.describe``.

    Whenever the package is first imported, by whatever statement, the import system stores it as the attribute
    ``describe`` of ``dynaorm``, in place of any function of this name. So the package itself must be callable.
    """

    def __call__(self, table: Any, /) -> Any:
        return self.describe(table)


if not TYPE_CHECKING:
    late_names(globals(), _HOMES)
    sys.modules[__name__].__class__ = _CallableModule

"""What a table is, for everything that shows it: ``describe``, ``classify``, ``samples``, ``answer_of``."""

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.description.answer import answer_of, call_of, values_of
    from dynaorm.description.description import (
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
    from dynaorm.description.entry import Entry, classify
    from dynaorm.description.sample_items import samples
    from dynaorm.description.tables import describe, differences
    from dynaorm.flow.tables import Difference, TableStep, table_steps

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
    "dynaorm.description.answer": (
        "answer_of",
        "call_of",
        "values_of",
    ),
    "dynaorm.description.description": (
        "ClassDescription",
        "FORMAT",
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
    "dynaorm.description.entry": (
        "Entry",
        "classify",
    ),
    "dynaorm.description.sample_items": ("samples",),
    "dynaorm.description.tables": (
        "describe",
        "differences",
    ),
    "dynaorm.flow.tables": (
        "Difference",
        "TableStep",
        "table_steps",
    ),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)

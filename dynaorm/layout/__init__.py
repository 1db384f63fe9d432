"""How a table looks: the items of a description and its entries, as text, Markdown, Mermaid, SVG, JSON and HTML."""

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.layout.document import document_of
    from dynaorm.layout.html_page import ItemSource, page
    from dynaorm.layout.markdown import markdown_of, mermaid_of
    from dynaorm.layout.svg import svg_of
    from dynaorm.layout.text import text_of
    from dynaorm.layout.view import TableView, view_of

__all__ = [
    "ItemSource",
    "TableView",
    "document_of",
    "markdown_of",
    "mermaid_of",
    "page",
    "svg_of",
    "text_of",
    "view_of",
]

_HOMES: Final = {
    "dynaorm.layout.document": ("document_of",),
    "dynaorm.layout.html_page": (
        "ItemSource",
        "page",
    ),
    "dynaorm.layout.markdown": (
        "markdown_of",
        "mermaid_of",
    ),
    "dynaorm.layout.svg": ("svg_of",),
    "dynaorm.layout.text": ("text_of",),
    "dynaorm.layout.view": (
        "TableView",
        "view_of",
    ),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)

"""How a table looks: the items of a description and its entries, as text, Markdown, Mermaid, SVG, JSON and HTML."""

from dynaorm.late import late_names

late_names(globals())

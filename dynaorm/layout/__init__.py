"""How a table looks: the items of a description and its entries, as text, Markdown, Mermaid, SVG, JSON and HTML."""

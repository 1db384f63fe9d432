"""A flowchart as SVG: boxes at given places, and arrows between them.

The picture follows the reader's colour scheme. It has no script, and asks for no other file, so that it looks the same
on GitHub, on the site and in an editor.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

LINE: Final = 19
PADDING: Final = 11

_STYLE: Final = """
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.file { font: 12.5px ui-monospace, monospace; fill: #57606a }
.label { font-size: 13px; fill: #57606a }
.box { fill: #ffffff; stroke: #8c959f }
.end { fill: #f6f8fa; stroke: #8c959f; stroke-dasharray: 4 3 }
.main { fill: #ddf4ff; stroke: #0969da }
.area { fill: #f6f8fa; stroke: none }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.3; marker-end: url(#tip) }
.tip { fill: #57606a }
.paper { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .file, .label { fill: #9da7b3 }
.box { fill: #161b22; stroke: #6e7681 } .end { fill: #0d1117; stroke: #6e7681 }
.main { fill: #0c2d4d; stroke: #58a6ff } .area { fill: #161b22 }
.arrow { stroke: #9da7b3 } .tip { fill: #9da7b3 } .paper { fill: #0d1117 } .area .box { fill: #0d1117 }
}
""".strip().replace("\n", " ")


class Box(NamedTuple):
    """A box. Its height follows from its lines.

    Attributes:
        x: the left side, in pixels.
        y: the upper side.
        width: the width.
        title: the first line, bold.
        lines: the other lines.
        file: a last line in small type: the module of the step.
        kind: ``"box"``, ``"main"`` for a step that others follow from, or ``"end"`` for an end.
    """

    x: int
    y: int
    width: int
    title: str
    lines: tuple[str, ...] = ()
    file: str = ""
    kind: str = "box"

    @property
    def height(self) -> int:
        return 2 * PADDING + LINE * (len(self.lines) + (2 if self.file else 1)) - 4

    def at(self, side: str, shift: int = 0) -> tuple[int, int]:
        """A point in the middle of a side (``n``, ``e``, ``s``, ``w``), shifted along it."""
        middle = {
            "n": (self.x + self.width // 2 + shift, self.y),
            "s": (self.x + self.width // 2 + shift, self.y + self.height),
            "w": (self.x, self.y + self.height // 2 + shift),
            "e": (self.x + self.width, self.y + self.height // 2 + shift),
        }
        return middle[side]


class Arrow(NamedTuple):
    """An arrow along some points, with a text beside the middle of one of its parts.

    Attributes:
        points: the points; the last has the tip.
        label: the text; empty for none.
        at: where the text begins; its end if ``before``.
        before: the text ends at ``at`` instead of beginning there.
    """

    points: tuple[tuple[int, int], ...]
    label: str = ""
    at: tuple[int, int] = (0, 0)
    before: bool = False


class Area(NamedTuple):
    """A background that holds several boxes, with its name in a corner."""

    x: int
    y: int
    width: int
    height: int
    name: str


def flowchart(
    title: str,
    size: tuple[int, int],
    boxes: Iterable[Box],
    arrows: Iterable[Arrow],
    *,
    areas: Iterable[Area] = (),
) -> str:
    """The picture.

    Args:
        title: what a screen reader says.
        size: width and height in pixels.
        boxes: the boxes.
        arrows: the arrows.
        areas: what lies behind the boxes.
    """
    width, height = size
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label={quoteattr(title)}>'
        ),
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
        ),
        f'<rect class="paper" width="{width}" height="{height}"/>',
    ]
    for area in areas:
        parts.append(
            f'<rect class="area" x="{area.x}" y="{area.y}" width="{area.width}" height="{area.height}" rx="8"/>'
        )
        parts.append(_text(area.x + 12, area.y + 20, area.name, {"class": "label"}))
    for arrow in arrows:
        path = " ".join(f"{x},{y}" for x, y in arrow.points)
        parts.append(f'<polyline class="arrow" points="{path}"/>')
        if arrow.label:
            anchor = {"text-anchor": "end"} if arrow.before else {}
            x, y = arrow.at
            for number, line in enumerate(arrow.label.split("\n")):
                parts.append(_text(x, y + LINE * number, line, {"class": "label"} | anchor))
    for box in boxes:
        parts.append(
            f'<rect class="{box.kind}" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="5"/>'
        )
        lines = [(box.title, "title"), *((line, "") for line in box.lines)]
        lines += [(box.file, "file")] if box.file else []
        for number, (line, kind) in enumerate(lines):
            given = {"text-anchor": "middle"} | ({"class": kind} if kind else {})
            parts.append(_text(box.x + box.width // 2, box.y + PADDING + LINE * number + 12, line, given))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: int, y: int, text: str, given: Mapping[str, str]) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in given.items())
    return f'<text x="{x}" y="{y}"{attributes}>{escape(text)}</text>'

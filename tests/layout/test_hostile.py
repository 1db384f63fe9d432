"""Whatever is stored or declared, it stays text: in a terminal, in XML, in Markdown and in Mermaid."""

import json
import re
from typing import Annotated
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field, SecretStr

from dynaorm import Entity, GlobalIndex, Index, Table, Unique, item_of
from dynaorm.description import Entry, classify, describe, samples
from dynaorm.layout.document import to_json
from dynaorm.layout.markdown import render_markdown, render_mermaid
from dynaorm.layout.text import render_svg, render_text, width_of
from dynaorm.layout.view import view_of
from tests.dynamodb_json import Item

HOSTILE = (
    "</text><script>alert(1)</script>",
    "]]>&amp;<!--",
    "\x1b[2J\x1b]0;title\x07",
    "line\r\nbreak\u2028\u2029",
    "\u202eright to left",
    "\ud800",
    "`|` * _ [a](javascript:alert(1)) |",
    '"] --> x["',
    "%%{init: {}}%%",
    "漢字" * 60,
    "e" * 500,
)

app = Table("hostile", indexes=[GlobalIndex("GSI1")])


class Page(Entity, table=app, pk="PAGE#{slug}", sk="{part}"):
    r"""</text><script>alert(1)</script> | `x` \x1b[2J"""

    slug: str
    part: str = "p"
    title: Annotated[str, Unique()] = "t"
    note: str = Field(default="", description='"]|`<b>')
    by_title = Index("GSI1", pk="{title}", sk="{slug}")


def entries_of(text: str) -> list[Entry]:
    known = [one.item for one in samples(app)]
    strange: list[Item] = [
        {"PK": {"S": f"PAGE#{text}"}, "SK": {"S": text}, "_type": {"S": "Page"}, "slug": {"S": text}},
        {"PK": {"S": f"title#{text}"}, "SK": {"S": f"title#{text}"}, "owner": {"M": {"PK": {"S": text}}}},
        {"PK": {"S": text}, "SK": {"S": "?"}, text: {"M": {text: {"L": [{"S": text}, {"B": b"\x00"}]}}}},
        {"PK": {"S": f"#token#{text}"}, "SK": {"S": f"#token#{text}"}},
    ]
    return [classify(item, app) for item in [*known, *strange]]


texts = st.text(min_size=1, max_size=60) | st.sampled_from(HOSTILE)


@given(texts, st.integers(1, 200))
@example(HOSTILE[2], 80)
@example(HOSTILE[9], 41)
def test_no_line_of_text_is_longer_than_the_width_or_moves_the_cursor(text: str, width: int) -> None:
    for index in (None, "GSI1"):
        found = render_text(view_of(describe(app), entries_of(text), index), width=width)
        lines = found.split("\n")
        assert max(map(width_of, lines)) <= max(width, 40)
        assert all(line.isprintable() for line in lines)
        found.encode()


@given(texts)
def test_marks_and_colours_leave_the_text_as_it_is(text: str) -> None:
    view = view_of(describe(app), entries_of(text))
    coloured = render_text(view, colour=True)
    bare = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).split("\n"))
    assert bare == render_text(view)
    marked = render_text(view, marks={0: "+"})
    assert max(map(width_of, marked.split("\n"))) <= 80


@given(texts)
def test_an_svg_is_well_formed_and_has_only_texts_and_shapes(text: str) -> None:
    for index in (None, "GSI1"):
        root = ET.fromstring(render_svg(view_of(describe(app), entries_of(text), index)))  # noqa: S314 - of our own
        tags = {one.tag.rpartition("}")[2] for one in root.iter()}
        assert tags <= {"svg", "style", "rect", "text", "tspan"}
        names = {name for one in root.iter() for name in one.attrib}
        assert not any(name.startswith("on") or name.endswith("href") for name in names)


@given(texts)
def test_the_plain_data_is_json(text: str) -> None:
    entries = entries_of(text)
    read = json.loads(json.dumps(to_json(describe(app), entries)))
    assert len(read["entries"]) == len(entries)
    assert read["format"] == "dynaorm.layout/1"


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_declarations_stay_text_in_markdown_and_mermaid(text: str) -> None:
    table = Table("declared")

    class Odd(Entity, table=table, pk="ODD#{odd_id}", sk="O"):
        odd_id: str
        note: str = Field(default="", description=text)

    Odd.__doc__ = text
    description = describe(table)
    markdown = render_markdown(description)
    rows = [line for line in markdown.split("\n") if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {5, 6}
    assert {*re.findall(r"(?<!\\)<\w*", markdown)} <= {"<br"}
    assert markdown.replace("\n", "").isprintable()
    for line in render_mermaid(description).splitlines():
        assert re.fullmatch(r"erDiagram|    c0\[\"[^\"#%<>]*\"\] \{|        [\w\[\]]+ \w+( PK)?|    \}", line)


# -- secrets -----------------------------------------------------------------------------------------------------------

vault = Table("vault", indexes=[GlobalIndex("GSI1")])


class Login(Entity, table=vault, pk="LOGIN#{token}", sk="{user}"):
    user: str
    token: SecretStr
    code: Annotated[SecretStr, Unique()]
    note: str = Field(repr=False)
    by_code = Index("GSI1", pk="CODE#{code}", sk="{user}")


def test_no_form_has_a_secret() -> None:
    login = Login(user="u1", token=SecretStr("hunter2"), code=SecretStr("hunter3"), note="hunter4")
    items = [item_of(login), *(one.item for one in samples(vault) if one.kind == "guard")]
    entries = [classify(item, vault) for item in items]
    description = describe(vault)
    for index in (None, "GSI1"):
        view = view_of(description, entries, index)
        forms = [render_text(view), render_svg(view), repr(view), json.dumps(to_json(description, entries))]
        for form in forms:
            assert "hunter" not in form
            assert "secret-1" not in form
            assert "**********" in form

"""The command ``layout``: a table as a picture of its items and keys."""

import json
import os
import webbrowser
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final, NamedTuple

import click

from dynaorm.cli.lines import complain, is_terminal, width_of_lines, wrapped, write_line, write_sentences
from dynaorm.cli.options import CLASSES, TableAccess, connected, contradiction, options
from dynaorm.cli.status import CLEAN, NOTHING
from dynaorm.cli.table_items import items_of_table
from dynaorm.cli.target import chosen_classes, load_table
from dynaorm.description.class_names import name_of
from dynaorm.description.description import TableDescription
from dynaorm.description.entry import Entry
from dynaorm.description.sample_items import samples
from dynaorm.description.tables import describe
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import suggestion
from dynaorm.integrity.run import table_locations
from dynaorm.layout.document import document_of
from dynaorm.layout.html_page import ItemSource, page
from dynaorm.layout.markdown import markdown_of
from dynaorm.layout.mermaid import mermaid_of
from dynaorm.layout.svg import svg_of
from dynaorm.layout.text import GOLDEN_WIDTH, text_of
from dynaorm.layout.view import view_of
from dynaorm.layout.without_values import without_values

_FORMATS: Final = ("text", "md", "mermaid", "svg", "html", "json")
_WITHOUT_ITEMS: Final = ("md", "mermaid")
_SUFFIXES: Final = {
    ".txt": "text",
    ".md": "md",
    ".mmd": "mermaid",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}


# A class without entities would otherwise cost a scan of the whole table.
_MOST_READ: Final = 10_000


@click.command("layout", short_help="Draw a table: its items, keys and questions.")
@click.argument("target", metavar="MODULE:TABLE_OR_CLASS")
@options(
    click.option(
        "--format",
        "format_",
        type=click.Choice(_FORMATS),
        help="What to write. Default: by the name of the file, or text.",
    ),
    click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file."
    ),
    click.option(
        "--open", "opens", is_flag=True, help="Open it in a browser, as HTML unless you say otherwise."
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option("--index", metavar="NAME", help="Draw this index, in text and SVG."),
    CLASSES,
    click.option(
        "--seeds",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A JSON-lines file with the entities to draw, in place of samples.",
    ),
    click.option(
        "--from-table",
        "from_table",
        type=click.IntRange(min=1),
        metavar="N",
        help="Draw up to N stored entities of each class, in place of samples.",
    ),
    click.option(
        "--read-at-most",
        "read_at_most",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"With --from-table: the most items that are read to find them. Default: {_MOST_READ}.",
    ),
    click.option("--with-values", is_flag=True, help="With --from-table: show the stored values, too."),
    click.option("--whole", is_flag=True, help="In text: every attribute, in as many lines as it takes."),
)
@connected
def layout_command(*, connection: TableAccess, target: str, classes: tuple[str, ...], **chosen: Any) -> None:
    """Draw a table: what lies where, how its keys are made, and what can be asked of it.

    The items are samples that are made from the declarations. Nothing is sent, except with --from-table.

    Example: dynaorm layout shop.models:app --open
    """
    wanted = _format(chosen)
    table = load_table(target)
    connection.load_modules()
    description = describe(table)
    names = chosen_classes(target, classes, [one.name for one in description.classes])
    _check(description, wanted, chosen)
    if not description.classes:
        complain(f"the table {description.name} has no class, so there is nothing to draw")
        click.get_current_context().exit(NOTHING)
    drawn = _items(target, table, names, connection=connection, chosen=chosen)
    kept = [one for one in drawn.entries if not names or _class_of(one) in names]
    what = _Drawn(description, kept, drawn.source, frozenset(names))
    _write(_RENDERERS[wanted](what, chosen), wanted, chosen)
    click.get_current_context().exit(CLEAN if kept else NOTHING)


class _Drawn(NamedTuple):
    """What is drawn: a table, items of it, where they are from (None for samples), and the classes that are wanted."""

    description: TableDescription
    entries: Sequence[Entry]
    source: ItemSource | None
    names: frozenset[str] = frozenset()


def _format(chosen: dict[str, Any]) -> str:
    """The format that was asked for, by itself or by the name of the file. Raises UsageError for a contradiction."""
    if chosen["as_json"]:
        if chosen["format_"] not in (None, "json"):
            raise contradiction("--json", f"--format {chosen['format_']}")
        return "json"
    if chosen["format_"] is not None:
        return str(chosen["format_"])
    if chosen["output"] is not None:
        suffix = chosen["output"].suffix.lower()
        if suffix not in _SUFFIXES:
            raise UsageError(
                problem=f"--output {chosen['output']} does not say which format", remedy="give --format"
            )
        return _SUFFIXES[suffix]
    return "html" if chosen["opens"] else "text"


def _check(description: TableDescription, wanted: str, chosen: dict[str, Any]) -> None:
    """Raises UsageError for options that do not fit together."""
    index = chosen["index"]
    names = [one.name for one in description.indexes]
    if index is not None and index not in names:
        remedy = suggestion(index, names) if names else "leave --index out"
        raise UsageError(problem=f"the table {description.name} has no index {index!r}", remedy=remedy)
    if index is not None and wanted not in ("text", "svg"):
        raise UsageError(
            problem=f"--index is for text and SVG, and {wanted} has every index", remedy="leave it out"
        )
    for name in ("with_values", "read_at_most"):
        if chosen[name] and chosen["from_table"] is None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                problem=f"{option} belongs to --from-table", remedy=f"give that, too, or leave {option} out"
            )
    if chosen["seeds"] is not None and chosen["from_table"] is not None:
        raise contradiction("--seeds", "--from-table")
    for name in ("seeds", "from_table"):
        if wanted in _WITHOUT_ITEMS and chosen[name] is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                problem=f"{option} is about items, and {wanted} shows none", remedy=f"leave {option} out"
            )


def _class_of(entry: Entry) -> str | None:
    return None if entry.cls is None else name_of(mapping_of(entry.cls))


# -- the items ---------------------------------------------------------------------------------------------------------


def _items(
    target: str, table: Table, names: Collection[str], *, connection: TableAccess, chosen: dict[str, Any]
) -> _Drawn:
    description, most = describe(table), chosen["from_table"]
    if most is None:
        seeds = None if chosen["seeds"] is None else chosen["seeds"].read_text("utf-8").splitlines()
        return _Drawn(description, samples(table, seeds=seeds), None)
    with connection.session([target], [table]) as session:
        (location, *_) = table_locations(session, table, writes=False)
        classes = [
            one.entity for one in catalog_of(table).mappings.values() if not names or name_of(one) in names
        ]
        read_at_most = chosen["read_at_most"] or _MOST_READ
        found = items_of_table(session, table, classes, most, read_at_most=read_at_most)
        at = datetime.fromtimestamp(session._context.clock.now(), UTC)
    source = ItemSource(
        location.name,
        location.account,
        location.region,
        at,
        chosen["with_values"],
        read=found.read,
        is_all=found.is_all,
        items=location.items,
    )
    entries = found.entries if source.with_values else without_values(table, found.entries)
    return _Drawn(description, entries, source)


# -- what is written ---------------------------------------------------------------------------------------------------


def _text(what: _Drawn, chosen: dict[str, Any]) -> str:
    view = view_of(what.description, what.entries, chosen["index"])
    width = GOLDEN_WIDTH if chosen["output"] is not None else width_of_lines() or GOLDEN_WIDTH
    colour = chosen["output"] is None and is_terminal() and not os.environ.get("NO_COLOR")
    text = text_of(view, width=width, colour=colour, whole=chosen["whole"])
    if what.source is not None:
        text += f"\n{wrapped(what.source.text, width, 0)}"
    return text.removesuffix("\n")


def _svg(what: _Drawn, chosen: dict[str, Any]) -> str:
    said = "" if what.source is None else what.source.text
    return svg_of(view_of(what.description, what.entries, chosen["index"]), said)


def _html(what: _Drawn, chosen: dict[str, Any]) -> str:  # noqa: ARG001 - every renderer is called alike
    return page(what.description, what.entries, what.source)


def _json(what: _Drawn, chosen: dict[str, Any]) -> str:
    document = document_of(what.description, what.entries)
    if what.source is not None:
        document["source"] = what.source.to_json()
    return json.dumps(document, indent=2 if chosen["output"] is not None else None)


def _md(what: _Drawn, chosen: dict[str, Any]) -> str:  # noqa: ARG001 - every renderer is called alike
    return markdown_of(what.description)


def _mermaid(what: _Drawn, chosen: dict[str, Any]) -> str:  # noqa: ARG001 - every renderer is called alike
    return mermaid_of(what.description)


_RENDERERS: Final[dict[str, Callable[[_Drawn, dict[str, Any]], str]]] = {
    "text": _text,
    "md": _md,
    "mermaid": _mermaid,
    "svg": _svg,
    "html": _html,
    "json": _json,
}


def _write(text: str, wanted: str, chosen: dict[str, Any]) -> None:
    file: Path | None = chosen["output"]
    if file is None and chosen["opens"]:
        suffix = next(one for one, name in _SUFFIXES.items() if name == wanted)
        handle, name = mkstemp(f".layout{suffix}")
        file = Path(name)
        os.close(handle)
    if file is None:
        write_line(text.removesuffix("\n"))
        return
    file.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    write_sentences(f"written to {file}", err=True)
    if chosen["opens"] and not webbrowser.open(file.absolute().as_uri()):
        complain(f"no browser could be opened; open {file} in one")

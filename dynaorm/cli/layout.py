"""The commands ``layout`` and ``questions``: a table as a picture, and what can be asked of it."""

import json
import os
import webbrowser
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated, Any, Final, Literal, NamedTuple

import click

from dynaorm.cli.frame import (
    FILE,
    OLD_FILE,
    AsJson,
    Classes,
    ConnectionOptions,
    Modules,
    Option,
    Target,
    command,
    contradiction,
)
from dynaorm.cli.target import chosen_classes, load_table
from dynaorm.cli.terminal import (
    CLEAN,
    NOTHING,
    WIDTH,
    complain,
    is_terminal,
    width_of_lines,
    wrapped,
    write_line,
    write_sentences,
)
from dynaorm.description.access_patterns import describe
from dynaorm.description.classes import name_of
from dynaorm.description.description import AccessPattern, TableDescription
from dynaorm.description.entry import Entry, classify
from dynaorm.description.sample_items import samples
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import suggestion
from dynaorm.integrity.run import table_locations, table_pages
from dynaorm.layout.document import to_json
from dynaorm.layout.html_page import ItemSource, render_html
from dynaorm.layout.markdown import render_markdown, render_mermaid
from dynaorm.layout.text import render_svg, render_text
from dynaorm.layout.view import view_of
from dynaorm.layout.without_values import anonymize
from dynaorm.record import record
from dynaorm.session.session import Session

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


@record
class _DrawingOptions:
    """What is drawn, and how."""

    format: Annotated[
        Literal["text", "md", "mermaid", "svg", "html", "json"] | None,
        Option("What to write. Default: by the name of the file, or text."),
    ] = None
    output: Annotated[Path | None, Option("Write it to this file.", names=("-o", "--output"), type=FILE)] = (
        None
    )
    opens: Annotated[
        bool, Option("Open it in a browser, as HTML unless you say otherwise.", names=("--open",))
    ] = False
    as_json: Annotated[bool, Option("The same as --format json.", names=("--json",))] = False
    index: Annotated[str | None, Option("Draw this index, in text and SVG.", "NAME")] = None
    classes: Classes = ()
    seeds: Annotated[
        Path | None,
        Option("A JSON-lines file with the entities to draw, instead of samples.", type=OLD_FILE),
    ] = None
    from_table: Annotated[
        int | None,
        Option(
            "Draw up to N stored entities of each class, instead of samples.", "N", type=click.IntRange(min=1)
        ),
    ] = None
    read_at_most: Annotated[
        int | None,
        Option(
            f"With --from-table: the most items that are read to find them. Default: {_MOST_READ}.",
            "N",
            type=click.IntRange(min=1),
        ),
    ] = None
    with_values: Annotated[bool, Option("With --from-table: show the stored values, too.")] = False
    whole: Annotated[bool, Option("In text: every attribute, in as many lines as it takes.")] = False


@command
def layout(*, target: Target, chosen: _DrawingOptions, connection: ConnectionOptions) -> int:
    """Draw a table: what lies where, how its keys are made, and what can be asked of it.

    The items are samples that are made from the declarations. Nothing is sent, except with --from-table.

    Example: dynaorm layout shop.models:app --open
    """
    wanted = _format(chosen)
    table = load_table(target)
    connection.load()
    description = describe(table)
    names = chosen_classes(target, chosen.classes, [one.name for one in description.classes])
    _check(description, wanted, chosen)
    if not description.classes:
        complain(f"the table {description.name} has no class, so there is nothing to draw")
        return NOTHING
    drawn = _items(target, table, names, connection=connection, chosen=chosen)
    kept = [entry for entry in drawn.entries if not names or _class_of(entry) in names]
    what = _Drawn(description, kept, drawn.source, frozenset(names))
    _write(_RENDERERS[wanted](what, chosen), wanted, chosen)
    return CLEAN if kept else NOTHING


class _Drawn(NamedTuple):
    """What is drawn: a table, items of it, where they are from (None for samples), and the classes that are wanted."""

    description: TableDescription
    entries: Sequence[Entry]
    source: ItemSource | None
    names: frozenset[str] = frozenset()


def _format(chosen: _DrawingOptions) -> str:
    """The format that was asked for, by itself or by the name of the file. Raises UsageError for a contradiction."""
    if chosen.as_json:
        if chosen.format not in (None, "json"):
            raise contradiction("--json", f"--format {chosen.format}")
        return "json"
    if chosen.format is not None:
        return str(chosen.format)
    if chosen.output is not None:
        suffix = chosen.output.suffix.lower()
        if suffix not in _SUFFIXES:
            raise UsageError(
                problem=f"--output {chosen.output} does not say which format", remedy="give --format"
            )
        return _SUFFIXES[suffix]
    return "html" if chosen.opens else "text"


def _check(description: TableDescription, wanted: str, chosen: _DrawingOptions) -> None:
    """Raises UsageError for options that do not fit together."""
    index = chosen.index
    names = [one.name for one in description.indexes]
    if index is not None and index not in names:
        remedy = suggestion(index, names) if names else "leave --index out"
        raise UsageError(problem=f"the table {description.name} has no index {index!r}", remedy=remedy)
    if index is not None and wanted not in ("text", "svg"):
        raise UsageError(
            problem=f"--index is for text and SVG, and {wanted} has every index", remedy="leave it out"
        )
    for name in ("with_values", "read_at_most"):
        if getattr(chosen, name) and chosen.from_table is None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                problem=f"{option} belongs to --from-table", remedy=f"give that, too, or leave {option} out"
            )
    if chosen.seeds is not None and chosen.from_table is not None:
        raise contradiction("--seeds", "--from-table")
    for name in ("seeds", "from_table"):
        if wanted in _WITHOUT_ITEMS and getattr(chosen, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                problem=f"{option} is about items, and {wanted} shows none", remedy=f"leave {option} out"
            )


def _class_of(entry: Entry) -> str | None:
    return None if entry.cls is None else name_of(mapping_of(entry.cls))


# -- the items ---------------------------------------------------------------------------------------------------------


def _items(
    target: str,
    table: Table,
    names: Collection[str],
    *,
    connection: ConnectionOptions,
    chosen: _DrawingOptions,
) -> _Drawn:
    description, most = describe(table), chosen.from_table
    if most is None:
        seeds = None if chosen.seeds is None else chosen.seeds.read_text("utf-8").splitlines()
        return _Drawn(description, samples(table, seeds=seeds), None)
    with connection.session([target], [table]) as session:
        (location, *_) = table_locations(session, table, writes=False)
        classes = [
            one.entity for one in catalog_of(table).mappings.values() if not names or name_of(one) in names
        ]
        read_at_most = chosen.read_at_most or _MOST_READ
        found = _items_of_table(session, table, classes, most, read_at_most=read_at_most)
        at = datetime.fromtimestamp(session._context.clock.now(), UTC)
    source = ItemSource(
        location.name,
        location.account,
        location.region,
        at,
        chosen.with_values,
        read=found.read,
        is_all=found.is_all,
        items=location.items,
    )
    entries = found.entries if source.with_values else anonymize(table, found.entries)
    return _Drawn(description, entries, source)


@record
class _ItemsRead:
    """Some items of a table.

    Attributes:
        entries: what they are.
        read: how many items were read to find them.
        is_all: whether the table has no more.
    """

    entries: list[Entry]
    read: int
    is_all: bool


def _items_of_table(
    session: Session, table: Table, classes: Collection[type[Any]], most: int, *, read_at_most: int
) -> _ItemsRead:
    """Up to ``most`` entities of each class, and the items that are kept for them, as far as they are met.

    The table is scanned until there are enough of ``classes``, and for at most ``read_at_most`` items.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    counted: Counter[type | None] = Counter()
    entities: dict[object, Entry] = {}
    others: list[Entry] = []
    read, is_all = 0, True
    for some in table_pages(session, table, read_at_most):
        read, is_all = read + len(some.items), some.after is None
        for item in some.items:
            entry = classify(item, table)
            if entry.kind == "entity":
                if counted[entry.cls] < most:
                    entities[identity({name: item[name] for name in table.key_names})] = entry
                counted[entry.cls] += 1
            elif entry.kind not in ("unknown", "token") or counted[None] < most:
                counted[None] += entry.kind in ("unknown", "token")
                others.append(entry)
        if all(counted[one] >= most for one in classes):
            break
    kept = [
        one
        for one in others
        if one.owner is None or identity(one.owner) in entities or one.kind == "tombstone"
    ]
    return _ItemsRead([*entities.values(), *kept], read, is_all)


# -- what is written ---------------------------------------------------------------------------------------------------


def _text(what: _Drawn, chosen: _DrawingOptions) -> str:
    view = view_of(what.description, what.entries, chosen.index)
    width = WIDTH if chosen.output is not None else width_of_lines() or WIDTH
    colour = chosen.output is None and is_terminal() and not os.environ.get("NO_COLOR")
    text = render_text(view, width=width, colour=colour, whole=chosen.whole)
    if what.source is not None:
        text += f"\n{wrapped(what.source.text, width, 0)}"
    return text.removesuffix("\n")


def _svg(what: _Drawn, chosen: _DrawingOptions) -> str:
    said = "" if what.source is None else what.source.text
    return render_svg(view_of(what.description, what.entries, chosen.index), said)


def _html(what: _Drawn, chosen: _DrawingOptions) -> str:  # noqa: ARG001 - every renderer is called alike
    return render_html(what.description, what.entries, what.source)


def _json(what: _Drawn, chosen: _DrawingOptions) -> str:
    document = to_json(what.description, what.entries)
    if what.source is not None:
        document["source"] = what.source.to_json()
    return json.dumps(document, indent=2 if chosen.output is not None else None)


def _md(what: _Drawn, chosen: _DrawingOptions) -> str:  # noqa: ARG001 - every renderer is called alike
    return render_markdown(what.description)


def _mermaid(what: _Drawn, chosen: _DrawingOptions) -> str:  # noqa: ARG001 - every renderer is called alike
    return render_mermaid(what.description)


_RENDERERS: Final[Mapping[str, Callable[[_Drawn, _DrawingOptions], str]]] = {
    "text": _text,
    "md": _md,
    "mermaid": _mermaid,
    "svg": _svg,
    "html": _html,
    "json": _json,
}


def _write(text: str, wanted: str, chosen: _DrawingOptions) -> None:
    file = chosen.output
    if file is None and chosen.opens:
        file = new_file(next(one for one, name in _SUFFIXES.items() if name == wanted))
    if file is None:
        write_line(text.removesuffix("\n"))
        return
    file.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    write_sentences(f"written to {file}", err=True)
    if chosen.opens:
        open_in_browser(file)


def new_file(suffix: str) -> Path:
    """A new file for a picture, which nobody else can read."""
    handle, name = mkstemp(f".layout{suffix}")
    os.close(handle)
    return Path(name)


def open_in_browser(file: Path) -> None:
    """Open a file, or name it if no browser can be opened."""
    if not webbrowser.open(file.absolute().as_uri()):
        complain(f"no browser could be opened; open {file} in one")


# -- questions ---------------------------------------------------------------------------------------------------------


@command
def questions(*, target: Target, classes: Classes = (), as_json: AsJson = False, modules: Modules) -> int:
    """Show what can be asked of a table without a scan: each access pattern that its declarations answer.

    Nothing is sent. `patterns` is another name of this command.

    Example: dynaorm questions shop.models:app --class Ticket
    """
    modules.load()
    description = describe(load_table(target))
    wanted = chosen_classes(target, classes, [one.name for one in description.classes])
    found = [question for question in description.questions if not wanted or wanted & {*question.classes}]
    if not found:
        complain(f"the table {description.name} has no class, so nothing can be asked of it")
    elif as_json:
        for one in found:
            write_line(json.dumps(_question_json(one, description)))
    else:
        write_sentences("\n".join(_lines(found)))
    return CLEAN if found else NOTHING


def _lines(questions: Iterable[AccessPattern]) -> Iterable[str]:
    """The questions, by class; those about several classes last."""
    head = ""
    for question in questions:
        title = ", ".join(question.classes)
        if title != head:
            yield from ([""] if head else [])
            yield title
            head = title
        yield f"  {question.text}"
        yield f"    {question.call()}"
        yield f"    {_price(question)}"


def _price(one: AccessPattern) -> str:
    """What it costs to ask, and what the answer is like."""
    first, *then = one.operations
    where = f" on {one.index}" if one.index is not None else ""
    # Each shard is a Query of its own.
    count = one.requests if first == "Query" else 1
    parts = [", then ".join([f"{count} {first}{where}", *then])]
    if one.order:
        parts.append(f"sorted by {_order(one.order)}")
    parts.append(_CONSISTENT[one.consistent])
    if one.beside:
        parts.append(
            f"reads and pays for {' and '.join(one.beside)} between, too (another prefix or an index does not)"
        )
    return ", ".join(parts)


_CONSISTENT: Final = {
    "always": "strongly consistent",
    "optional": "strongly consistent on request",
    "never": "eventually consistent",
}


def _order(fields: Sequence[str]) -> str:
    return ", ".join(f"{name[1:]} descending" if name.startswith("-") else name for name in fields)


def _question_json(one: AccessPattern, description: TableDescription) -> dict[str, object]:
    values = description.to_json()["questions"][description.questions.index(one)]
    return {"kind": "question", "method": values.pop("kind"), **values, "call": one.call()}

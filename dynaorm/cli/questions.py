"""The command ``questions``: every access pattern that the declarations of a table can answer."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

import click

from dynaorm.cli.lines import complain, write_line, write_sentences
from dynaorm.cli.options import AS_JSON, CLASSES, IMPORT, options
from dynaorm.cli.status import CLEAN, NOTHING
from dynaorm.cli.target import chosen_classes, importable, load_module, load_table
from dynaorm.description.description import Question, TableDescription
from dynaorm.description.tables import describe


@click.command("questions", short_help="Show what can be asked of a table without a scan.")
@click.argument("target", metavar="MODULE:TABLE_OR_CLASS")
@options(CLASSES, AS_JSON, IMPORT)
def questions_command(
    *, target: str, classes: tuple[str, ...], modules: tuple[str, ...], as_json: bool
) -> None:
    """Show what can be asked of a table without a scan: each access pattern that its declarations answer.

    Nothing is sent. `patterns` is another name of this command.

    Example: dynaorm questions shop.models:app --class Ticket
    """
    importable()
    for module in modules:
        load_module(module)
    description = describe(load_table(target))
    wanted = chosen_classes(target, classes, [one.name for one in description.classes])
    found = [one for one in description.questions if not wanted or wanted & {*one.classes}]
    if not found:
        complain(f"the table {description.name} has no class, so nothing can be asked of it")
    elif as_json:
        for one in found:
            write_line(json.dumps(_json(one, description)))
    else:
        write_sentences("\n".join(_lines(found)))
    click.get_current_context().exit(CLEAN if found else NOTHING)


def _lines(questions: Iterable[Question]) -> Iterable[str]:
    """The questions, by class; those about several classes last."""
    head = ""
    for one in questions:
        title = ", ".join(one.classes)
        if title != head:
            yield from ([""] if head else [])
            yield title
            head = title
        yield f"  {one.text}"
        yield f"    {one.call()}"
        yield f"    {_price(one)}"


def _price(one: Question) -> str:
    """What it costs to ask, and what the answer is like."""
    first, *then = one.operations
    where = f" on {one.index}" if one.index is not None else ""
    # Each shard is a Query of its own.
    count = one.requests if first == "Query" else 1
    parts = [", then ".join([f"{count} {first}{where}", *then])]
    if one.order:
        parts.append(f"sorted by {_order(one.order)}")
    parts.append(_CONSISTENT[one.consistent])
    return ", ".join(parts)


_CONSISTENT: Final = {
    "always": "strongly consistent",
    "optional": "strongly consistent on request",
    "never": "eventually consistent",
}


def _order(fields: Sequence[str]) -> str:
    return ", ".join(f"{name[1:]} descending" if name.startswith("-") else name for name in fields)


def _json(one: Question, description: TableDescription) -> dict[str, object]:
    values = description.to_json()["questions"][description.questions.index(one)]
    return {"kind": "question", "method": values.pop("kind"), **values, "call": one.call()}

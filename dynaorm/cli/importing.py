"""The command ``import``: a module of entity classes from the model of another tool."""

import json
from pathlib import Path
from typing import Any

import click

from dynaorm.cli.lines import write_line
from dynaorm.cli.options import options
from dynaorm.errors import UsageError
from dynaorm.export.workbench_import import module_of_workbench


@click.command("import", short_help="Write a module of classes from a NoSQL Workbench model.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options(
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A new file to write to, in place of standard output.",
    ),
)
def import_command(*, model: Path, output: Path | None) -> None:
    """Write the tables and classes of a NoSQL Workbench model as a Python module. Nothing is sent.

    The model says the shape of the keys and the types of the attributes. Read the module before you use it: it cannot
    know what is unique, versioned or required.

    Example: dynaorm import music.json -o music.py
    """
    text = module_of_workbench(_content(model))
    if output is None:
        write_line(text.removesuffix("\n"))
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            problem=f"{output} exists, and may have been changed since it was written",
            remedy="give the name of a new file",
        ) from None


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise UsageError(
            problem=f"{path} is no JSON: {problem}", remedy="give a model that NoSQL Workbench has exported"
        ) from problem

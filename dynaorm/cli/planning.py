"""The command ``plan``: what a write would send, without sending it."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from dynaorm.cli.lines import complain, write_line, write_sentences
from dynaorm.cli.options import AS_JSON, TableAccess, connected, contradiction, options
from dynaorm.cli.shown import Shown
from dynaorm.cli.status import NOTHING
from dynaorm.cli.target import load_class
from dynaorm.cli.values import Assignment, single_values, value_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.failure import texts_of
from dynaorm.item.value_text import key_text
from dynaorm.plan.plan import Plan
from dynaorm.session.transaction import Transaction

_VERBS: Final = {
    "overwrite": "Save the entity in place of what is stored under its key.",
    "update": "Change the entity with this key, as --set says.",
    "upsert": "Change the entity with this key, or create it.",
    "delete": "Delete the entity with this key.",
}


def _verb(name: str) -> Any:
    return click.option(f"--{name}", is_flag=True, help=_VERBS[name])


@click.command("plan", short_help="Show what a write would send, and send nothing.")
@click.argument("target", metavar="MODULE:CLASS")
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
@options(
    *map(_verb, _VERBS),
    click.option("--set", "changes", multiple=True, metavar="FIELD=VALUE", help="A change of an update."),
    click.option(
        "--values",
        "file",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
        help="A file with the fields as a JSON object; - for standard input.",
    ),
    click.option(
        "--request", is_flag=True, help="Show the request, too, with all its values, secrets as well."
    ),
    AS_JSON,
)
@connected
def plan_command(
    *,
    connection: TableAccess,
    target: str,
    fields: tuple[str, ...],
    changes: tuple[str, ...],
    file: Path | None,
    request: bool,
    as_json: bool,
    **verbs: bool,
) -> None:
    """Show what a write would send, why, and what it costs. Nothing is written.

    Without another verb, the write is the save of a new entity. What the write would read first is read.

    Example: dynaorm plan shop.models:User --delete user_id=u1
    """
    entity = load_class(target)
    mapping, verb = mapping_of(entity), _chosen(verbs)
    if bool(changes) and verb not in ("update", "upsert"):
        raise UsageError(
            problem=f"--set belongs to --update and --upsert, and this is a {verb}",
            remedy="give one of them, or leave --set out",
        )
    if verb == "update" and not changes:
        raise UsageError(problem="--update needs a change", remedy="give one: --set field=value")
    given = {**_values_in(file, mapping), **single_values(mapping, fields)}
    work = _work(verb, mapping, given, single_values(mapping, changes))
    with connection.session([target], [entity]) as session:
        try:
            plan = session.plan_of(work)
        except EntityNotFound:
            key = Key(entity, **given)
            complain(f"nothing is stored under {Shown().name(key)}, so the write would be refused")
            click.get_current_context().exit(NOTHING)
    if as_json:
        write_line(json.dumps({"kind": "plan", **_as_json(plan, with_request=request)}))
        return
    write_sentences(plan.explain())
    if request:
        write_line(json.dumps(_request_of(plan), indent=2))


def _chosen(verbs: Mapping[str, bool]) -> str:
    chosen = [name for name, is_chosen in verbs.items() if is_chosen]
    if len(chosen) > 1:
        raise contradiction(f"--{chosen[0]}", f"--{chosen[1]}")
    return chosen[0] if chosen else "save"


def _work(
    verb: str, mapping: EntityMapping, given: Mapping[str, Any], changes: Mapping[str, Any]
) -> Callable[[Transaction], object]:
    if verb in ("save", "overwrite"):
        new = _entity(mapping, given)
        return lambda tx: tx.save(new, overwrite=verb == "overwrite")
    key = Key(mapping.entity, **given)
    if verb == "delete":
        return lambda tx: tx.delete(key)
    change = getattr(Transaction, verb)
    return lambda tx: change(tx, key, *([changes] if changes else []))


def _entity(mapping: EntityMapping, given: Mapping[str, Any]) -> Any:
    """A new entity. Raises UsageError for values that do not make one."""
    try:
        # Fields have their own names here, whatever aliases they have.
        return mapping.entity.__pydantic_validator__.validate_python(
            dict(given), by_alias=False, by_name=True
        )
    except ValidationError as error:
        raise UsageError(
            problem=f"this is no {mapping.entity.__name__}: {'; '.join(mapping.errors.sentences(error, given))}",
            remedy="give its fields as field=value, or as a JSON object with --values",
        ) from None


def _values_in(file: Path | None, mapping: EntityMapping) -> dict[str, Any]:
    """The values of the fields in a file. Raises UsageError, UnknownField."""
    if file is None:
        return {}
    try:
        # A text that is no UTF-8 is a ValueError, too.
        found = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except ValueError as problem:
        raise UsageError(
            problem=f"--values {file} is not JSON ({problem})", remedy='give an object: {"user_id": "u1"}'
        ) from None
    # ``get --json`` prints the fields beside other things.
    found = found.get("values", found) if isinstance(found, dict) and "kind" in found else found
    if not isinstance(found, dict):
        raise UsageError(
            problem=f"--values {file} holds {type(found).__name__}, and no object",
            remedy='give the fields of one entity: {"user_id": "u1"}',
        )
    given = [Assignment(name, json.dumps(one), is_json=True) for name, one in found.items()]
    return {one.name: value_of(mapping, one) for one in given}


def _as_json(plan: Plan, *, with_request: bool) -> dict[str, Any]:
    actions = [
        {
            "purpose": one.purpose.value,
            "table": one.action.table,
            "key": texts_of(one.kind.shown_key(one), key_text),
            "reason": one.reason,
        }
        for one in plan.actions
    ]
    found: dict[str, Any] = {
        "operation": plan.operation if plan.actions else None,
        "write_units": plan.write_units,
        "actions": actions,
    }
    return found | ({"request": _request_of(plan)} if with_request and plan.actions else {})


def _request_of(plan: Plan) -> Any:
    return to_jsonable_python(plan.to_request(), bytes_mode="base64")

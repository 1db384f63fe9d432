"""The command ``plan``: what a write would send, without sending it."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from dynaorm.cli.frame import Argument, AsJson, Class, ConnectionOptions, Option, command, contradiction
from dynaorm.cli.target import load_class
from dynaorm.cli.terminal import CLEAN, NOTHING, complain, write_line, write_sentences
from dynaorm.cli.values import Assignment, EntityFormatter, single_values, value_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.failure import MASK, hidden_in
from dynaorm.plan.plan import Plan, Planned
from dynaorm.record import record
from dynaorm.session.transaction import Transaction


@record
class _Verbs:
    overwrite: Annotated[bool, Option("Save the entity in place of what is stored under its key.")] = False
    update: Annotated[bool, Option("Change the entity with this key, as --set says.")] = False
    upsert: Annotated[bool, Option("Change the entity with this key, or create it.")] = False
    delete: Annotated[bool, Option("Delete the entity with this key.")] = False

    @property
    def chosen(self) -> str:
        """The verb that was given. Raises UsageError for two of them."""
        chosen = [name for name in ("overwrite", "update", "upsert", "delete") if getattr(self, name)]
        if len(chosen) > 1:
            raise contradiction(f"--{chosen[0]}", f"--{chosen[1]}")
        return chosen[0] if chosen else "save"


@command
def plan(
    *,
    target: Class,
    fields: Annotated[tuple[str, ...], Argument("[FIELD=VALUE]...")],
    verbs: _Verbs,
    changes: Annotated[tuple[str, ...], Option("A change of an update.", "FIELD=VALUE", ("--set",))] = (),
    values: Annotated[
        Path | None,
        Option(
            "A file with the fields as a JSON object, or with a line of get --json; - for standard input.",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
        ),
    ] = None,
    request: Annotated[bool, Option("Show the request, too, with all its values, secrets as well.")] = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Show what a write would send, why, and what it costs. Nothing is written.

    Without another verb, the write is the save of a new entity. What the write would read first is read.

    Example: dynaorm plan shop.models:User --delete user_id=u1
    """
    entity = load_class(target)
    mapping, verb = mapping_of(entity), verbs.chosen
    if bool(changes) and verb not in ("update", "upsert"):
        raise UsageError(
            problem=f"--set belongs to --update and --upsert, and this is a {verb}",
            remedy="give one of them, or leave --set out",
        )
    if verb == "update" and not changes:
        raise UsageError(problem="--update needs a change", remedy="give one: --set field=value")
    given = {**_values_in(values, mapping), **single_values(mapping, fields)}
    work = _work(verb, mapping, given, single_values(mapping, changes))
    with connection.session([target], [entity]) as session:
        try:
            found = session.plan_of(work)
        except EntityNotFound:
            key = Key(entity, **given)
            complain(f"nothing is stored under {EntityFormatter().name(key)}, so the write would be refused")
            return NOTHING
    if as_json:
        write_line(json.dumps({"kind": "plan", **_as_json(found, with_request=request)}))
        return CLEAN
    write_sentences(found.explain())
    if request:
        write_line(json.dumps(_request_of(found), indent=2))
    return CLEAN


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
    if isinstance(found, dict) and mapping.name not in mapping.entity.model_fields:
        found = found.get(mapping.name, found)  # a line of get --json
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
            "purpose": action.purpose.value,
            "table": action.action.table,
            "key": _key_of(action),
            "reason": action.reason,
        }
        for action in plan.actions
    ]
    found: dict[str, Any] = {
        "operation": plan.operation if plan.actions else None,
        "write_units": plan.write_units,
        "actions": actions,
    }
    return found | ({"request": _request_of(plan)} if with_request and plan.actions else {})


def _key_of(action: Planned) -> Any:
    key = action.kind.shown_key(action)
    hidden = hidden_in(key)
    shown = {name: MASK if name in hidden else value for name, value in key.items()}
    return to_jsonable_python(shown, bytes_mode="base64")


def _request_of(plan: Plan) -> Any:
    return to_jsonable_python(plan.to_request(), bytes_mode="base64")

"""A plan as text that is the same in every run, for comparison with a reviewed one."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dynaorm.argument import check_kind
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.key_part import VERSION_AT
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.item.value import Item
from dynaorm.plan.guards import CLAIM_MARGIN
from dynaorm.plan.plan import Plan

EXPECTED: Final = "<expected revision>"
WRITTEN: Final = "<new revision>"
TOKEN: Final = "<token>"
NOW: Final = "<now>"
BOUNDS: Final = ("<now - 5 years>", "<now + 1 s>")
CLAIM_BOUNDS: Final = (f"<now - 5 years + {CLAIM_MARGIN} s>", f"<now - {CLAIM_MARGIN - 1} s>")
BEFORE: Final = "<time of the version before>"
CREATED: Final = "<time of creation>"
CHANGED: Final = "<time of the last write>"


def snapshot(plan: Plan) -> str:
    """The explanation and the request of a plan, with names in place of the values that differ from run to run.

    First ``plan.explain()``, then ``plan.to_request()`` as JSON. Revisions, the token and the times of the clock become
    ``<new revision>``, ``<expected revision>``, ``<token>`` and ``<now>``, also within index keys; bytes become
    ``{"base64": "..."}``.
    Everything else is shown as it is sent, so the test must fix random values of an entity, such as a ``new_ksuid()``
    key.

    Examples:
        >>> from dynaorm import Entity, Session, Table
        >>> class Song(Entity, table=Table("songs", sk=None), pk="SONG#{song_id}"):
        ...     song_id: str
        >>> print(snapshot(Session(region="us-east-1").plan(Song(song_id="s"))))
        PutItem, 1 action, 1 write capacity unit
        1. Put songs PK=SONG#s: insert Song(song_id='s'), if nothing is stored under its key
        <BLANKLINE>
        {
          "ConditionExpression": "attribute_not_exists(#n0)",
          "ExpressionAttributeNames": {
            "#n0": "PK"
          },
          "Item": {
            "PK": {
              "S": "SONG#s"
            },
            "_rev": {
              "S": "<new revision>"
            },
            "_type": {
              "S": "Song"
            },
            "song_id": {
              "S": "s"
            }
          },
          "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
          "TableName": "songs"
        }
        <BLANKLINE>
    """
    check_kind("snapshot({})", plan, Plan, "a Plan", remedy="give session.plan(entity)")
    words = dict(_volatile(plan))
    request = _named(plan.to_request(), words)
    if plan.is_transaction:
        request["ClientRequestToken"] = TOKEN
    text = json.dumps(request, indent=2, sort_keys=True, ensure_ascii=False)
    return f"{_explained(plan, words)}\n\n{text}\n"


def _volatile(plan: Plan) -> Iterator[tuple[str, str]]:
    """The texts that differ from run to run, and the names for them."""
    for planned in plan.actions:
        for item in filter(None, (planned.before, planned.after)):
            yield from _times(planned.mapping, item, plan.made_at)
        before = (planned.before or {}).get(VERSION_AT, {}).get("S")
        if before is not None:
            yield str(before), BEFORE
        if planned.expected is not None:
            yield planned.expected, EXPECTED
        if planned.revision is not None:
            yield planned.revision, WRITTEN
    yield datetime_text(plan.made_at), NOW
    yield str(int(plan.made_at)), NOW
    expiries = (one for planned in plan.actions for one in _expiries(planned.mapping.table))
    for expiry in dict.fromkeys([*expiries, Expiry("")]):
        yield from zip(map(str, expiry.between(plan.made_at)), BOUNDS, strict=True)
        yield from zip(map(str, expiry.between(plan.made_at, CLAIM_MARGIN)), CLAIM_BOUNDS, strict=True)


def _expiries(table: Table) -> Iterator[Expiry]:
    """How the entities and the guard items of a table expire."""
    yield from (one.expiry for one in (table, table.guards) if one.expiry is not None)


def _times(mapping: EntityMapping, item: Item, made_at: float) -> Iterator[tuple[str, str]]:
    """The texts of the times that a session keeps (``CreatedAt``, ``UpdatedAt``), in attributes and in index keys."""
    words: dict[str, str] = {}
    for field in mapping.kept.values():
        if (stored := item.get(field.attribute)) is not None:
            is_now = stored == field.encode(datetime.fromtimestamp(made_at, UTC))
            words[field.name] = NOW if is_now else CHANGED if field in mapping.updated else CREATED
            yield next(iter(stored.values())), words[field.name]
    parts = [part for index in mapping.places.values() for place in index.places for part in place.parts]
    for part in parts:
        pieces = part.template.pieces if part.template is not None else ()
        kept = [piece for piece in pieces if piece.field in words]
        if kept and part.attribute.name in item:
            text = named = item[part.attribute.name][part.attribute.kind]
            for piece in kept:
                name = piece.field
                named = named.replace(piece.write(mapping.subject(item)[name]), words[name])
            yield text, named


def _named(part: Any, words: Mapping[str, str]) -> Any:
    if isinstance(part, str):
        return words.get(part, part)
    if isinstance(part, bytes):
        return {"base64": b64encode(part).decode()}
    if isinstance(part, Mapping):
        return {name: _named(one, words) for name, one in part.items()}
    return [_named(one, words) for one in part] if isinstance(part, list | tuple) else part


def _explained(plan: Plan, words: Mapping[str, str]) -> str:
    text = plan.explain()
    for revision in (found for found, word in words.items() if word == EXPECTED):
        text = re.sub(
            rf"(?<=its revision is still ){re.escape(revision)}(?=$|,)", EXPECTED, text, flags=re.MULTILINE
        )
    return text

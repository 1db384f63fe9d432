"""Law 6, "No secret leaves by accident": no text of dynaorm shows the value of a secret field.

Random classes have a secret in any of their places: keys, index keys, unique values, nested models, versions. Entities
are planned, saved, refused, changed, read and damaged, and the secret must be in no text that comes of it.
"""

import base64
import logging
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, Unique, detached, inspect, tools
from dynaorm.errors import DynaormError, UsageError
from dynaorm.item.condition import Condition
from dynaorm.transport import Call, Transport

PLACES: Final = ("part", "sort", "email", "scope", "plain", "many", "nested", "indexed")
SECRETS: Final = st.text("QWXYZ", min_size=10, max_size=12)
"""Texts that occur in no name or sentence."""
CURSORS: Final = b"sixteen bytes or more"

_names = count()


class Masked(BaseModel):
    pin: SecretStr
    tag: str = "t"


class Unshown(BaseModel):
    pin: str = Field(repr=False)
    tag: str = "t"


@dataclass(frozen=True)
class Spec:
    """A class: for each place that is secret, whether by its type (``SecretStr``) or by ``Field(repr=False)``."""

    secret: tuple[tuple[str, bool], ...]
    versioned: bool

    def is_secret(self, place: str) -> bool:
        return place in dict(self.secret)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    places = draw(st.lists(st.sampled_from(PLACES), min_size=1, unique=True))
    return Spec(tuple((place, draw(st.booleans())) for place in places), draw(st.booleans()))


def declare(spec: Spec) -> type[Any]:
    """The class of a spec, in a table of its own."""
    table = Table(f"secrets-{next(_names)}", indexes=[GlobalIndex("GSI1")])
    by_type = dict(spec.secret)
    kinds: dict[str, Any] = {name: SecretStr if by_type.get(name) else str for name in PLACES}
    kinds["email"] = Annotated[SecretStr, Unique()] if by_type.get("email") else Annotated[str, Unique()]
    kinds["many"] = list[SecretStr] if by_type.get("many") else list[str]
    kinds["nested"] = _nested(spec)
    space: dict[str, Any] = {"__annotations__": {**kinds, "row": int}, "__module__": __name__}
    hidden = [name for name, typed in spec.secret if not typed and name != "nested"]
    space |= {name: Field(repr=False) for name in hidden}
    space["by_index"] = Index("GSI1", pk="I", sk="{indexed}#{row:03d}")
    keywords = {
        "table": table, "pk": "P#{part}", "sk": "S#{sort}", "versioned": spec.versioned,
        "unique": {"pair": ("scope", "email")},
    }  # fmt: skip
    made: type[Any] = types.new_class("Vault", (Entity,), keywords, lambda own: own.update(space))
    return made


def values(spec: Spec, secret: str, row: int, **others: str) -> dict[str, Any]:
    """The values of an entity: secrets where its class has them, and elsewhere other texts."""
    texts = {name: others.get(name, secret if spec.is_secret(name) else f"open{row}") for name in PLACES}
    pin = texts.pop("nested")
    by_type = dict(spec.secret)
    found: dict[str, Any] = {
        name: SecretStr(text) if by_type.get(name) else text for name, text in texts.items()
    }
    found["many"] = [found["many"]]
    return {**found, "nested": _nested(spec).model_validate({"pin": pin}), "row": row}


def _nested(spec: Spec) -> type[BaseModel]:
    return Masked if dict(spec.secret).get("nested", True) else Unshown


# -- what is shown -----------------------------------------------------------------------------------------------------


def texts(found: Any) -> Iterator[str]:
    """Every text that a log, a terminal or an error reporter could show of a result or an error."""
    yield f"{found!r} {found}"
    if isinstance(found, BaseException):
        yield "".join(traceback.format_exception(found))
        yield repr(vars(found))
    if hasattr(found, "explain"):
        yield found.explain()
    if hasattr(found, "actions"):
        yield from (text for one in found.actions for text in texts(one))
        yield repr([one.subject for one in found.actions])
    if type(found) in (list, tuple):  # not the parts of a plan, which are not shown
        yield from (text for one in found for text in texts(one))


def outcome(work: Callable[[], object]) -> object:
    try:
        return work()
    except DynaormError as error:
        return error


# -- what is done ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A class with a secret, and a session with its table."""

    spec: Spec
    kind: type[Any]
    secret: str
    session: Session
    engine: Transport

    def entity(self, row: int, **others: str) -> Any:
        return self.kind(**values(self.spec, self.secret, row, **others))

    def key(self, **others: str) -> Key[Any]:
        found = values(self.spec, self.secret, 1, **others)
        return Key(self.kind, part=found["part"], sort=found["sort"])


def writes(case: Case) -> Iterator[Callable[[], object]]:
    session, one = case.session, case.entity(1)
    yield lambda: session.plan(one)
    yield lambda: [session.plan(one), session.save(one)]
    yield lambda: session.plan(detached(one, row=5))
    yield lambda: session.save(case.entity(1))
    yield lambda: session.save(case.entity(2, part="else", email=_text(one.email), scope=_text(one.scope)))
    yield lambda: session.save_many([case.entity(1), case.entity(3, part="x", email=_text(one.email))])
    yield lambda: _change(case)
    yield lambda: session.update(case.key(), F.row.add(1), condition=F.row == 77)
    yield lambda: session.update(case.key(part="nobody"), F.row.add(1))
    yield lambda: session.delete(case.key(part="nobody"))
    yield lambda: session.plan(session.get_one(case.key()).model_copy(update={"row": 9}))
    if case.spec.versioned:
        yield lambda: list(session.history(case.key()))
    yield lambda: _stale(case)


def _change(case: Case) -> object:
    new = values(case.spec, f"{case.secret}2", 2)
    changed = case.session.get_one(case.key()).model_copy(
        update={name: new[name] for name in ("email", "scope", "plain", "many", "nested", "indexed")}
    )
    return [inspect(changed), case.session.plan(changed)]


def _stale(case: Case) -> object:
    one, other = case.session.get_one(case.key()), case.session.get_one(case.key())
    case.session.save(one.model_copy(update={"row": 3}))
    return case.session.save(other.model_copy(update={"row": 4}))


def bad_values(case: Case) -> Iterator[Callable[[], object]]:
    """Values of the wrong type in every secret place."""
    session, secret = case.session, case.secret
    for name, _ in case.spec.secret:
        for wrong in (
            {"a": [secret]},
            [[secret]],
            secret.encode(),
            "" if name in ("part", "sort") else {secret},
        ):
            given = values(case.spec, secret, 1) | {name: wrong}
            broken = case.kind.model_construct(**given)
            yield partial(session.save, broken)
            yield partial(session.plan, broken)
            yield partial(session.save_many, [broken])
            if name in ("part", "sort"):
                yield partial(Key, case.kind, **{"part": "p", "sort": "s", name: wrong})
            else:
                yield partial(session.update, case.key(), {name: wrong})
                yield partial(_filtered, case, F[name] == wrong)


def _filtered(case: Case, condition: Condition) -> object:
    return case.session.scan(case.kind).filter(condition).all()


def reads(case: Case) -> Iterator[Callable[[], object]]:
    session, kind = case.session, case.kind
    given = values(case.spec, case.secret, 1)
    part, sort, indexed = given["part"], given["sort"], given["indexed"]
    yield lambda: session.get(case.key())
    yield lambda: session.get_one(case.key(sort="nothing"))
    yield lambda: session.get_one(Key(kind, part=part, sort=sort), version=7)
    yield lambda: session.get_by(kind, email=given["email"])
    yield lambda: session.query(kind, part=part)
    yield lambda: session.query(kind, part=part).ge(sort=sort)
    yield lambda: session.query(kind, part=part).keys().all()
    yield lambda: session.query(kind.by_index).begins_with(indexed=_text(indexed)).all()
    yield lambda: session.query(kind, part=part).page(1)
    yield lambda: session.query(kind, part=part).page(1, after=case.secret)


def damages(case: Case) -> Iterator[Callable[[], object]]:
    """Stored items that do not fit the class, and what is found of them."""
    session, engine, table = case.session, case.engine, case.kind.__dynaorm_mapping__.table
    name = table.name
    (item,) = [one for one in engine.call(Call("Scan", {"TableName": name}))["Items"] if _is_main(one, case)][
        :1
    ]
    for place, _ in case.spec.secret:
        damaged = {**item, place: {"L": [{"M": {"a": {"S": case.secret}}}]}}
        engine.call(Call("PutItem", {"TableName": name, "Item": damaged}))
        yield lambda: session.get(case.key())
        yield lambda: tools.verify(session, table)
        engine.call(Call("PutItem", {"TableName": name, "Item": {**item, place: {"S": f"{case.secret}7"}}}))
        yield lambda: session.get(case.key())
        yield lambda: tools.verify(session, table)
    hidden = case.secret if case.spec.is_secret("indexed") else "other"
    engine.call(Call("PutItem", {"TableName": name, "Item": {**item, "GSI1SK": {"S": f"{hidden}8"}}}))
    yield lambda: tools.verify(session, table)
    for one in engine.call(Call("Scan", {"TableName": name}))["Items"]:
        if "owner" in one:
            key = {part: one[part] for part in ("PK", "SK")}
            engine.call(Call("DeleteItem", {"TableName": name, "Key": key}))
    yield lambda: tools.verify(session, table)


def _is_main(item: Any, case: Case) -> bool:
    return item["PK"]["S"].startswith("P#") and ("v0_" in item["SK"]["S"] or not case.spec.versioned)


def _text(value: Any) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


# -- the law -----------------------------------------------------------------------------------------------------------


@given(spec=specs(), secret=SECRETS)
@settings(
    max_examples=max(3, settings().max_examples // 25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_text_shows_a_secret(
    engine: Transport, caplog: pytest.LogCaptureFixture, spec: Spec, secret: str
) -> None:
    caplog.set_level(1, logger="dynaorm")
    caplog.clear()
    kind = declare(spec)
    session = Session(transport=engine, cursor_secret=CURSORS)
    session.create_table(kind.__dynaorm_mapping__.table)
    case = Case(spec, kind, secret, session, engine)
    found = [outcome(work) for several in (writes, bad_values, reads, damages) for work in several(case)]
    shown = [text for one in found for text in texts(one)]
    assert len(found) > 25
    leaks = [text for text in shown if secret in text]
    assert not leaks, leaks[0]
    assert not [text for one in caplog.records if secret in (text := f"{one.getMessage()}{vars(one)}")]
    assert logging.getLogger("dynaorm").isEnabledFor(1)


@given(spec=specs(), secret=SECRETS)
@settings(
    max_examples=max(3, settings().max_examples // 25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_cursor_shows_a_secret(engine: Transport, spec: Spec, secret: str) -> None:
    kind = declare(spec)
    table = kind.__dynaorm_mapping__.table
    plain, signed = Session(transport=engine), Session(transport=engine, cursor_secret=CURSORS)
    plain.create_table(table)
    for row in (1, 2):
        plain.save(kind(**values(spec, secret, row, sort=f"{secret}{row}", email=f"e{row}")))
    for query in ("scan", "index"):
        asked = [one.scan(kind) if query == "scan" else one.query(kind.by_index) for one in (plain, signed)]
        cursor = asked[1].page(1).cursor
        assert cursor is not None
        assert secret.encode() not in base64.urlsafe_b64decode(cursor + "==")
        assert len(asked[1].page(1, after=cursor).entities) == 1
        places = ("part", "sort") if query == "scan" else ("part", "sort", "indexed")
        if any(spec.is_secret(place) for place in places):
            with pytest.raises(UsageError, match="cursor_secret"):
                asked[0].page(1)
        else:
            assert asked[0].page(1).cursor is not None

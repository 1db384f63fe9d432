"""Laws 1 and 6: whichever function a class names, and however it fails, the error is one of dynaorm that names it.

On the way in it is ``InvalidValue``, and nothing is written; on the way out, ``DecodeError``. No secret is shown.
"""

import re
from collections.abc import Callable, Iterator
from itertools import count
from types import new_class
from typing import Annotated, Any, Final, Union

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    computed_field,
    model_validator,
)

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Unique,
    inspect,
    item_of,
    tools,
)
from dynaorm.description import describe, samples
from dynaorm.entity.failing import REMEDY
from dynaorm.errors import BulkError, DecodeError, DynaormError, InvalidValue, UsageError
from dynaorm.testing import factory
from dynaorm.transport import Call, Transport

QUOTED: Final = "what-the-error-quotes"
KINDS: Final = (KeyError, TypeError, AttributeError, ZeroDivisionError, OSError, RuntimeError)
failing: list[type[Exception]] = []
"""The class of the error that each function raises from now on; empty while they work."""


def does(value: Any) -> Any:
    if failing:
        raise failing[0](QUOTED)
    return value


class Round(BaseModel):
    size: int = 1


class Square(BaseModel):
    size: int = 1


Declared = tuple[str, dict[str, Any]]
"""The words by which an error names the function, as a regular expression; and what the class declares."""


def with_field(annotation: Any, default: Any, name: str = "word") -> dict[str, Any]:
    return {"__annotations__": {name: annotation}, name: default}


def normalize(_: Any) -> Declared:
    return "normalize=", with_field(Annotated[str, Unique(normalize=does)], "slug", "slug")


def when_of_unique(_: Any) -> Declared:
    return "when= of the unique constraint 'slug'", with_field(
        Annotated[str, Unique(when=does)], "slug", "slug"
    )


def when_of_index(_: Any) -> Declared:
    return "when= of Thing.by_note", {"by_note": Index("GSI1", pk="NOTE#{note}", sk="{name}", when=does)}


def when_of_total(group: Any) -> Declared:
    return "when= of Thing.counted", {"counted": Aggregate(group, count="things", when=does)}


def first(self: Any) -> str:
    return str(does(self.note[:1]))


def kind(_: Any) -> str:
    return str(does("g"))


def computed_in_index(_: Any) -> Declared:
    by_first = Index("GSI1", pk="FIRST#{first}", sk="{name}")
    return "first", {"first": computed_field(property(first)), "by_first": by_first}


def computed_in_total(group: Any) -> Declared:
    counted = Aggregate(group, count="things", key={"group": "kind"})
    return "kind", {"kind": computed_field(property(kind)), "counted": counted}


def size(self: Any) -> int:
    return len(does(self.note))


def summed_in_total(group: Any) -> Declared:
    counted = Aggregate(group, sum={"size": "things"})
    return "size", {"size": computed_field(property(size)), "counted": counted}


def computed_in_unique(_: Any) -> Declared:
    code = Annotated[str, Unique(scope=("name", "first"))]
    return "first", {**with_field(code, "code", "code"), "first": computed_field(property(first))}


def default_factory(_: Any) -> Declared:
    return "default_factory", with_field(str, Field(default_factory=lambda: str(does("made"))), "made")


def default_factory_of_data(_: Any) -> Declared:
    made = Field(default_factory=lambda data: str(does(data["note"])))
    return "default_factory", with_field(str, made, "made")


def validator(_: Any) -> Declared:
    return "word", with_field(Annotated[str, AfterValidator(does)], Field("word", validate_default=True))


def validator_before(_: Any) -> Declared:
    return "word", with_field(Annotated[str, BeforeValidator(does)], Field("word", validate_default=True))


def validator_of_class(_: Any) -> Declared:
    def whole(self: Any) -> Any:
        return does(self)

    return "whole", {"whole": model_validator(mode="after")(whole)}


def encode(_: Any) -> Declared:
    coded = Attribute(encode=lambda one: {"S": does(one)}, decode=lambda stored: str(stored["S"]))
    return "word.*encode=", with_field(Annotated[str, coded], "word")


def decode(_: Any) -> Declared:
    coded = Attribute(encode=lambda one: {"S": one}, decode=lambda stored: str(does(stored["S"])))
    return "word.*decode=", with_field(Annotated[str, coded], "word")


def discriminator(_: Any) -> Declared:
    def chosen(value: Any) -> str:
        size = value["size"] if isinstance(value, dict) else value.size
        return str(does("round" if size < 2 else "square"))

    shapes = Annotated[
        Union[Annotated[Round, Tag("round")], Annotated[Square, Tag("square")]],  # noqa: UP007
        Discriminator(chosen),
    ]
    default = Field(Round(), validate_default=True)
    return "shape|chosen|discriminator", with_field(shapes, default, "shape")


PLACES: Final = (
    normalize,
    when_of_unique,
    when_of_index,
    when_of_total,
    computed_in_index,
    computed_in_total,
    summed_in_total,
    computed_in_unique,
    default_factory,
    default_factory_of_data,
    validator,
    validator_before,
    validator_of_class,
    encode,
    decode,
    discriminator,
)
"""Every place where a class names a function."""

SEE_ONE: Final = ("normalize", "encode", "decode", "validator", "validator_before", "discriminator")
"""The places whose functions see the value of one field, which is no secret. All others may see all of them."""


def others(kind: Any, table: Table) -> dict[str, Callable[[Session], Any]]:
    """What takes the class, or what is stored of it."""
    return {
        "verify": lambda session: tools.verify(session, table),
        "describe": lambda _: describe(table),
        "samples": lambda _: samples(table),
        "factory": lambda _: factory(kind)(),
    }


def calls(kind: Any, table: Table, loaded: Any, other: Any) -> dict[str, Callable[[Session], Any]]:
    """Everything that takes or gives an entity of the class."""
    numbers = count()

    def blank() -> Any:
        values = {
            name: info.get_default() for name, info in kind.model_fields.items() if not info.is_required()
        }
        return kind.model_construct(**{**values, "made": "made", "name": f"new-{next(numbers)}"})

    def changed(one: Any) -> Any:
        one.note, one.group = "changed", "h"
        for name in ("slug", "word"):
            if hasattr(one, name):
                setattr(one, name, "changed")
        return one

    key = Key(kind, name="a")
    return {
        "item_of": lambda _: item_of(blank()),
        "insert": lambda session: session.save(blank()),
        "insert many": lambda session: session.save_many([blank()]),
        "overwrite": lambda session: session.save(blank(), overwrite=True),
        "upsert": lambda session: session.upsert(Key(kind, name="d"), F.note.set("new")),
        "save": lambda session: session.save(changed(loaded)),
        "update": lambda session: session.update(key, F.note.set("new"), F.group.set("h")),
        "update of an object": lambda session: session.update(other, {"note": "new"}),
        "get": lambda session: session.get(key),
        "query": lambda session: session.query(kind, name="a").all(),
        "values": lambda session: (
            session.query(kind, name="a").values("note", *kind.model_computed_fields).all()
        ),
        "scan": lambda session: list(session.scan(kind)),
        "get by": lambda session: "slug" in kind.model_fields and session.get_by(kind, slug="slug"),
        "refresh": lambda session: session.refresh(other),
        "touch": lambda session: session.touch(other),
        "changes": lambda _: inspect(changed(loaded)).changes,
        **others(kind, table),
        "delete": lambda session: session.delete(key),
        "delete an object": lambda session: session.delete(other),
    }


@pytest.fixture(params=[False, True], ids=["plain", "secret"])
def is_secret(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def working() -> Iterator[None]:
    failing.clear()
    yield
    failing.clear()


def classes_at(place: Callable[[Any], Declared], is_secret: bool) -> tuple[Table, Any, Any, str]:
    """A table, the class of its totals, the class with the function, and the words that name the function."""
    table = Table(f"functions-{place.__name__}-{is_secret}", indexes=[GlobalIndex("GSI1")])

    class Group(Entity, table=table, pk="GROUP#{group}", sk="GROUP"):
        group: str
        things: int = 0

    class Base(Entity):
        name: str
        note: str = "note"
        group: str = "g"

    class Secret(Base):
        token: SecretStr = SecretStr("t")

    keywords = {"table": table, "pk": "THING#{name}", "sk": "T"}
    named, declared = place(Group)
    kind: Any = new_class(
        "Thing", (Secret if is_secret else Base,), keywords, lambda names: names.update(declared)
    )
    return table, Group, kind, named


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.__name__))
def test_a_failing_function_is_named_and_nothing_is_written(
    engine: Transport, place: Callable[..., Any], *, is_secret: bool
) -> None:
    table, group, kind, named = classes_at(place, is_secret)
    session = Session(transport=engine)
    session.create_table(table)
    session.save_many([group(group="g"), group(group="h")])
    own = {"slug": "b"} if "slug" in kind.model_fields else {}
    loaded, other = session.save(kind(name="a")), session.save(kind(name="b", **own))

    def stored() -> Any:
        return engine.call(Call("Scan", {"TableName": table.name}))["Items"]

    refused = 0
    for number, (name, call) in enumerate(calls(kind, table, loaded, other).items()):
        before, failing[:] = stored(), [KINDS[number % len(KINDS)]]
        error = error_of(call, session)
        failing.clear()
        if error is None:
            continue
        refused += 1
        assert isinstance(error, InvalidValue | DecodeError | UsageError), name
        assert re.search(f"Thing.*({named})", str(error), re.DOTALL), (name, str(error))
        assert REMEDY in str(error) or "correct the function" in str(error), (name, str(error))
        causes = [*causes_of(error)]
        assert is_secret or any(type(one) in KINDS for one in causes), (name, str(error))
        said = [error, *causes] if place.__name__ not in SEE_ONE else [error]
        assert not is_secret or not any(QUOTED in str(one) for one in said), (name, str(error))
        assert stored() == before or "was written, but it does not load" in str(error), name
    assert refused


def error_of(call: Callable[[Session], Any], session: Session) -> DynaormError | None:
    """The error of a call, or of the first of several entities; any other class of error fails the test."""
    try:
        call(session)
    except BulkError as error:
        return error.failures[0][1]
    except DynaormError as error:
        return error
    return None


def causes_of(error: BaseException) -> Iterator[BaseException]:
    while (cause := error.__cause__) is not None:
        yield cause
        error = cause

"""The fields that ``OneOf`` cannot limit to a few values."""

from types import new_class
from typing import Annotated, Any

from dynaorm import Attribute, Entity, OneOf, Table
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Line")
app = Table("lines")


def _declared(annotation: Any, pk: str = "LOG#{shard}", **more: Any) -> None:
    space = {"__annotations__": {"shard": annotation, "at": str}, "__module__": __name__, **more}
    new_class("Line", (Entity,), {"table": app, "pk": pk, "sk": "{at}"}, lambda own: own.update(space))


@refused("shard: OneOf() has no values, so no entity could be stored; give some: OneOf(range(1, 11))")
def without_values() -> None:
    _declared(Annotated[int, OneOf([])])


@refused("shard: OneOf() has a value twice, and each is asked once; give it once")
def a_value_twice() -> None:
    _declared(Annotated[int, OneOf([1, 2, 1])])


@refused("shard: OneOf() has the value 1.5; give ints, texts or members of an Enum")
def a_fraction() -> None:
    _declared(Annotated[float, OneOf([1.5])])


@refused(
    "shard: OneOf() has the value 'a', which is no value of int; give values of the field's type, or change the type"
)
def a_value_of_another_type() -> None:
    _declared(Annotated[int | None, OneOf([1, "a"])])


@refused("shard: OneOf is a class; write OneOf()")
def a_marker_that_nobody_called() -> None:
    _declared(Annotated[int, OneOf])


@refused(
    "shard: OneOf() lets a query ask each value, and no partition key of the class has the field; "
    "name it in pk=, or write a Literal"
)
def a_field_that_no_partition_has() -> None:
    _declared(Annotated[int, OneOf(range(3))], pk="LOG")


@refused("shard: OneOf() says the values as they are stored; drop the codec of Attribute(...)")
def values_with_a_codec() -> None:
    _declared(
        Annotated[
            str, OneOf(("a", "b")), Attribute(encode=lambda text: {"S": text}, decode=lambda one: one["S"])
        ]
    )


@refused(
    "shard: its default 4 could not be stored: it is 4, not a value of Literal; change the default or the type"
)
def another_default() -> None:
    _declared(Annotated[int, OneOf(range(3))], shard=4)


@refused.each
def test_a_field_that_cannot_be_one_of_some_values_is_refused(case: Refusal[[]]) -> None:
    case.check()

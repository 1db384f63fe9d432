"""Values with parts: as others store them, a change of one part, and what the change must leave."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypeAlias

from pydantic import BaseModel, Discriminator, Field, JsonValue, RootModel, Secret, Tag
from typing_extensions import TypedDict

from dynaorm import Attribute


class Address(BaseModel):
    city: str
    nick: str | None = None
    tags: set[str] = Field(default_factory=set)


@dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict):
    colour: str
    size: NotRequired[int]


class Pair(NamedTuple):
    left: Address
    right: int = 0


class Tree(BaseModel):
    value: int
    next: "Tree | None" = None
    children: list["Tree"] = Field(default_factory=list)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    owner: str | None = None


class Renamed(BaseModel):
    town: Annotated[str, Attribute("city", formerly="place")]
    zip: int = 0


class Open(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, Address]  # type: ignore[mutable-override]  # as pydantic documents it
    name: str


class Doubled(BaseModel):
    one: int
    two: int = Field(default_factory=lambda data: data["one"] * 2)


Addresses = RootModel[list[Address]]


def _tag(value: Any) -> str:
    return "list" if isinstance(value, list) else "one"


Chosen = Annotated[
    Annotated[list[Address], Tag("list")] | Annotated[Address, Tag("one")], Discriminator(_tag)
]

AV: TypeAlias = dict[str, Any]


def m(**members: AV) -> AV:
    return {"M": members}


A, B, ONE, TWO, OLD = {"S": "a"}, {"S": "b"}, {"N": "1"}, {"N": "2"}, {"SS": ["old"]}


def setting(path: str, value: Any) -> Callable[[Any], Any]:
    """A change of one part: ``.city``, ``[0].city``."""

    def change(held: Any) -> Any:
        exec(f"held{path} = value", {"held": held, "value": value})
        return held

    return change


CASES: dict[str, tuple[Any, AV, Callable[[Any], Any], AV]] = {
    "a model": (Address, m(city=A, old=OLD), setting(".city", "b"), m(city=B, old=OLD)),
    "a model that is replaced": (Address, m(city=A, old=OLD), lambda _: Address(city="b"), m(city=B, old=OLD)),
    "an absent member that is set": (Address, m(city=A), setting(".nick", "b"), m(city=A, nick=B)),
    "an absent set that is filled": (Address, m(city=A), setting(".tags", {"x"}), m(city=A, tags={"SS": ["x"]})),
    "a member that becomes None": (
        Address, m(city=A, nick=B, old=OLD), setting(".nick", None), m(city=A, old=OLD),
    ),
    "None, where it may be": (Address | None, m(city=A, old=OLD), setting(".city", "b"), m(city=B, old=OLD)),
    "a dataclass": (Point, m(x=ONE, old=OLD), setting(".x", 2), m(x=TWO, old=OLD)),
    "a typed dict": (Options, m(colour=A, old=OLD), setting("['colour']", "b"), m(colour=B, old=OLD)),
    "a key that is dropped": (
        Options, m(colour=A, size=ONE, old=OLD), lambda _: {"colour": "a"}, m(colour=A, old=OLD),
    ),
    "a named tuple": (
        Pair, {"L": [m(city=A, old=OLD)]}, lambda held: held._replace(left=Address(city="b")),
        {"L": [m(city=B, old=OLD)]},
    ),
    "a named tuple with a member more": (
        Pair, {"L": [m(city=A, old=OLD)]}, lambda held: held._replace(right=1), {"L": [m(city=A, old=OLD), ONE]},
    ),
    "a tuple": (
        tuple[Address, int], {"L": [m(city=A, old=OLD), ONE]}, lambda held: (held[0], 2),
        {"L": [m(city=A, old=OLD), TWO]},
    ),
    "a tree": (
        Tree, m(value=ONE, next=m(value=ONE, next=m(value=ONE, old=OLD), old=OLD)), setting(".next.next.value", 2),
        m(value=ONE, next=m(value=ONE, next=m(value=TWO, old=OLD), old=OLD)),
    ),
    "the children of a tree": (
        Tree, m(value=ONE, children={"L": [m(value=ONE, old=OLD)]}), setting(".children[0].value", 2),
        m(value=ONE, children={"L": [m(value=TWO, old=OLD)]}),
    ),
    "a dict that loses a key": (
        dict[str, Address], m(x=m(city=A, old=OLD), y=m(city=A)), lambda held: {"x": held["x"]},
        m(x=m(city=A, old=OLD)),
    ),
    "a member of a union": (
        Annotated[Cat | Dog, Discriminator("kind")], m(kind={"S": "cat"}, lives=ONE, old=OLD), setting(".lives", 2),
        m(kind={"S": "cat"}, lives=TWO, old=OLD),
    ),
    "another member of a union": (
        Annotated[Cat | Dog, Discriminator("kind")], m(kind={"S": "cat"}, lives=ONE, owner=A), lambda _: Dog(),
        m(kind={"S": "dog"}),
    ),
    "a union that types decide": (Address | int, m(city=A, old=OLD), setting(".city", "b"), m(city=B, old=OLD)),
    "a union that a function decides": (Chosen, m(city=A, old=OLD), setting(".city", "b"), m(city=B, old=OLD)),
    "a former name": (Renamed, m(place=A, old=OLD), setting(".town", "b"), m(city=B, old=OLD)),
    "a former name beside what changes": (
        Renamed, m(place=A, old=OLD), setting(".zip", 2), m(city=A, zip=TWO, old=OLD),
    ),
    "extra fields": (
        Open, m(name=A, x=m(city=A, old=OLD), y=m(city=A)),
        lambda held: Open.model_validate({"name": "b", "x": held.x, "z": Address(city="b")}),
        m(name=B, x=m(city=A, old=OLD), z=m(city=B)),
    ),
    "a root model": (
        Addresses, {"L": [m(city=A, old=OLD)]}, setting(".root[0].city", "b"), {"L": [m(city=B, old=OLD)]},
    ),
    "a secret": (
        Secret[Address], m(city=A, old=OLD), lambda _: Secret[Address](Address(city="b")), m(city=B, old=OLD),
    ),
    "numbers of a document": (
        JsonValue, m(x={"N": "1.50"}, y=ONE), setting("['y']", 2), m(x={"N": "1.50"}, y=TWO),
    ),
    "a default that depends on what changes": (Doubled, m(one=ONE), setting(".one", 2), m(one=TWO, two=TWO)),
    "a changed element beside a new one": (
        list[Address], {"L": [m(city=A, old=OLD), m(city=B)]},
        lambda held: [Address(city="c"), held[1], Address(city="d", nick="a", tags={"x"})],
        {"L": [m(city={"S": "c"}, old=OLD), m(city=B), m(city={"S": "d"}, nick=A, tags={"SS": ["x"]})]},
    ),
    "a changed element after one that was dropped": (
        list[Address], {"L": [m(city=A), m(city=B), m(city=A, nick=A, old=OLD)]},
        lambda held: [held[1], Address(city="c", nick="a")],
        {"L": [m(city=B), m(city={"S": "c"}, nick=A, old=OLD)]},
    ),
}  # fmt: skip

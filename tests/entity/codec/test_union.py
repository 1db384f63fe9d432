"""Unions: told apart by how they are stored, or by pydantic's discriminator."""

from datetime import date, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from dynaorm.entity.codec.of_type import UnsupportedType, codec_of
from dynaorm.entity.marker import Attribute


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Annotated[Literal["dog", "wolf"], Attribute("K")] = "dog"
    name: str = ""
    lives: int | None = None


class Bird(TypedDict):
    kind: Literal["bird"]
    wings: int


Pet = Annotated[Cat | Dog | Bird, Field(discriminator="kind")]


@pytest.mark.parametrize(
    "annotation",
    [
        str | UUID,
        date | str,
        int | timedelta,
        Cat | Dog,
        list[int] | set[int],
        list[int] | tuple[int, ...],
        Cat | dict[str, int],
    ],
)
def test_members_stored_alike_have_no_codec(annotation: Any) -> None:
    with pytest.raises(UnsupportedType, match=r"are both stored as (S|N|M|L), so .* or use Attribute\("):
        codec_of(annotation)


@pytest.mark.parametrize(
    "pet", [Cat(lives=1), Dog(kind="wolf", name="x", lives=3), {"kind": "bird", "wings": 2}]
)
def test_a_discriminated_union_is_decoded_by_the_member_it_was_encoded_by(pet: Any) -> None:
    codec = codec_of(list[Pet | None])
    for _ in range(2):
        stored = codec.encode([pet, None])
        assert TypeAdapter(list[Pet | None]).validate_python(codec.decode(stored)) == [pet, None]


def test_paths_go_into_the_members_of_a_discriminated_union() -> None:
    members = codec_of(Pet).members
    assert members is not None
    assert set(members) == {"lives", "name", "wings"}, "kind is stored under two names"
    assert len(members) == 3
    assert members["lives"].codec.encode(None) == {"NULL": True}
    assert members["lives"].codec.decode({"N": "3"}) == 3
    assert "fins" not in members


def test_a_discriminator_needs_models_that_have_it() -> None:
    with pytest.raises(UnsupportedType, match="has a member without fields"):
        codec_of(Annotated[Cat | int, Discriminator("kind")])
    with pytest.raises(UnsupportedType, match="Cat has no field 'sort', the discriminator"):
        codec_of(Annotated[Cat | Dog, Discriminator("sort")])


def by_dict_too(value: Any) -> str:
    return str(value.get("kind", "dog") if isinstance(value, dict) else value.kind)


def by_class_only(value: Any) -> str:
    return "cat" if isinstance(value, Cat) else "dog"


def test_a_function_may_be_the_discriminator() -> None:
    union = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(by_dict_too)]
    codec = codec_of(union)
    for pet in (Cat(), Dog(name="x")):
        assert TypeAdapter(union).validate_python(codec.decode(codec.encode(pet))) == pet
    with pytest.raises(ValueError, match="for which the discriminator returns 'wolf'"):
        codec.encode(Dog(kind="wolf"))
    with pytest.raises(ValueError, match="chooses no member"):
        codec.decode({"N": "1"})


def test_a_function_that_knows_instances_only_is_noticed_when_saving() -> None:
    union = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(by_class_only)]
    with pytest.raises(ValueError, match="chooses another member"):
        codec_of(union).encode(Cat())


def test_a_function_as_discriminator_needs_tags() -> None:
    with pytest.raises(UnsupportedType, match=r"a member without Tag\(...\); give it one"):
        codec_of(Annotated[Cat | Dog, Discriminator(by_dict_too)])


def test_a_type_with_an_encode_of_its_own_is_no_member_of_a_union() -> None:
    own = Annotated[
        complex, Attribute(encode=lambda value: {"S": str(value)}, decode=lambda av: complex(av["S"]))
    ]
    assert codec_of(own | None).encode(1j) == {"S": "1j"}
    with pytest.raises(UnsupportedType, match="has its own encode=, so loading could not"):
        codec_of(own | int)

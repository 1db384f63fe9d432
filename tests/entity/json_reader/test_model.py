"""Which classes are read from JSON, and which are left to their codecs."""

from typing import Annotated, Any, Self

import pytest
from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dynaorm import Entity, GlobalIndex, Index, InKey, Table
from dynaorm.entity.json_reader.model import json_model
from dynaorm.entity.mapping.mapping import mapping_of


class Keyed(Entity, table=Table("app"), pk="O#{slug}", sk="A#{slug:upper}"):
    slug: Annotated[str, InKey()]


class Checked(Entity, table=Table("app"), pk="O#{slug}", sk="A"):
    slug: str

    @model_validator(mode="after")
    def check(self) -> Self:
        return self


class TakingInfo(Entity, table=Table("app"), pk="O#{slug}", sk="A"):
    slug: str

    @field_validator("slug")
    @classmethod
    def look(cls, value: str, info: ValidationInfo) -> str:
        return f"{value}{info.mode}"


class Before(Entity, table=Table("app"), pk="O#{slug}", sk="A"):
    slug: str

    @model_validator(mode="before")
    @classmethod
    def look(cls, values: Any) -> Any:
        return values


class Around(Entity, table=Table("app"), pk="O#{slug}", sk="A"):
    slug: str

    @model_validator(mode="wrap")
    @classmethod
    def look(cls, values: Any, handler: Any) -> Any:
        return handler(values)


class Twice(
    Entity, table=Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")]), pk="O#{slug}", sk="A"
):
    """A field that is stored in the keys of two indexes, of which either may be absent."""

    slug: str
    spot: Annotated[str | None, InKey()]
    one = Index("GSI1", pk="X#{spot}", sk="{slug}")
    two = Index("GSI2", pk="Y#{spot}", sk="{slug}")


class Made(Entity, table=Table("app"), pk="O#{slug}", sk="A"):
    slug: str

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


class Checking(Entity, table=Table("app"), pk="O#{slug}", sk="A", validate_default=True):
    slug: str
    tags: dict[str, int] = Field(default={})


LEFT_TO_CODECS = [TakingInfo, Before, Around, Twice, Made, Checking]


@pytest.mark.parametrize("entity", LEFT_TO_CODECS)
def test_a_class_whose_validators_could_behave_differently_is_left_to_the_codecs(
    entity: type[Entity],
) -> None:
    assert json_model(mapping_of(entity)) is None


class Own(Entity, table=Table("app", pk="slug", sk=None), pk="{slug}"):
    slug: str


class Stripped(Entity, table=Table("app", pk="slug", sk=None), pk="{slug}", str_strip_whitespace=True):
    slug: str


class Longer(Entity, table=Table("app", pk="slug", sk=None), pk="{slug}"):
    slug: Annotated[str, AfterValidator(lambda value: f"{value}!")]


class Renamed(Entity, table=Table("app", pk="slug", sk=None), pk="{slug}"):
    """A class of which a validator of the model may change the key."""

    slug: str

    @model_validator(mode="after")
    def rename(self) -> Self:
        self.__dict__["slug"] = "b"
        return self


class Same(Entity, table=Table("app"), pk="{slug}", sk="{slug}"):
    """A class of which the field is read from the partition key, and rendered in the sort key, too."""

    slug: Annotated[str, InKey()]


class Whole(Entity, table=Table("app"), pk="{slug}", sk="W#{part}#{number:04d}"):
    slug: Annotated[str, InKey()]
    part: Annotated[str, InKey()]
    number: Annotated[int, InKey()]


def test_a_part_of_the_key_is_compared_unless_it_holds_strings_that_no_validator_changes() -> None:
    assert [_compared(one) for one in (Own, Stripped, Longer, Renamed)] == [[], *[["{slug}"]] * 3]
    assert [_compared(one) for one in (Checked, Whole)] == [["O#{slug}", "A"], ["W#{part}#{number:04d}"]]
    assert [_compared(one) for one in (Keyed, Same)] == [["A#{slug:upper}"], ["{slug}"]]


def _compared(entity: type[Entity]) -> list[str]:
    model = json_model(mapping_of(entity))
    assert model is not None
    return [part.text for part in model.keys]


class Defaulting(Entity, table=Table("app"), pk="D#{slug}", sk="A"):
    slug: str
    level: int = 5
    nick: str | None = None
    mood: str | None = "fine"
    tags: list[str] = Field(default=["new"])


class Counting(Entity, table=Table("app"), pk="D#{slug}", sk="A"):
    slug: str
    number: int = Field(default_factory=lambda: 1)


def test_constant_defaults_are_known_in_advance() -> None:
    constant, made = json_model(mapping_of(Defaulting)), json_model(mapping_of(Counting))
    assert constant is not None
    assert made is not None
    assert made.defaults is None
    item = {"slug": {"S": "a"}, "level": {"N": "5"}}
    assert constant.defaults_in(item) == {"nick": None, "mood": {"S": "fine"}, "tags": {"L": [{"S": "new"}]}}

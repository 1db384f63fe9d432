"""The JSON reader gives the same entity as the codecs, for any class and any item, damaged or not."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from pydantic import Field, create_model

from dynaorm import Attribute, Entity, Table
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.page import is_entity
from dynaorm.entity.state import state_of
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.value import Item
from tests.entity.kinds import KINDS, Kind

calm = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

STRANGE: Final[list[Any]] = [
    {"NULL": True},
    {"S": ""},
    {"S": "x"},
    {"S": "5"},
    {"S": "1700000000"},
    {"S": "2024-02-29"},
    {"S": "2024-02-29T10:00:00+02:00"},
    {"S": "2024-02-29T10:00:00.5Z"},
    {"N": "5"},
    {"N": "1E2"},
    {"N": "1.0"},
    {"N": "1.5"},
    {"N": "-0"},
    {"N": "99999999999999999999999999999999999999"},
    {"BOOL": False},
    {"B": b"5"},
    {"L": []},
    {"L": [{"S": "x"}, {"NULL": True}]},
    {"M": {}},
    {"M": {"S": {"S": "x"}}},
    {"M": {"NULL": {"BOOL": True}, "f0": {"S": "x"}}},
    {"SS": ["x"]},
    {"NS": ["1", "1E2"]},
    {"BS": [b"x"]},
]


@dataclass(frozen=True)
class Declared:
    """A class, and what its fields may hold."""

    mapping: EntityMapping
    values: "st.SearchStrategy[dict[str, Any]]"


@st.composite
def declared(draw: st.DrawFn) -> Declared:
    fields: dict[str, Any] = {"slug": (str, ...)}
    values: dict[str, st.SearchStrategy[Any]] = {"slug": st.text("abc", min_size=1, max_size=3)}
    for number, kind in enumerate(draw(st.lists(KINDS, min_size=1, max_size=3))):
        name = f"f{number}"
        fields[name], values[name] = draw(_fields(kind, f"StoredField{number}"))
    table = Table("app", pk=draw(st.sampled_from(["slug", "PK"])))
    options = {"table": table, "pk": draw(st.sampled_from(["{slug}", "G#{slug}"])), "sk": "A"}
    assume(table.pk.name == "PK" or options["pk"] == "{slug}")
    entity: Any = create_model("Generated", __base__=Entity, __cls_kwargs__=options, **fields)
    return Declared(mapping_of(entity), st.fixed_dictionaries(values))


@st.composite
def _fields(draw: st.DrawFn, kind: Kind, stored: str) -> tuple[Any, "st.SearchStrategy[Any]"]:
    annotation, values = kind
    how = draw(st.sampled_from(["required", "constant", "default", "optional", "nullable", "renamed"]))
    match how:
        case "required":
            return (annotation, ...), values
        case "constant":
            return (annotation, draw(values)), values
        case "default":
            default = draw(values)
            return (annotation, Field(default_factory=lambda: default, alias="Shown")), values
        case "renamed":
            name = Attribute(stored, formerly=(f"Older{stored}", f"Oldest{stored}"))
            return (Annotated[annotation, name], Field(alias=f"shown{stored}")), values
    return (annotation | None, None if how == "optional" else ...), values | st.none()


@st.composite
def stored_items(draw: st.DrawFn, one: Declared) -> Item:
    mapping, values = one.mapping, draw(one.values)
    try:
        item = mapping.encode(values) | mapping.primary_key(values)
    except InvalidValue:
        item = {}
    assume(item)
    for name in draw(st.sets(st.sampled_from(sorted(item)), max_size=2)):
        if name in mapping.table.key_names:  # of which DynamoDB takes no other type, and none that are empty
            item[name] = {"S": "x"}
        elif (strange := draw(st.none() | st.sampled_from(STRANGE))) is None:
            del item[name]
        else:
            item[draw(st.sampled_from([name, f"Older{name}"]))] = strange
    extra = draw(
        st.dictionaries(st.sampled_from(["more", "S", "Alias"]), st.sampled_from(STRANGE), max_size=2)
    )
    return {**extra, **item, "_type": {"S": "Generated"}, "_rev": {"S": "r"}}


def compiled(mapping: EntityMapping, item: Item) -> Any:
    try:
        return mapping.hydrate(item)
    except DecodeError as problem:
        return problem


def read(mapping: EntityMapping, item: Item) -> tuple[Body, Any]:
    """A reply with this item, and the reader's result: an entity, the item, or None for the whole reply."""
    body = Body(encode_body({"Items": [item], "Count": 1}))
    reader = json_reader_of(mapping.table, (mapping.entity,), "Query")
    reading = reader.read(body, None) if reader is not None else None
    return body, reading.found[0] if reading is not None else None


@calm
@given(st.data())
def test_an_entity_read_from_json_equals_the_one_that_the_codecs_give(data: st.DataObject) -> None:
    one = data.draw(declared())
    item = data.draw(stored_items(one))
    body, found = read(one.mapping, item)
    expected = compiled(one.mapping, body["Items"][0])
    if found is None:
        event("declined")
    elif is_entity(found):
        event("an entity")
        assert type(found) is type(expected)
        assert (vars(found), repr(found)) == (vars(expected), repr(expected))
        assert found.model_fields_set == expected.model_fields_set
        assert state_of(found) == state_of(expected)
    else:
        event(f"an item, of which the codecs make {type(expected).__name__}")
        assert found == body["Items"][0]

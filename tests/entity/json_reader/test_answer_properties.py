"""The JSON reader gives the same entity as the codecs, for any class and any item, damaged or not."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, ClassVar, Final

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from pydantic import Field, create_model, model_validator

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import is_entity, state_of
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DeclarationError, DecodeError, DynaormError, InvalidValue
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Save, UnitOfWork
from tests.dynamodb_json import Item
from tests.entity.kinds import KINDS, Kind

calm = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
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


class Filling(Entity):
    """A base class of which ``model_post_init`` sets a field that may be absent, to what it can see."""

    def model_post_init(self, context: Any, /) -> None:
        self.__dict__["seen"] = f"{sorted(self.model_fields_set)} {context}"


def fill(entity: Any) -> Any:
    """A validator of a model that sets a field that may be absent, to what it can see."""
    entity.seen = f"{sorted(entity.model_fields_set)} {entity!r}"
    return entity


def move(entity: Any) -> Any:
    """A validator of a model that changes a field of the key."""
    entity.__dict__["slug"] = "a"
    return entity


_PARTITIONS: Final = ["{slug}", "{slug:raw}", "G#{slug}", "G#{slug}#{slug:upper}", "{slug:raw}#{slug}"]
# The sort keys of one class or of two. Those of two may meet, which a type attribute allows.
_SORTS: Final = [
    *(["A"], ["{part}"], ["A#{part}"], ["A#{part}#{slug}"], ["{slug}"], ["{slug:raw}"]),
    *(["A#{part}", "B"], ["A#{part}#B", "A#{part}"], ["A#{part}", "A#{part}"]),
]
# Keys that guard items, token items and entities may have.
_MEETING: Final = ["email#a", "email#", "emails#a", "email", "#token#a", "#token#", "G#a", "A#a", "a"]


@st.composite
def declared(draw: st.DrawFn) -> list[Declared]:
    """One or two classes of a table."""
    own = draw(st.sampled_from([None, None, "slug"]))  # the key attribute is the field's own
    sorts: list[Any] = draw(st.sampled_from([*_SORTS, *([None], [None], [None], [None])]))
    name = None if sorts == [None] else draw(st.sampled_from(["SK", "part"])) if sorts == ["{part}"] else "SK"
    table = Table(
        "app",
        pk=own or "PK",
        sk=name,
        type_attribute=draw(st.sampled_from(["_type", None, None])),
        indexes=[GlobalIndex("GSI1")],
    )
    partition = draw(st.sampled_from(["{slug}", "{slug:raw}"] if own else _PARTITIONS))
    found = []
    for number, sort in enumerate(sorts):
        try:
            found.append(draw(_declared(table, f"Generated{number}", (partition, sort), in_key=own is None)))
        except DeclarationError:
            assert number == 1, "its keys meet those of the other class"
    _store_guards_in(table)
    return found


def _store_guards_in(table: Table) -> None:
    """Declare a class of another table, of which the guard items are stored in this one, unless keys could meet."""
    elsewhere = Table("elsewhere", guard_table=table)
    mail: Any = (Annotated[str, Unique("email")], ...)
    with suppress(DeclarationError):
        create_model(
            "Guarding",
            __base__=Entity,
            __cls_kwargs__={"table": elsewhere, "pk": "{mail}", "sk": "M"},
            mail=mail,
        )


@st.composite
def _declared(
    draw: st.DrawFn, table: Table, name: str, keys: tuple[str, str | None], *, in_key: bool
) -> Declared:
    is_in_key = in_key and "{slug:raw}#" not in keys[0] and draw(st.booleans())
    fields: dict[str, Any] = {"slug": (Annotated[str, InKey() if is_in_key else Attribute("slug")], ...)}
    texts = st.text("ab#%é", min_size=1, max_size=3) | st.sampled_from(_MEETING)
    values: dict[str, st.SearchStrategy[Any]] = {"slug": texts}
    if keys[1] is not None and "{part}" in keys[1]:
        kind = draw(st.sampled_from([(str, texts), (str, texts), (date, st.dates())]))
        is_own = "part" in table.kinds
        mark = Attribute("part") if is_own else draw(st.sampled_from([Attribute("part"), InKey()]))
        fields["part"], values["part"] = (Annotated[kind[0], mark], ...), kind[1]
    for number, kind in enumerate(draw(st.lists(KINDS, max_size=3))):
        own = f"f{number}"
        fields[own], values[own] = draw(_fields(kind, f"StoredField{number}"))
    options: dict[str, Any] = {"table": table, "pk": keys[0], **({"sk": keys[1]} if keys[1] else {})}
    members: dict[str, Any] = {}
    if draw(st.booleans()):
        fields["spot"] = (Annotated[str | None, InKey()], draw(st.sampled_from([None, ...])))
        values["spot"] = st.none() | st.text("ab", min_size=1, max_size=2)
        fields["where"] = (ClassVar[Any], Index("GSI1", pk="X#{spot}", sk="{slug}"))
    base, how = Entity, draw(st.sampled_from(["", "", "", "fill", "move", "later"]))
    if how:
        fields["seen"] = (str, "")
        base = Filling if how == "later" else Entity
        validator = {"fill": fill, "move": move}.get(how)
        members = (
            {} if validator is None else {"__validators__": {how: model_validator(mode="after")(validator)}}
        )
    entity: Any = create_model(name, __base__=base, __cls_kwargs__=options, **members, **fields)
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
        # Without the check that refuses keys of guard items: another writer may store them.
        item = mapping.encoder.encode(values) | {
            part.attribute.name: value
            for part in mapping.primary_parts
            if (value := part.value(values)) is not None
        }
        for place in mapping.indexes.values():
            item |= place.keys(values) or {}
    except (InvalidValue, KeyValueError):
        item = {}
    assume(item)
    if draw(st.booleans()):
        return draw(_items_without_class(mapping, item))
    for name in draw(st.sets(st.sampled_from(sorted(item)), max_size=2)):
        if name in mapping.table.kinds or name.startswith("GSI1"):  # of which DynamoDB takes no other type
            item[name] = {"S": draw(st.sampled_from(["x", "A#", "A#x", "G#a", "X#", "email#a", "#token#a"]))}
        elif (strange := draw(st.none() | st.sampled_from(STRANGE))) is None:
            del item[name]
        else:
            item[draw(st.sampled_from([name, f"Older{name}"]))] = strange
    extra = draw(
        st.dictionaries(st.sampled_from(["more", "S", "Alias"]), st.sampled_from(STRANGE), max_size=2)
    )
    named = {"_type": {"S": mapping.name}} if mapping.table.type_attribute else {}
    return {**extra, **item, **named, "_rev": {"S": "r"}}


@st.composite
def _items_without_class(draw: st.DrawFn, mapping: EntityMapping, item: Item) -> Item:
    """A guard item or a token item, or an item that is like one."""
    own: dict[str, Any] = {"owner": {"M": {}}, "_block": {"S": "b"}, "_rev": {"S": "r"}}
    text = draw(st.sampled_from(["email#a", "email#a", "#token#a", *_MEETING]))
    rest: dict[str, Any] = {**item} if draw(st.booleans()) else {}
    for name in draw(st.sets(st.sampled_from(sorted(own)), max_size=1)):
        rest[name] = own[name]
    fields = [name for name in ("slug", "part") if rest.get(name, {}).keys() == {"S"}]
    return rest | {name: {"S": text} for name in (*mapping.table.key_names, *fields)}


def compiled(table: Table, item: Item) -> Any:
    """What the codecs make of an item of a query: an entity, an error, or the kind of item that is no entity."""
    found = classify(table, item)
    if isinstance(found, NotAnEntity):
        return found
    try:
        return found.loader.hydrate(item)
    except DecodeError as problem:
        return problem


def read(
    classes: Sequence[EntityMapping], items: Sequence[Item], operation: str
) -> tuple[Sequence[Item], Sequence[Any] | None]:
    """Items in a reply, and what the reader makes of them: entities, items, or None for the whole reply."""
    body = Body(encode_body({"Items": items, "Count": 1}))
    reader = json_reader_of(classes[0].table, tuple(one.entity for one in classes), operation)
    reading = reader.read(body, None) if reader is not None else None
    return body["Items"], reading.found if reading is not None else None


def request_of(entity: Any, name: str, value: Any) -> Any:
    """The request that saves an entity after a change; the error, if there is none."""
    setattr(entity, name, value)
    unit = UnitOfWork(1_700_000_000.0, "w", str)
    try:
        return compile_plan(merge_intents([Save(entity)], 1_700_000_000.0), NOTHING_READ, unit).to_request()
    except DynaormError as problem:
        return str(problem)


@calm
@given(st.data())
def test_the_json_reader_gives_what_the_codecs_give(data: st.DataObject) -> None:
    known = data.draw(declared())
    items = [
        data.draw(stored_items(data.draw(st.sampled_from(known))))
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    wanted = [one.mapping for one in data.draw(st.sampled_from([known, known[:1], known[-1:]]))]
    read_items, found = read(wanted, items, data.draw(st.sampled_from(["Query", "Scan"])))
    if found is None:
        event("declined")
        return
    for item, one in zip(read_items, found, strict=True):
        expected = compiled(wanted[0].table, item)
        if not is_entity(one):
            event(f"an item, of which the codecs make {type(expected).__name__}")
            assert one == item
            continue
        event("an entity")
        assert type(one) is type(expected)
        assert (vars(one), repr(one)) == (vars(expected), repr(expected))
        assert one.model_fields_set == expected.model_fields_set
        assert type(one.model_fields_set) is set
        assert state_of(one) == state_of(expected)
        declared_as = next(each for each in known if each.mapping.entity is type(one))
        name = data.draw(st.sampled_from(sorted(declared_as.mapping.fields.keys() - {"seen"})))
        value = data.draw(declared_as.values)[name]
        assert request_of(one, name, value) == request_of(expected, name, value)

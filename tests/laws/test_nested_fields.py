"""Law: a field of a nested value is stored by the rule of fields, whichever way it is written.

Older versions stored None as NULL and an empty set as an empty list in maps. Such items mean the same.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from dynaorm import Entity, F, Key, Session, Table, tools
from dynaorm.embedded.engine import Engine
from dynaorm.transport import Call

app = Table("app")


class Home(BaseModel):
    town: str | None
    nick: str | None = None
    note: str | None = "x"
    tags: set[str] = set()
    marks: set[int] | None = None


@dataclass
class Spot:
    town: str | None
    nick: str | None = None
    note: str | None = "x"
    tags: frozenset[str] = frozenset()
    marks: set[int] | None = None


class Area(TypedDict):
    town: str | None
    tags: set[str]


class Holder(Entity, table=app, pk="HOLDER#{name}", sk="H"):
    name: str
    home: Home
    spot: Spot
    area: Area
    homes: list[Home]
    spots: dict[str, Spot]


TEXTS = st.none() | st.sampled_from("ab")
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "town": TEXTS,
    "nick": TEXTS,
    "note": TEXTS,
    "tags": st.frozensets(st.sampled_from("ab")),
    "marks": st.none() | st.frozensets(st.integers(1, 3)),
}
VALUES = st.fixed_dictionaries(MEMBERS)
_ENGINE = Engine()
_SESSION = Session(transport=_ENGINE)
_SESSION.create_table(app)
KEY = Key(Holder, name="n")
RAW = {"PK": {"S": "HOLDER#n"}, "SK": {"S": "H"}}


def stored(values: Mapping[str, Any], *, older: bool = False) -> dict[str, Any]:
    """The map of these members; with ``older``, as versions stored it that left nothing out."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            if older or name == "note":
                found[name] = {"NULL": True}
        elif isinstance(value, str):
            found[name] = {"S": value}
        elif value:
            tag = "SS" if name == "tags" else "NS"
            found[name] = {tag: sorted(map(str, value))}
        elif older or name == "marks":
            found[name] = {"L": []}
    return {"M": found}


def area_of(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in ("town", "tags")}


def holder_of(values: Mapping[str, Any]) -> Holder:
    home, spot = Home(**values), TypeAdapter(Spot).validate_python(dict(values))
    area = TypeAdapter(Area).validate_python(area_of(values))
    return Holder(name="n", home=home, spot=spot, area=area, homes=[home], spots={"a": spot})


def parts_of(values: Mapping[str, Any], *, older: bool = False) -> dict[str, Any]:
    whole = stored(values, older=older)
    area = stored(area_of(values), older=older)
    return {"home": whole, "spot": whole, "area": area, "homes": {"L": [whole]}, "spots": {"M": {"a": whole}}}


def raw_item() -> dict[str, Any]:
    """The stored item; its sets in order."""
    found = _ENGINE.call(Call("GetItem", {"TableName": "app", "Key": RAW}))["Item"]
    return {name: _sorted(value) for name, value in found.items()}


def _sorted(value: Any) -> Any:
    ((tag, content),) = value.items()
    if tag == "M":
        return {tag: {name: _sorted(part) for name, part in content.items()}}
    if tag == "L":
        return {tag: [_sorted(part) for part in content]}
    return {tag: sorted(content) if tag in ("SS", "NS") else content}


def raw_parts() -> dict[str, Any]:
    return {
        name: value for name, value in raw_item().items() if name in Holder.model_fields and name != "name"
    }


def put_older(values: Mapping[str, Any]) -> dict[str, Any]:
    """Store an item as older versions did."""
    _SESSION.save(holder_of(values), overwrite=True)
    item = {**raw_item(), **parts_of(values, older=True)}
    _ENGINE.call(Call("PutItem", {"TableName": "app", "Item": deepcopy(item)}))
    return item


@given(VALUES, VALUES)
def test_a_save_stores_fields_of_nested_values_as_fields(values: Any, later: Any) -> None:
    saved = _SESSION.save(holder_of(values), overwrite=True)
    assert raw_parts() == parts_of(values)
    loaded = _SESSION.get_one(KEY)
    assert loaded == saved == holder_of(values)
    for name in ("home", "spot", "area", "homes", "spots"):
        setattr(loaded, name, getattr(holder_of(later), name))
    _SESSION.save(loaded)
    assert raw_parts() == parts_of(later)
    assert _SESSION.get_one(KEY) == holder_of(later)
    assert not [*tools.verify(_SESSION, Holder)]


@given(VALUES, st.data())
def test_an_update_of_a_nested_field_stores_what_a_save_does(values: Any, data: Any) -> None:
    _SESSION.save(holder_of(values), overwrite=True)
    name = data.draw(st.sampled_from([*MEMBERS]))
    later = {**values, name: data.draw(MEMBERS[name])}
    paths = [F.home, F.spot, F.homes[0], F.spots["a"], *([F.area] if name in area_of(values) else [])]
    _SESSION.update(KEY, *(path[name].set(later[name]) for path in paths))
    assert raw_parts() == parts_of(later)


@given(VALUES, st.booleans())
def test_an_upsert_stores_nested_fields_as_a_save_does(values: Any, is_stored: bool) -> None:
    _SESSION.save(holder_of(values), overwrite=True)
    if not is_stored:
        _SESSION.delete(KEY)
    wanted = holder_of(values)
    _SESSION.upsert(KEY, *(F[name].set(getattr(wanted, name)) for name in parts_of(values)))
    assert raw_parts() == parts_of(values)


@given(VALUES)
def test_what_older_versions_stored_in_maps_is_no_difference(values: Any) -> None:
    item = put_older(values)
    loaded = _SESSION.get_one(KEY)
    assert loaded == holder_of(values)
    assert not [*tools.verify(_SESSION, Holder)]
    _SESSION.save(loaded)
    assert raw_item() == item
    loaded.home.town = loaded.spot.town = "new"
    _SESSION.save(loaded)
    expected = {"M": {**item["home"]["M"], "town": {"S": "new"}}}
    assert raw_item()["home"] == raw_item()["spot"] == expected
    assert raw_item()["homes"] == item["homes"]


class Bird(BaseModel):
    kind: Literal["bird", None] = None  # noqa: PYI061  # pydantic takes no other form
    tags: set[str] = set()


class Fish(BaseModel):
    kind: Literal["fish"] = "fish"
    nick: str | None = None
    tags: set[str] = set()


class Keeper(Entity, table=app, pk="KEEPER#{name}", sk="K"):
    name: str
    pet: Annotated[Bird | Fish, Field(discriminator="kind")]


@given(st.sampled_from([Bird(), Bird(kind="bird"), Fish(), Fish(nick="a", tags={"b"})]))
def test_a_member_of_a_union_loads_whose_discriminator_is_none(pet: Any) -> None:
    saved = _SESSION.save(Keeper(name="n", pet=pet), overwrite=True)
    key = Key(Keeper, name="n")
    assert _SESSION.get_one(key) == saved
    assert _SESSION.update(key, F.pet.tags.set(set())).pet.tags == set()
    assert (
        "tags"
        not in _ENGINE.call(
            Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "KEEPER#n"}, "SK": {"S": "K"}}})
        )["Item"]["pet"]["M"]
    )

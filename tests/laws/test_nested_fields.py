"""Law: a field of a nested value is stored by the rule of fields, whichever way it is written.

Older versions stored None as NULL and an empty set as an empty list in maps. Such items mean the same.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, computed_field
from typing_extensions import TypedDict

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, tools
from dynaorm.embedded.engine import Engine
from dynaorm.transport import Call

app = Table("app", indexes=[GlobalIndex("GSI1")])


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


class Permit(Entity, table=app, pk="PERMIT#{name}", sk="P"):
    name: str
    sets: dict[str, set[str]] = Field(default_factory=dict)
    numbered: dict[int, frozenset[str]] = Field(default_factory=dict)
    nullable: dict[str, set[str] | None] = Field(default_factory=dict)
    listed: list[set[str]] = Field(default_factory=list)
    note: str = ""
    by_size = Index("GSI1", pk="SIZE#{size}", sk="P")

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def size(self) -> int:
        return len(self.sets)


PERMIT, RAW_PERMIT = Key(Permit, name="n"), {"PK": {"S": "PERMIT#n"}, "SK": {"S": "P"}}
GROUPS = st.dictionaries(st.sampled_from("12"), st.frozensets(st.sampled_from("ab")))


def permit_of(sets: Mapping[str, Any], *, filled: bool = False) -> Permit:
    """With these sets; with ``filled``, without the empty ones in dicts."""
    found = {name: {*held} for name, held in sets.items() if held or not filled}
    numbered = {int(name): frozenset(held) for name, held in found.items()}
    every = {name: {*held} or None for name, held in sets.items()} | {"empty": set()}
    return Permit(name="n", sets=found, numbered=numbered, nullable=every, listed=[*map(set, sets.values())])


def raw_permit() -> dict[str, Any]:
    item = _ENGINE.call(Call("GetItem", {"TableName": "app", "Key": RAW_PERMIT}))["Item"]
    return {name: _sorted(value) for name, value in item.items()}


def map_of(sets: Mapping[str, Any], *, older: bool = False) -> dict[str, Any]:
    found = {name: {"SS": sorted(held)} if held else {"L": []} for name, held in sets.items()}
    return {"M": {name: one for name, one in found.items() if older or one != {"L": []}}}


def put_older_permit(sets: Mapping[str, Any]) -> dict[str, Any]:
    _SESSION.save(permit_of(sets), overwrite=True)
    item = {**raw_permit(), "sets": map_of(sets, older=True), "numbered": map_of(sets, older=True)}
    _ENGINE.call(Call("PutItem", {"TableName": "app", "Item": deepcopy(item)}))
    return item


@given(GROUPS)
def test_a_dict_of_sets_is_stored_without_the_empty_ones(sets: Any) -> None:
    saved = _SESSION.save(permit_of(sets), overwrite=True)
    assert saved == _SESSION.get_one(PERMIT) == permit_of(sets, filled=True)
    item = raw_permit()
    assert item["sets"] == item["numbered"] == map_of(sets)
    assert item["nullable"]["M"]["empty"] == {"L": []}
    assert item["listed"]["L"] == [{"SS": sorted(held)} if held else {"L": []} for held in sets.values()]
    assert item["GSI1PK"] == {"S": f"SIZE#{sum(map(bool, sets.values()))}"}
    assert not [*tools.verify(_SESSION, Permit)]
    saved.sets["3"] = set()
    _SESSION.save(saved)
    assert raw_permit() == item


CHANGES: Mapping[str, Any] = {
    "set": (lambda path, members: path.set(members), lambda _, members: members),
    "add": (lambda path, members: path.add(members), frozenset.union),
    "discard": (lambda path, members: path.discard(members), frozenset.difference),
}


@given(GROUPS, st.sampled_from("12"), st.frozensets(st.sampled_from("ab"), min_size=1), st.data())
def test_an_update_of_a_set_in_a_dict_stores_what_a_save_does(
    sets: Any, name: str, members: Any, data: Any
) -> None:
    verb = data.draw(st.sampled_from([*CHANGES]))
    members = frozenset() if verb == "set" and data.draw(st.booleans()) else members
    put_older_permit(sets) if data.draw(st.booleans()) else _SESSION.save(permit_of(sets), overwrite=True)
    change, expected = CHANGES[verb]
    updated = _SESSION.update(
        PERMIT, *(change(path, members) for path in (F.sets[name], F.numbered[int(name)]))
    )
    later = {**sets, name: expected(sets.get(name, frozenset()), members)}
    wanted = permit_of(later, filled=True)
    assert updated == _SESSION.get_one(PERMIT)
    assert (updated.sets, updated.numbered) == (wanted.sets, wanted.numbered)
    assert name in raw_permit()["sets"]["M"] or not later[name]
    assert not [*tools.verify(_SESSION, Permit)]


@given(GROUPS, st.booleans(), st.frozensets(st.sampled_from("ab")))
def test_an_absent_set_in_a_dict_is_an_empty_one(sets: Any, is_older: bool, members: Any) -> None:
    put_older_permit(sets) if is_older else _SESSION.save(permit_of(sets), overwrite=True)
    held = sets.get("1", frozenset())
    for condition, is_right in (
        (F.sets["1"] == members, held == members),
        (F.sets["1"] != members, held != members),
        (F.sets["1"].size() == len(members), len(held) == len(members)),
        (F.sets["1"].contains("a"), "a" in held),
    ):
        found = _SESSION.scan(Permit).filter(condition).all()
        assert bool(found) == is_right, condition


@given(GROUPS)
def test_empty_sets_of_older_versions_are_no_difference(sets: Any) -> None:
    item = put_older_permit(sets)
    loaded = _SESSION.get_one(PERMIT)
    assert loaded == permit_of(sets, filled=True)
    assert not [*tools.verify(_SESSION, Permit)]
    loaded.note = "new"
    loaded.sets["3"] = {"a"}
    _SESSION.save(loaded)
    assert raw_permit()["sets"]["M"] == {**item["sets"]["M"], "3": {"SS": ["a"]}}
    assert raw_permit()["numbered"] == item["numbered"]

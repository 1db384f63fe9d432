"""Law: a value is judged by the type of the place it goes to, whichever entrance it comes through.

Every change of a field of a random type stores what a save of the whole entity with that value stores, by whichever
call; where constructing that entity fails, every call refuses and stores nothing.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, create_model, field_validator

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.errors import DynaormError, InvalidValue, UsageError
from dynaorm.item.update import Change
from dynaorm.item.value import same
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue
from tests.laws.drawn_values import KINDS, MEMBERS, Drawn, at, bare, optional, places, put, set_of
from tests.laws.ways import block, update, update_loaded, update_once, upsert, upsert_block

WAYS = (update, update_once, update_loaded, block, upsert, upsert_block)


@pytest.fixture(scope="module")
def session(engine: Transport) -> Iterator[Session]:
    with Session(transport=engine) as session:
        session.create_table(Table("values"))
        yield session


class Edited(NamedTuple):
    """A change, and the tree of the field after it; ``tree`` is an error where the value is wrong at its place."""

    change: Change
    tree: Any


class World:
    """A class with a field ``held`` of a random type, and its items."""

    def __init__(self, session: Session, transport: Transport, kind: Drawn, **default: Any) -> None:
        class Holder(Entity, table=Table("values"), pk="HOLDER#{id}", sk="H"):
            id: str
            limit: int = 9
            n: int = 0
            held: kind.annotation  # type: ignore[name-defined]  # it is drawn

        if default:

            class Defaulting(Entity, table=Table("values"), pk="HOLDER#{id}", sk="H", name="Holder"):
                id: str
                limit: int = 9
                n: int = 0
                held: kind.annotation = default["default"]  # type: ignore[name-defined]  # it is drawn

            self.entity: Any = Defaulting
        else:
            self.entity = Holder
        self.session, self.transport = session, transport

    def item(self, name: str) -> Any:
        key = {"PK": {"S": f"HOLDER#{name}"}, "SK": {"S": "H"}}
        return self.transport.call(
            Call("GetItem", {"TableName": "values", "Key": key, "ConsistentRead": True})
        ).get("Item")

    def held(self, name: str) -> AttributeValue | None:
        found: AttributeValue | None = (self.item(name) or {}).get("held")
        return found

    def store(self, name: str, tree: Any) -> None:
        """An entity with this value, anew; ``...`` for the default."""
        given = {} if tree is ... else {"held": tree}
        self.session.save(self.entity(id=name, **given), overwrite=True)

    def wanted(self, tree: Any) -> bool:
        """Whether an entity with this tree can be made; it is then stored under ``want``."""
        try:
            self.store("want", tree)
        except (ValidationError, InvalidValue):
            return False
        return True

    def check(self, before: Any, edited: Edited, ways: Iterable[Any]) -> None:
        """Each way either stores what a save stores, or refuses and stores nothing."""
        accepted = not isinstance(edited.tree, ValidationError) and self.wanted(edited.tree)
        self.store("it", before)
        was = self.item("it")
        if before is ...:
            was.pop("held", None)
        for way in ways:
            self.transport.call(Call("PutItem", {"TableName": "values", "Item": was}))
            try:
                way(self, Key(self.entity, id="it"), edited.change)
            except DynaormError as refusal:
                self.check_refused(refusal, was, is_right=accepted)
            else:
                assert accepted, f"accepted: {self.held('it')}"
                self.check_as_wanted()

    def check_refused(self, refusal: DynaormError, was: Any, *, is_right: bool) -> None:
        assert self.item("it") == was
        is_impossible = isinstance(refusal, UsageError) and not isinstance(refusal, InvalidValue)
        if is_right and not is_impossible:
            raise AssertionError("a right value was refused") from refusal

    def check_as_wanted(self) -> None:
        one, other = self.held("it"), self.held("want")
        assert one is None or same(one, other)  # an absent one must load as the other
        found, wanted = (self.session.get_one(self.entity, id=name) for name in ("it", "want"))
        assert found.held == wanted.held


@contextmanager
def described(**values: Any) -> Iterator[None]:
    """Adds to a failure what was drawn."""
    try:
        yield
    except AssertionError as failure:
        failure.add_note(str(values))
        raise


def path_of(path: tuple[Any, ...]) -> Any:
    found: Any = F.held
    for step in path:
        found = found[step]
    return found


def listed(values: list[Any], element: Drawn) -> list[Any]:
    """Elements that are given one by one, or as one list where no element is a list."""
    is_one = len(values) == 1 and isinstance(values[0], list)
    return values[0] if is_one and bare(element).form not in ("list", "tuple", "set") else values


def edits(draw: st.DrawFn, kind: Drawn, tree: Any) -> Edited:
    """A change at some place of a tree."""
    path, place = draw(st.sampled_from([*places(kind, tree)]))
    field = path_of(path)
    if bare(place).form == "list" and at(tree, path) is not None and draw(st.booleans()):
        values = listed(draw(st.lists(bare(place).part.given, min_size=1, max_size=2)), bare(place).part)
        if draw(st.booleans()):
            return Edited(field.append(*values), put(tree, path, [*at(tree, path), *values]))
        return Edited(field.prepend(*values), put(tree, path, [*values, *at(tree, path)]))
    value = draw(place.given)
    if draw(st.booleans()):
        return Edited(field.set(value), put(tree, path, value))
    is_there = at(tree, path) is not None or not path or path[-1] != "new"
    return Edited(field.set_if_missing(value), tree if is_there else put(tree, path, value))


# Each example takes several requests.
few = settings(max_examples=max(10, settings().max_examples * 2 // 3))
fewer = settings(max_examples=max(5, settings().max_examples // 5))
ways_of = st.lists(st.sampled_from(WAYS), min_size=2, max_size=2, unique=True)


@few
@given(data=st.data(), kind=KINDS, ways=ways_of)
def test_a_change_of_a_part_stores_what_a_save_stores(
    data: Any, session: Session, engine: Transport, kind: Drawn, ways: list[Any]
) -> None:
    world = World(session, engine, kind)
    tree = data.draw(kind.right)
    if not world.wanted(tree):
        return  # a number may be above a limit beside it
    edited = edits(data.draw, kind, tree)
    if edited.tree is tree:
        return  # the value is not stored, so it does not matter whether it is right
    with described(kind=kind.annotation, before=tree, edited=edited):
        world.check(tree, edited, ways)


@few
@given(data=st.data(), kind=KINDS.map(bare), ways=ways_of)
def test_a_value_for_an_absent_field_is_judged_alike(
    data: Any, session: Session, engine: Transport, kind: Drawn, ways: list[Any]
) -> None:
    world = World(session, engine, optional(kind), default=None)
    value = data.draw(st.none() | kind.given)
    make = data.draw(st.sampled_from([F.held.set, F.held.set_if_missing]))
    with described(kind=kind.annotation, value=value):
        world.check(..., Edited(make(value), value), ways)


def members_of(kind: Drawn, values: Any) -> Any:
    """The members as the set has them; the error of a value that is none."""
    try:
        return TypeAdapter(kind.annotation).validate_python(values)
    except ValidationError as problem:
        return problem


@pytest.mark.parametrize("member", MEMBERS, ids=lambda kind: str(kind.annotation)[:25])
@fewer
@given(data=st.data(), ways=ways_of)
def test_members_are_added_to_a_set_of_any_type(
    data: Any, session: Session, engine: Transport, member: Drawn, ways: list[Any]
) -> None:
    kind = set_of(member)
    before: Any = data.draw(st.just(...) | kind.right)
    is_optional = data.draw(st.booleans())
    default = data.draw(st.just(set()) | kind.right.map(set) | (st.none() if is_optional else st.nothing()))
    world = World(session, engine, optional(kind) if is_optional else kind, default=default)
    was = set() if before is ... else members_of(kind, before)  # an absent set is empty
    # An unhashable one is a list, which is taken for several.
    one = data.draw(member.given.filter(lambda value: not isinstance(value, list)))
    given = {one, *data.draw(kind.right)} if data.draw(st.booleans()) else one
    found = members_of(kind, given if isinstance(given, set) else [one])
    if data.draw(st.booleans()):
        edited = Edited(F.held.add(given), found if isinstance(found, ValidationError) else was | found)
    elif isinstance(found, ValidationError):
        return  # it is in no set, and nothing is stored of it
    else:
        edited = Edited(F.held.discard(given), ... if before is ... and default is None else was - found)
    with described(kind=world.entity.model_fields["held"].annotation, before=before, edited=edited):
        world.check(before, edited, ways)


DEFAULTS: dict[str, tuple[Any, Any]] = {
    "no value of the type": (int, None),
    "beyond a bound": (Annotated[int, Field(ge=1)], 0),
    "changed by a validator": (Annotated[str, AfterValidator(str.upper)], "a"),
    "right": (int, 7),
    "none": (str | None, None),
}


@few
@given(
    kinds=st.lists(st.sampled_from([*DEFAULTS]), min_size=1, max_size=3, unique=True),
    is_ruled=st.booleans(),
    way=st.sampled_from([*WAYS, "save", "move"]),
)
def test_a_default_that_nobody_set_stands_in_the_way_of_no_write(
    session: Session, engine: Transport, kinds: list[str], is_ruled: bool, way: Any
) -> None:
    fields: Any = {f"f{place}": DEFAULTS[kind] for place, kind in enumerate(kinds)}
    rules: Any = {"kept": field_validator("n")(lambda value: value)} if is_ruled else {}
    made: Any = create_model("Ruled", __base__=Entity, __validators__=rules, n=(int, 0), **fields)

    class Row(made, table=Table("values"), pk="ROW#{id}", sk="R"):  # type: ignore[misc, call-arg]  # it is drawn
        id: str

    item = {"PK": "ROW#1", "SK": "R", "_type": "Row", "_rev": "r", "id": "1"}
    stored: Any = {name: {"S": text} for name, text in item.items()}
    there = {"PK": {"S": "ROW#2"}, "SK": {"S": "R"}}
    engine.call(Call("DeleteItem", {"TableName": "values", "Key": there}))
    engine.call(Call("PutItem", {"TableName": "values", "Item": stored}))
    row = session.get_one(Row, id="1")
    if way == "save":
        row.n = 5
        session.save(row)
    elif way == "move":
        row.id, row.n = "2", 5
        session.move(row)
        stored |= {"PK": {"S": "ROW#2"}, "id": {"S": "2"}}
    else:
        way(SimpleNamespace(session=session), Key(Row, id="1"), F.n.set(5))
    key = {name: stored[name] for name in ("PK", "SK")}
    found = engine.call(Call("GetItem", {"TableName": "values", "Key": key}))["Item"]
    if way not in (upsert, upsert_block):  # which store the defaults, if these mean the same
        assert {**found, "_rev": {}} == {**stored, "n": {"N": "5"}, "_rev": {}}
    row.n = 5
    assert session.get_one(Row, id=row.id) == row

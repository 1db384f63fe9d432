"""Upserts: what one UpdateItem makes of nothing, when an item has to be read first, and the plan in words."""

from typing import Annotated, Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, computed_field, model_validator

from dynaorm import Aggregate, Attribute, Entity, F, GlobalIndex, Index, Key, NumberKey, Table, Unique
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.item.update import Change, apply_changes
from dynaorm.plan.changes import items_to_read, merge_intents
from dynaorm.plan.edit import check_complete, created, validate_changes
from dynaorm.plan.intent import Edit
from dynaorm.plan.values import new_image
from dynaorm.plan.without_reading import upsert_without_reading
from tests.plan.cast import Document, Parcel, Person, Size
from tests.plan.compiling import NOW

app = Table("creation", indexes=[GlobalIndex("GSI1"), GlobalIndex("ByMembers", sk=NumberKey("Members"))])


class Hits(Entity, table=app, pk="PAGE#{page}", sk="HITS", formerly=("Visits",)):
    page: str
    count: Annotated[int, Field(ge=0)] = 0
    least: int = 100
    kind: str = "page"
    queue: str = "q"
    owner: str | None = None
    email: Annotated[str | None, Unique()] = None
    tags: set[str] = Field(default_factory=set)
    steps: list[int] = [1]  # noqa: RUF012
    sizes: dict[str, Size] = {}  # noqa: RUF012
    by_page = Index("GSI1", pk="HITS", sk="{page}")


class Filled(Hits):
    tags: set[str] = Field(default_factory=lambda: {"new"})


class Remarked(Hits):
    note: Annotated[str, Attribute("note", formerly=("remark",))] = ""


class Told(Hits):
    by_page = Index("GSI1", pk="KIND#{kind}", sk="{queue}")


class Holding(Hits):
    room: Annotated[str, Unique()] = "r"


class Counted(Hits):
    members: Annotated[int, Attribute("Members")] = 0
    by_members = Index("ByMembers", pk="COUNTED", sk="{members}")


class Counting(Entity, table=app, pk="COUNTING#{page}", sk="C"):
    page: str
    in_counted = Aggregate(Counted, count="members")


CHANGES: dict[str, list[Change]] = {
    "count": [F.count.add(1), F.count.set(3), F.count.set_if_missing(9)],
    "least": [F.least.add(-1), F.least.set(7)],
    "owner": [F.owner.set("bob"), F.owner.remove(), F.owner.set_if_missing("liz")],
    "tags": [F.tags.add({"a"}), F.tags.set(set()), F.tags.discard("a")],
    "steps": [F.steps.append(2), F.steps.prepend(0), F.steps.set([])],
}


def upsert(kind: type[Hits], *changes: Change) -> Edit:
    valid = validate_changes(mapping_of(kind), changes)
    return Edit(Key(kind, page="/"), valid, creates=True)


def is_read(edit: Edit) -> bool:
    return bool(items_to_read(merge_intents([edit], NOW)))


some_changes = st.lists(st.sampled_from(sorted(CHANGES)), unique=True, min_size=1).flatmap(
    lambda names: st.tuples(*(st.sampled_from(CHANGES[name]) for name in names))
)


@given(some_changes)
def test_one_update_makes_of_nothing_what_an_insert_would_store(changes: tuple[Change, ...]) -> None:
    mapping, key = mapping_of(Hits), Key(Hits, page="/")
    values = created(mapping, key, changes)
    edit = upsert_without_reading(mapping, key.primary_key, changes, values)
    assert not isinstance(edit, str)
    image = new_image(mapping, key.primary_key, values)
    assert apply_changes(key.primary_key, edit.edits) == image
    again = mapping.loader.hydrate(image)
    assert {name: getattr(again, name) for name in mapping.fields} == values


@given(some_changes)
def test_one_update_of_a_stored_entity_changes_nothing_else(changes: tuple[Change, ...]) -> None:
    mapping, key = mapping_of(Hits), Key(Hits, page="/")
    before = new_image(mapping, key.primary_key, vars(Hits(page="/", kind="x", least=1, queue="z")))
    edit = upsert_without_reading(mapping, key.primary_key, changes, created(mapping, key, changes))
    assert not isinstance(edit, str)
    after = apply_changes(before, edit.edits)
    touched = {str(change.path[0]) for change in changes}
    assert {name: one for name, one in after.items() if name not in touched} == {
        name: one for name, one in before.items() if name not in touched
    }


@pytest.mark.parametrize(
    ("edit", "reads"),
    [
        (upsert(Hits, F.count.add(1)), False),
        (upsert(Hits), True),
        (upsert(Hits, F.count.add(-1)), True),
        (upsert(Filled, F.count.add(1)), True),
        (upsert(Filled, F.tags.add({"a"})), False),
        (upsert(Remarked, F.count.add(1)), True),
        (upsert(Told, F.count.add(1)), True),
        (upsert(Told, F.kind.set("x"), F.queue.set("y")), False),
        (upsert(Holding, F.count.add(1)), True),
        (upsert(Counted, F.count.add(1)), True),
        (upsert(Hits, F.sizes["a"].set(Size())), True),
        (Edit(Key(Person, name="a"), (F.note.set("x"),), creates=True), True),
        (Edit(Key(Document, doc_id="d"), (F.text.set("x"),), creates=True), True),
    ],
    ids=[
        "decided",
        "no change",
        "cannot be created",
        "absence is not the default",
        "absence is overwritten",
        "former name",
        "index of other fields",
        "index of given fields",
        "would claim a value",
        "a total in an index",
        "a part of a part",
        "may be counted",
        "versions",
    ],
)
def test_an_item_is_read_where_the_upsert_does_not_decide_alone(edit: Edit, reads: bool) -> None:
    assert is_read(edit) is reads


class Bare(Entity, table=app, pk="BARE#{name}", sk="B"):
    name: str
    number: int
    text: str
    many: list[str]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ((), "number, text, many"),
        ((F.number.add(1), F.many.append("x")), "text"),
        ((F.number.add(1), F.text.set("x"), F.many.set([])), ""),
    ],
)
def test_a_required_field_needs_a_change_that_gives_it_a_value(
    changes: tuple[Any, ...], missing: str
) -> None:
    mapping, key = mapping_of(Bare), Key(Bare, name="a")
    if not missing:
        check_complete(mapping, key, changes)
        return
    with pytest.raises(UsageError) as caught:
        check_complete(mapping, key, changes)
    assert not isinstance(caught.value, InvalidValue)
    given = " and ".join(f"F.{name}.set(...)" for name in missing.split(", "))
    assert str(caught.value) == (
        f"upsert() may have to create Key(Bare, name='a'), and nothing gives {missing} a value; "
        f"give {given}, or declare a default in Bare; to change only what is stored, call update()"
    )


def test_a_key_that_does_not_give_its_fields_back_is_to_be_named_by_them() -> None:
    class Shouted(Entity, table=Table("creation-shouted"), pk="{name:upper}", sk="{number:03d}"):
        name: str
        number: int
        title: str

    mapping = mapping_of(Shouted)
    stored = stored_key(mapping, {"PK": {"S": "ADA"}, "SK": {"S": "001"}})
    with pytest.raises(UsageError) as refused:
        check_complete(mapping, stored, ())
    assert str(refused.value) == (
        "upsert() may have to create Key(Shouted, number=1, PK='ADA'), and nothing gives name, title a value; "
        "name the key by all its fields: Key(Shouted, name=..., ...); give F.title.set(...), or declare a default in "
        "Shouted; to change only what is stored, call update()"
    )
    check_complete(mapping, Key(Shouted, name="ada", number=1), (F.title.set("t"),))


# -- what validation and the codecs make of it -------------------------------------------------------------------------


class Cornered(Entity, table=app, pk="CORNER#{street}#{number}", sk="C"):
    street: str
    number: int
    note: str = ""

    @model_validator(mode="after")
    def round_up(self) -> Self:
        vars(self)["number"] = max(self.number, 10)
        return self


class Named(Entity, table=app, pk="NAMED#{slug}", sk="N"):
    name: str

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def slug(self) -> str:
        return self.name.lower()


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        (
            Key(Cornered, street="a", number=1),
            F.note.set("x"),
            "Cornered.number = 1: is part of the key, and validation makes 10 of it",
        ),
        (
            Key(Named, slug="liz"),
            F.name.set("Bob"),
            "Named.slug = 'liz': is part of the key, and validation makes 'bob' of it",
        ),
    ],
    ids=["a field", "a computed field"],
)
def test_an_upsert_whose_key_validation_changes_says_which_field(
    key: Key[Any], change: Change, said: str
) -> None:
    assert key.entity is not None
    with pytest.raises(InvalidValue) as caught:
        created(mapping_of(key.entity), key, (change,))
    assert str(caught.value) == f"{said}; give the key the value that validation gives"


def test_what_a_change_makes_of_nothing_is_validated_as_what_is_loaded() -> None:
    mapping, key = mapping_of(Parcel), Key(Parcel, name="a")
    changes = (F.size.width.set(3), F.labels.add({"red"}), F.weight.set(2), F.level.set_if_missing(5))
    values = created(mapping, key, changes)
    assert values == {
        "name": "a",
        "weight": 2,
        "size": Size(width=3),
        "labels": frozenset({"red"}),
        "sides": {},
        "level": 5,
    }
    with pytest.raises(InvalidValue, match=r"Parcel\.weight = '2'"):
        created(mapping, key, (F.weight.set("2"),))


def test_a_change_that_nothing_stored_allows_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        created(mapping_of(Parcel), Key(Parcel, name="a"), (F.sides["left"].width.set(1),))
    assert str(caught.value) == (
        "Parcel is not stored, and cannot be created so: the path leads through 'left', which is not stored; "
        "set the whole field: F.sides.set(...)"
    )


def test_one_update_gives_an_item_the_present_name_of_its_class() -> None:
    mapping, key, changes = mapping_of(Hits), Key(Hits, page="/"), (F.owner.set("x"),)
    before = {**new_image(mapping, key.primary_key, vars(Hits(page="/"))), "_type": {"S": "Visits"}}
    edit = upsert_without_reading(mapping, key.primary_key, changes, created(mapping, key, changes))
    assert not isinstance(edit, str)
    assert apply_changes(before, edit.edits) == {**before, "owner": {"S": "x"}, "_type": {"S": "Hits"}}

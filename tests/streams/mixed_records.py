"""Records of every kind: one change, two changes, none; of entities, of other items, and what is no record at all."""

from typing import Annotated, Any

from hypothesis import strategies as st

from dynaorm import Entity, Table, Unique, item_of
from tests.streams.events import written

app = Table("app")


class Person(Entity, table=app, pk="PERSON#{name}", sk="P"):
    name: str
    email: Annotated[str | None, Unique()] = None
    level: int = 0


class Admin(Person):
    """A person of another class under the same key."""


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str


def _item(entity: Entity, **others: Any) -> Any:
    return {**item_of(entity), "_rev": {"S": "r"}, **others}


_PERSON, _ADMIN = _item(Person(name="liz")), _item(Admin(name="liz"))
_BROKEN = {**_ADMIN, "level": {"S": "high"}}
_UNKNOWN = {**_PERSON, "_type": {"S": "Robot"}}
_AUDIT = _item(Audit(name="a"), version={"N": "1"}, version_at={"S": "2024-01-01T00:00:00.000000Z"})
_TOMBSTONE: Any = {
    **{name: _AUDIT[name] for name in ("PK", "SK", "version", "_rev")},
    "deleted": {"BOOL": True},
}
_VERSION: Any = {**{name: value for name, value in _AUDIT.items() if name != "_type"}, "SK": {"S": "v1_A"}}
_GUARD: Any = {"PK": {"S": "email#a@x"}, "SK": {"S": "email#a@x"}, "owner": {"M": {}}}

_IMAGES: dict[str, tuple[Any, Any]] = {
    "inserted": (None, _PERSON),
    "changed": (_PERSON, {**_PERSON, "level": {"N": "1"}}),
    "deleted": (_PERSON, None),
    "replaced": (_PERSON, _ADMIN),
    "replaced by what is not valid": (_PERSON, _BROKEN),
    "replaced by an unknown class": (_PERSON, _UNKNOWN),
    "deleted and versioned": (_AUDIT, _TOMBSTONE),
    "versioned": (None, _VERSION),
    "guard": (None, _GUARD),
    "not valid": (None, _BROKEN),
    "of no class": (None, {"PK": {"S": "X"}, "SK": {"S": "X"}}),
}

kinds = st.sampled_from([*_IMAGES, "replaced", "deleted and versioned"])


def record(kind: str, number: int) -> Any:
    """The record of one kind in a Lambda event, with a number of its own."""
    return written(*_IMAGES[kind], sequence=number)


_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 10**400), st.floats(), st.text(max_size=3)),
    lambda some: st.one_of(
        st.lists(some, max_size=2),
        st.dictionaries(
            st.sampled_from(["eventName", "dynamodb", "kinesis", "Keys", "PK", "S", "data", "eventID"]),
            some,
            max_size=3,
        ),
    ),
    max_leaves=5,
)


def _without_number(values: Any) -> bool:
    return not isinstance(values, dict) or not {"dynamodb", "kinesis", "data"} & values.keys()


junk = st.one_of(st.sampled_from([None, "x", {}, {"eventName": "INSERT"}, 1, []]), _values)
"""What may stand in the place of a record."""

"""Law 1: whatever ``encode=`` returns is stored and loads, or is refused before anything is sent."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, F, Key, Session, Table, item_of
from dynaorm.errors import InvalidValue
from dynaorm.item.value import unstorable
from dynaorm.transport import Call, Transport

table = Table("encoded-values")
returned: list[Any] = [{"S": "before"}]


class Secretive(Entity, table=table, pk="THING#{name}", sk="T"):
    name: str
    value: Annotated[str, Attribute(encode=lambda _: returned[0], decode=lambda _: "loaded")] = "default"
    note: str = ""


CONTENTS: Final = st.one_of(
    st.sampled_from(
        [
            "",
            "abc",
            "1",
            "1.50",
            "-0",
            "1e5",
            "1_0",
            " 1",
            "NaN",
            "Infinity",
            "9" * 39,
            "1E+126",
            "\ud800",
            "٣",
        ]
    ),
    st.binary(max_size=2),
    st.booleans(),
    st.none(),
    st.integers(),
    st.lists(st.sampled_from(["1", "1.0", "a", "b"]) | st.binary(max_size=1), max_size=3),
)
KINDS: Final = st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "X"])
VALUES: Final = st.recursive(
    CONTENTS | st.dictionaries(KINDS, CONTENTS, min_size=1, max_size=1),
    lambda inner: st.one_of(
        st.builds(lambda found: {"L": found}, st.lists(inner, max_size=2)),
        st.builds(
            lambda found: {"M": found},
            st.dictionaries(st.sampled_from(["a", "", 1, None]), inner, max_size=2),
        ),
        st.dictionaries(KINDS, inner, max_size=2),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def session(engine: Transport) -> Iterator[Session]:
    found = Session(transport=engine)
    found.create_table(table)
    yield found
    engine.call(Call("DeleteTable", {"TableName": table.name}))


@given(value=VALUES)
@example(value={"N": "abc"})
@example(value={"SS": []})
@example(value={"X": 1})
@example(value={"M": "text"})
@example(value={"NULL": False})
@example(value="text")
def test_what_encode_returns_is_stored_or_refused_by_field(session: Session, value: Any) -> None:
    returned[0] = {"S": "before"}
    session.save(Secretive(name="a"), overwrite=True)
    before = session.get_one(Secretive, name="a")
    returned[0] = value
    if not unstorable(value):
        session.save(Secretive(name="a", value="new"), overwrite=True)
        assert session.get_one(Secretive, name="a").value == "loaded"
        return
    for call in (
        lambda: session.save(Secretive(name="a", value="new"), overwrite=True),
        lambda: session.save(Secretive(name="b", value="new")),
        lambda: session.update(Key(Secretive, name="a"), F.value.set("new")),
        lambda: session.query(Secretive, name="a").filter(F.value == "new").all(),
        lambda: item_of(Secretive(name="b", value="new")),
    ):
        with pytest.raises(InvalidValue, match=r"Secretive\.value = 'new': is encoded as "):
            call()
    assert session.get_one(Secretive, name="a") == before

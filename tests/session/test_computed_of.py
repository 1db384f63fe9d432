"""``Computed(of=...)``: computed fields that say what they look at, and keys that follow from some of their fields."""

from typing import Annotated, Any

import pytest
from pydantic import computed_field

from dynaorm import Computed, Entity, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.errors import DeclarationError, InvalidValue, UnknownField, UsageError

# A class whose function is wrong must not be one of the cast, of which other tests make samples.
told = Table("told", indexes=[GlobalIndex("GSI1")])


class Snapshot(Entity, table=told, pk="AGGREGATE#{bucket}#{aid}", sk="{kind}#{number:06d}"):
    """Its partition and a place in an index follow from one field each."""

    aid: str
    number: int = 0
    kind: str = "SNAPSHOT"
    body: str = ""
    note: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def bucket(self) -> Annotated[int, Computed(of="aid")]:
        return len(self.aid) % 4

    @computed_field  # type: ignore[prop-decorator]
    @property
    def first(self) -> Annotated[str | None, Computed(of=("note",)), Unique("first_of")]:
        return self.note and self.note[0]

    by_first = Index("GSI1", pk="FIRST#{first}", sk="{aid}")


class Careless(Entity, table=told, pk="CARELESS#{aid}#{half}", sk="C"):
    aid: str
    number: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def half(self) -> Annotated[int, Computed(of="aid")]:
        return self.number // 2


def test_a_key_computes_its_parts_and_takes_static_defaults() -> None:
    key = Key(Snapshot, aid="a")
    assert key.primary_key == {"PK": {"S": "AGGREGATE#1#a"}, "SK": {"S": "SNAPSHOT#000000"}}
    assert key == Key(Snapshot, bucket=1, aid="a", kind="SNAPSHOT", number=0)
    assert dict(key.fields) == {"bucket": 1, "aid": "a", "kind": "SNAPSHOT", "number": 0}
    assert repr(key) == "Key(Snapshot, bucket=1, aid='a', kind='SNAPSHOT', number=0)"
    assert Key(Snapshot, aid="a", number=7).primary_key["SK"] == {"S": "SNAPSHOT#000007"}


def test_a_function_that_looks_at_more_than_it_says_is_refused_when_it_is_first_used(
    session: Session,
) -> None:
    with pytest.raises(
        InvalidValue, match=r"half.*it looks at number, which Computed\(of=...\) does not name"
    ):
        session.save(Careless(aid="a"))
    with pytest.raises(InvalidValue, match="half"):
        Key(Careless, aid="a")


def test_what_the_key_is_not_made_of_is_no_part_of_it() -> None:
    with pytest.raises(UnknownField, match="'body'"):
        Key(Snapshot, aid="a", body="b")
    with pytest.raises(UsageError, match="aid"):
        Key(Snapshot, number=1)


def _told(*of: Any) -> Any:
    class Told(Entity, table=Table("other"), pk="T#{aid}", sk="T"):
        aid: str

        @computed_field  # type: ignore[prop-decorator]
        @property
        def half(self) -> Annotated[int, Computed(of=of)]:
            return 1

    return Told


def test_a_declaration_that_names_no_field_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"Computed\(of=...\) names 'aidd'; did you mean 'aid'"):
        _told("aidd")
    with pytest.raises(DeclarationError, match="is not text"):
        _told(3)
    with pytest.raises(DeclarationError, match="this field is stored; drop it"):

        class Stored(Entity, table=Table("other"), pk="S#{aid}", sk="S"):
            aid: Annotated[str, Computed(of="aid")]

"""Law 3 where validators change what is stored: every read judges an entity by the values that it loads with."""

from typing import Annotated, Any, Final

from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

from dynaorm import Entity, GlobalIndex, Index, Session, Table
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.transport import Call, Transport

shelves = Table(
    "validated-values",
    indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY"), GlobalIndex("GSI3")],
)


class Book(Entity, table=shelves, pk="BOOK#{number}", sk="B"):
    """Its keys do not say how the title and the author are written, so the values decide."""

    number: int
    title: Annotated[str, AfterValidator(str.title)]
    author: Annotated[str, AfterValidator(str.title)] = Field(default_factory=lambda: "ann")
    by_title = Index("GSI1", pk="BOOKS", sk="{title:lower}")
    by_author = Index("GSI2", pk="{author:lower}", sk="{title:lower}")
    spread = Index("GSI3", pk="SHARD#{title:shard2}", sk="{number:03d}")


WORDS: Final = st.sampled_from(["ann", "Ann", "ANN", "bob", "Bob"])


@given(
    rows=st.lists(st.tuples(WORDS, st.none() | WORDS), max_size=6),
    title=WORDS,
    author=WORDS,
)
def test_what_is_counted_and_named_by_key_is_what_loads(
    engine: Transport, rows: list[tuple[str, str | None]], title: str, author: str
) -> None:
    mapping = mapping_of(Book)
    with Session(transport=engine) as session:
        session.create_table(shelves)
        session.delete_many(session.scan(Book).keys().all())
        for number, (name, by) in enumerate(rows):
            item: dict[str, Any] = {
                "PK": {"S": f"BOOK#{number}"}, "SK": {"S": "B"}, "_type": {"S": "Book"}, "_rev": {"S": "r"},
                "number": {"N": str(number)}, "title": {"S": name}, "GSI1PK": {"S": "BOOKS"},
                "GSI1SK": {"S": name.lower()}, "GSI2PK": {"S": (by or "ann").lower()}, "GSI2SK": {"S": name.lower()},
            }  # fmt: skip
            made = index_keys(
                mapping, mapping.subject({}, {"title": name, "number": number, "author": by or "ann"})
            )
            item |= {attribute: made[attribute] for attribute in ("GSI3PK", "GSI3SK")}
            item |= {} if by is None else {"author": {"S": by}}
            engine.call(Call("PutItem", {"TableName": shelves.name, "Item": item}))
        for query in (
            session.query(Book.by_title, title=title),
            session.query(Book.by_author, author=author),
            session.query(Book.by_author, author=author, title=title),
            session.query(Book.spread, title=title),
        ):
            found = query.all()
            keys = query.keys().all()
            assert query.count() == len(keys) == len(found)
            assert sorted(one.fields["number"] for one in keys) == sorted(one.number for one in found)
            assert sorted(row.title for row in query.values("title").all()) == sorted(
                one.title for one in found
            )

"""Document tracking: several items per document, and its versions ``v_1``, ``v_2`` with ``v_0`` the newest."""

from typing import Annotated, Any

from dynaorm import Attribute, Entity, Table
from tests.story.engine import Engine

# The keys are fields of the entities, so each is stored once.
documents = Table(
    "Documents", pk="documentId", sk="documentInfo", type_attribute=None, revision_attribute=None
)


class Metadata(Entity, table=documents, pk="{document_id}", sk="metadata"):
    document_id: Annotated[str, Attribute("documentId")]
    title: str
    author: str


class Permissions(Entity, table=documents, pk="{document_id}", sk="permissions"):
    document_id: Annotated[str, Attribute("documentId")]
    readers: set[str]
    writers: set[str]


class Document(Entity, table=documents, pk="{document_id}", versioned="v_{version}"):
    document_id: Annotated[str, Attribute("documentId")]
    location: str


def item(facet: str, **attributes: Any) -> dict[str, Any]:
    """A complete item of document 1."""
    return {"documentId": {"S": "1"}, "documentInfo": {"S": facet}, **attributes}


def version(facet: str, number: int, hour: int, location: str) -> dict[str, Any]:
    at = {"S": f"2024-01-01T{hour:02d}:00:00.000000Z"}
    return item(facet, version={"N": str(number)}, version_at=at, location={"S": location})


def test_a_document_is_one_partition_whose_items_differ_in_their_attributes(engine: Engine) -> None:
    engine.create(documents)
    with engine.session() as session:
        session.save(Metadata(document_id="1", title="Plan", author="liz"))
        session.save(Permissions(document_id="1", readers={"ann", "sue"}, writers={"liz"}))
        document = session.save(Document(document_id="1", location="s3://drafts/1"))
        engine.clock.advance(3600)
        document.location = "s3://final/1"
        session.save(document)
        assert session.get_one(Metadata, document_id="1").title == "Plan"
    readers = engine.items(documents)[1]["readers"]["SS"]
    assert sorted(readers) == ["ann", "sue"]
    assert engine.items(documents) == [
        item("metadata", title={"S": "Plan"}, author={"S": "liz"}),
        item("permissions", readers={"SS": readers}, writers={"SS": ["liz"]}),
        version("v_0", 2, 1, "s3://final/1"),
        version("v_1", 1, 0, "s3://drafts/1"),
        version("v_2", 2, 1, "s3://final/1"),
    ]

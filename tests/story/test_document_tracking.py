"""Document tracking: several items per document, and its versions ``v_1``, ``v_2`` with ``v_0`` the newest."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, Table
from tests.story.engine import Engine

# The keys are fields of the entities, so each is stored once.
plain = Table("Documents", pk="documentId", sk="documentInfo", type_attribute=None, revision_attribute=None)
app = Table("App")


class Metadata(Entity, table=plain, pk="{document_id}", sk="metadata"):
    document_id: Annotated[str, Attribute("documentId")]
    title: str
    author: str


class Permissions(Entity, table=plain, pk="{document_id}", sk="permissions"):
    document_id: Annotated[str, Attribute("documentId")]
    readers: set[str]
    writers: set[str]


class Document(Entity, table=plain, pk="{document_id}", versioned="v_{version}"):
    document_id: Annotated[str, Attribute("documentId")]
    location: str


class AppMetadata(Entity, table=app, pk="{document_id}", sk="metadata", name="Metadata"):
    document_id: Annotated[str, Attribute("documentId")]
    title: str
    author: str


class AppPermissions(Entity, table=app, pk="{document_id}", sk="permissions", name="Permissions"):
    document_id: Annotated[str, Attribute("documentId")]
    readers: set[str]
    writers: set[str]


class AppDocument(Entity, table=app, pk="{document_id}", versioned="v_{version}", name="Document"):
    document_id: Annotated[str, Attribute("documentId")]
    location: str


@dataclass(frozen=True)
class Layout:
    table: Table
    metadata: Any
    permissions: Any
    document: Any

    def item(self, facet: str, **attributes: Any) -> dict[str, Any]:
        """A complete item of document 1."""
        if self.table is plain:
            return {"documentId": {"S": "1"}, "documentInfo": {"S": facet}, **attributes}
        item = {
            "PK": {"S": "1"},
            "SK": {"S": facet},
            "documentId": {"S": "1"},
            "_rev": {"S": "*"},
            **attributes,
        }
        if not facet.startswith("v_") or facet == "v_0":
            item["_type"] = {"S": {"v_0": "Document"}.get(facet, facet.title())}
        return item

    def version(self, facet: str, number: int, hour: int, location: str) -> dict[str, Any]:
        return self.item(
            facet,
            version={"N": str(number)},
            version_at={"S": f"2024-01-01T{hour:02d}:00:00.000000Z"},
            location={"S": location},
        )


@pytest.fixture(params=["plain", "default"])
def layout(request: pytest.FixtureRequest, engine: Engine) -> Layout:
    found = {
        "plain": Layout(plain, Metadata, Permissions, Document),
        "default": Layout(app, AppMetadata, AppPermissions, AppDocument),
    }[request.param]
    engine.create(found.table)
    return found


def track(engine: Engine, layout: Layout) -> None:
    """Document 1: its metadata, its permissions, and two versions, an hour apart."""
    with engine.session() as session:
        session.save(layout.metadata(document_id="1", title="Plan", author="liz"))
        session.save(layout.permissions(document_id="1", readers={"ann", "sue"}, writers={"liz"}))
        document = session.save(layout.document(document_id="1", location="s3://drafts/1"))
        engine.clock.advance(3600)
        document.location = "s3://final/1"
        session.save(document)
    engine.forget()


def test_a_document_is_one_partition_whose_items_differ_in_their_attributes(
    engine: Engine, layout: Layout
) -> None:
    track(engine, layout)
    readers = engine.items(layout.table)[1]["readers"]["SS"]
    assert sorted(readers) == ["ann", "sue"]
    assert engine.items(layout.table) == [
        layout.item("metadata", title={"S": "Plan"}, author={"S": "liz"}),
        layout.item("permissions", readers={"SS": readers}, writers={"SS": ["liz"]}),
        layout.version("v_0", 2, 1, "s3://final/1"),
        layout.version("v_1", 1, 0, "s3://drafts/1"),
        layout.version("v_2", 2, 1, "s3://final/1"),
    ]

"""Document tracking: several items per document under one partition key, and versions v_1, v_2 with v_0 the latest.

Run: python examples/document_tracking.py
"""

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Entity, Key, Session, Table

documents = Table("Documents", pk="documentId", sk="documentInfo")


class Metadata(Entity, table=documents, pk="{document_id}", sk="metadata"):
    document_id: str
    title: str
    author: str


class Permissions(Entity, table=documents, pk="{document_id}", sk="permissions"):
    document_id: str
    readers: set[str]
    writers: set[str]


class Document(Entity, table=documents, pk="{document_id}", versioned="v_{version}"):
    document_id: str
    body: str


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(documents)

        step("Three items of one document under one partition key, each with its own attributes")
        session.save(Metadata(document_id="doc-1", title="Plan", author="liz"))
        session.save(Permissions(document_id="doc-1", readers={"sue", "ann"}, writers={"liz"}))
        document = session.save(Document(document_id="doc-1", body="first draft"))
        show(client, documents)

        step("A second version: v_0 has the same attributes as v_2")
        document.body = "second draft"
        session.save(document)
        show(client, documents)

        step("The metadata, the permissions, the latest version, and an older version")
        console.print(session.get(Metadata, document_id="doc-1"))
        console.print(session.get(Permissions, document_id="doc-1"))
        console.print(session.get(Document, document_id="doc-1"))
        console.print(session.get(Key(Document, document_id="doc-1"), version=1))


if __name__ == "__main__":
    main()

"""The classes whose plans the tests of the compiler compare whole."""

from typing import Annotated

from dynaorm import Entity, GlobalIndex, Index, Table, Unique
from dynaorm.item.value import AttributeValue, Item

app = Table("compiler-app", indexes=[GlobalIndex("GSI1")])


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    shelf: str | None = None
    by_shelf = Index("GSI1", pk="SHELF#{shelf}", sk="{sku}")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    shelf: str | None = None
    by_shelf = Index("GSI1", pk="DSHELF#{shelf}", sk="{doc_id}")


def stock_item(**attributes: AttributeValue) -> dict[str, AttributeValue]:
    return {
        "PK": {"S": "STOCK#a"},
        "SK": {"S": "S"},
        "_type": {"S": "Stock"},
        "sku": {"S": "a"},
        "left": {"N": "0"},
        "_rev": {"S": "w2"},
        **attributes,
    }


STOCK_KEY: Item = {"PK": {"S": "STOCK#a"}, "SK": {"S": "S"}}
